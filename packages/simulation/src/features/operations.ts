/**
 * What operators do to numbers and workspaces: pauses, pacing, a workspace that is disabled for a while; and
 * numbers that the phones' side restricts. Each is drawn for a share of the seeds.
 */
import { NumberOperations, Numbers, Workspaces } from "@messaging-service/core"
import type { Failure } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Chance } from "@messaging-service/emulator"
import type { Control, Paced } from "../History.ts"
import type { Services } from "../SimulatedService.ts"
import { sendProbe } from "./messages.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

/** Index of the number of the probes. */
const probedNumber = 1

/** How often an operator asks for the same. */
const tries = 8

type Value = Control["value"]
type Asking = Effect.Effect<unknown, Failure, Services>

const open: Value = { _tag: "Open" }
const stopped = (until: number | null): Value => ({ _tag: "Stopped", until })

/** Asks until it is answered. */
const control = Effect.fnUntraced(function* (stage: Stage, wanted: Control, asking: Asking) {
  for (let attempt = 0; attempt < tries; attempt++) {
    const call = stage.asked(wanted)
    const result = yield* Effect.result(stage.ask(asking))
    if (Result.isSuccess(result)) return stage.answered(call, { _tag: "Done" })
    const { failure } = result
    if (failure._tag === "Refusal") {
      return stage.answered(call, {
        _tag: "Refused",
        code: failure.code,
        status: null,
        isSending: false,
      })
    }
    yield* Effect.sleep(stage.chance.below(3 * second))
  }
})

interface Target {
  readonly stage: Stage
  /** Index of the number. */
  readonly number: number
  readonly isProbe?: boolean
}

/** A control of one number. */
const ofNumber = (
  { isProbe = false, number, stage }: Target,
  what: string,
  value: Value,
  asking: (id: Stage["given"]["numbers"][number]) => Asking,
): Effect.Effect<void> => {
  const id = stage.given.numbers[number]
  if (id === undefined) return Effect.void
  const key = `${what} ${id}`
  return control(stage, { _tag: "Control", key, numbers: [id], value, isProbe }, asking(id))
}

const pause = (target: Target, until: number | null) =>
  ofNumber(target, "pause", stopped(until), (id) =>
    NumberOperations.use((service) =>
      service.pause("owner", target.stage.given.workspace, id, {
        until: until === null ? null : new Date(until).toISOString(),
      }),
    ),
  )

const resume = (target: Target) =>
  ofNumber(target, "pause", open, (id) =>
    NumberOperations.use((service) => service.resume("owner", target.stage.given.workspace, id)),
  )

const pace = (target: Target, pacing: Paced | null) =>
  ofNumber(target, "pacing", { _tag: "Paced", pacing }, (id) =>
    Numbers.use((service) =>
      service.update("owner", target.stage.given.workspace, id, {
        pacing: {
          min_interval_ms: pacing?.minIntervalMillis ?? null,
          per_minute: pacing?.perMinute ?? null,
          new_recipients_per_day: pacing?.newRecipientsPerDay ?? null,
        },
      }),
    ),
  )

const disable = (stage: Stage, isDisabled: boolean, isProbe = false) => {
  const { numbers, workspace } = stage.given
  return control(
    stage,
    {
      _tag: "Control",
      key: `workspace ${workspace}`,
      numbers,
      value: isDisabled ? stopped(null) : open,
      isProbe,
    },
    Workspaces.use((service) =>
      service.update("owner", workspace, { account_disabled: isDisabled }),
    ),
  )
}

const drawPacing = (chance: Chance): Paced => {
  const some = (least: number, span: number): number | null =>
    chance.below(2) === 0 ? null : least + chance.below(span)
  return {
    minIntervalMillis: some(100, 2900),
    perMinute: some(1, 4),
    newRecipientsPerDay: some(1, 3),
  }
}

const planPauses = ({ chance, moment, numbers, start }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const at = moment()
  const until = chance.below(3) === 0 ? start + at + 1 + chance.below(2 * minute) : null
  const back = at + chance.below(chance.below(2) === 0 ? 10 * second : 2 * minute)
  return [
    {
      at,
      name: `pause ${number}`,
      perform: (stage) =>
        until !== null && until <= stage.now() ? Effect.void : pause({ stage, number }, until),
    },
    { at: back, name: `resume ${number}`, perform: (stage) => resume({ stage, number }) },
  ]
}

const planPacing = ({ chance, moment, numbers }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const pacing = drawPacing(chance)
  const at = moment()
  const back = at + chance.below(5 * minute)
  return [
    { at, name: `pace ${number}`, perform: (stage) => pace({ stage, number }, pacing) },
    { at: back, name: `unpace ${number}`, perform: (stage) => pace({ stage, number }, null) },
  ]
}

const planDisabling = ({ chance, moment }: Planning): ReadonlyArray<Command> => {
  const at = moment()
  const back = at + chance.below(chance.below(2) === 0 ? 10 * second : minute)
  return [
    { at, name: "disable", perform: (stage) => disable(stage, true) },
    { at: back, name: "enable", perform: (stage) => disable(stage, false) },
  ]
}

const planRestriction = ({ chance, moment, numbers }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const millis = chance.below(3 * minute)
  return [
    {
      at: moment(),
      name: `restrict ${number}`,
      perform: (stage) =>
        Effect.sync(() => {
          const id = stage.given.numbers[number]
          if (id !== undefined) stage.restrict(id, stage.now() + millis)
        }),
    },
  ]
}

const plans = [
  { plan: planPauses, most: 4 },
  { plan: planPacing, most: 3 },
  { plan: planDisabling, most: 2 },
  { plan: planRestriction, most: 2 },
]

export const operations: Feature = {
  name: "operations",
  plan: (planning) =>
    plans.flatMap(({ most, plan }) => {
      const { chance } = planning
      const times = chance.below(3) === 0 ? 1 + chance.below(most) : 0
      return Array.from({ length: times }, () => plan(planning)).flat()
    }),
  calm: Effect.fnUntraced(function* (stage) {
    yield* disable(stage, false)
    for (const number of stage.given.numbers.keys()) {
      yield* resume({ stage, number })
      yield* pace({ stage, number }, null)
    }
  }),
  probe: Effect.fnUntraced(function* (stage) {
    const target = { stage, number: probedNumber, isProbe: true }
    const whenOpened = Effect.fnUntraced(function* (
      text: string,
      stop: Effect.Effect<void>,
      go: Effect.Effect<void>,
    ) {
      yield* stop
      yield* sendProbe(stage, probedNumber, `${text} a`)
      yield* sendProbe(stage, probedNumber, `${text} b`)
      yield* Effect.sleep(1 + stage.chance.below(2 * second))
      yield* go
      yield* Effect.sleep(3 * second)
    })
    const slow = { minIntervalMillis: null, perMinute: 1, newRecipientsPerDay: null }
    yield* whenOpened("paused", pause(target, null), resume(target))
    yield* whenOpened("disabled", disable(stage, true, true), disable(stage, false, true))
    yield* whenOpened("paced", pace(target, slow), pace(target, null))
  }),
}
