/**
 * Operators' actions on numbers and workspaces: pauses, pacing, a temporarily disabled workspace;
 * and numbers that the remote server restricts. Each is drawn for a share of the seeds.
 */
import { NumberOperations, Numbers, Webhooks, Workspaces } from "@messaging-service/core"
import type { Failure } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Chance } from "@messaging-service/emulator"
import type { Control, Paced } from "../History.ts"
import type { Services } from "../SimulatedService.ts"
import { toPhone, roomyNumber, sendProbe } from "./messages.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

/** Indexes of the probe's numbers. */
const openedNumber = 1
const pacedNumber = 2
const restrictedNumber = 3

/** How often an operator repeats a request. */
const tries = 8

type Value = Control["value"]
type Asking = Effect.Effect<unknown, Failure, Services>

const open: Value = { _tag: "Open" }
const stopped = (until: number | null): Value => ({ _tag: "Stopped", until })

/**
 * Repeats until there is an answer. If a call removed it and lost its answer, the refusal is `deleted`.
 */
export const control = Effect.fnUntraced(function* (
  stage: Stage,
  requested: Control,
  requesting: Asking,
  deleted?: string,
) {
  for (let attempt = 0; attempt < tries; attempt++) {
    const call = stage.recordRequest(requested)
    const result = yield* Effect.result(stage.callProcess(requesting))
    if (Result.isSuccess(result)) return stage.answered(call, { _tag: "Done" })
    const { failure } = result
    if (failure._tag === "Refusal" && failure.code === deleted) {
      return stage.answered(call, { _tag: "Done" })
    }
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
  requesting: (id: Stage["tenant"]["numbers"][number]) => Asking,
): Effect.Effect<void> => {
  const id = stage.tenant.numbers[number]
  if (id === undefined) return Effect.void
  const key = `${what} ${id}`
  return control(stage, { _tag: "Control", key, numbers: [id], value, isProbe }, requesting(id))
}

export const pause = (target: Target, until: number | null) =>
  ofNumber(target, "pause", stopped(until), (id) =>
    NumberOperations.use((service) =>
      service.pause("owner", target.stage.tenant.workspace, id, {
        until: until === null ? null : new Date(until).toISOString(),
      }),
    ),
  )

export const resume = (target: Target) =>
  ofNumber(target, "pause", open, (id) =>
    NumberOperations.use((service) => service.resume("owner", target.stage.tenant.workspace, id)),
  )

const pace = (target: Target, pacing: Paced | null) =>
  ofNumber(target, "pacing", { _tag: "Paced", pacing }, (id) =>
    Numbers.use((service) =>
      service.update("owner", target.stage.tenant.workspace, id, {
        pacing: {
          minIntervalMillis: pacing?.minIntervalMillis ?? null,
          perMinute: pacing?.perMinute ?? null,
          newRecipientsPerDay: pacing?.newRecipientsPerDay ?? null,
        },
      }),
    ),
  )

const disable = (stage: Stage, isDisabled: boolean, isProbe = false) => {
  const { numbers, workspace } = stage.tenant
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
      service.update("owner", workspace, { accountDisabled: isDisabled }),
    ),
  )
}

const drawPacing = (chance: Chance): Paced => {
  const some = (min: number, span: number): number | null =>
    chance.below(2) === 0 ? null : min + chance.below(span)
  return {
    minIntervalMillis: some(100, 2900),
    perMinute: some(1, 4),
    newRecipientsPerDay: some(1, 3),
  }
}

const planPauses = ({ chance, instant, numbers, start }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const at = instant()
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

const planPacing = ({ chance, instant, numbers }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const pacing = drawPacing(chance)
  const at = instant()
  const back = at + chance.below(5 * minute)
  return [
    { at, name: `pace ${number}`, perform: (stage) => pace({ stage, number }, pacing) },
    { at: back, name: `unpace ${number}`, perform: (stage) => pace({ stage, number }, null) },
  ]
}

const planDisabling = ({ chance, instant }: Planning): ReadonlyArray<Command> => {
  const at = instant()
  const back = at + chance.below(chance.below(2) === 0 ? 10 * second : minute)
  return [
    { at, name: "disable", perform: (stage) => disable(stage, true) },
    { at: back, name: "enable", perform: (stage) => disable(stage, false) },
  ]
}

const planRestriction = ({ chance, instant, numbers }: Planning): ReadonlyArray<Command> => {
  const number = chance.below(numbers)
  const millis = chance.below(3 * minute)
  return [
    {
      at: instant(),
      name: `restrict ${number}`,
      perform: (stage) =>
        Effect.sync(() => {
          const id = stage.tenant.numbers[number]
          if (id !== undefined) stage.restrict(id, stage.now() + millis)
        }),
    },
  ]
}

const plans = [
  { plan: planPauses, max: 4 },
  { plan: planPacing, max: 3 },
  { plan: planDisabling, max: 2 },
  { plan: planRestriction, max: 2 },
]

export const operations: Feature = {
  name: "operations",
  plan: (planning) =>
    plans.flatMap(({ max, plan }) => {
      const { chance } = planning
      const times = chance.below(3) === 0 ? 1 + chance.below(max) : 0
      return Array.from({ length: times }, () => plan(planning)).flat()
    }),
  calm: Effect.fnUntraced(function* (stage) {
    yield* disable(stage, false)
    for (const number of stage.tenant.numbers.keys()) {
      yield* resume({ stage, number })
      yield* pace({ stage, number }, null)
    }
  }),
  probe: Effect.fnUntraced(function* (stage) {
    yield* probeOpening({ stage, number: openedNumber, isProbe: true })
    yield* probePacing({ stage, number: pacedNumber, isProbe: true })
    yield* probeBreaker(stage)
    yield* probePlan(stage)
  }),
}

/** A stopped message leaves at once when it may, by itself if a time was given. */
const probeOpening = Effect.fnUntraced(function* (target: Target) {
  const { number, stage } = target
  const whenOpened = Effect.fnUntraced(function* (
    text: string,
    stop: Effect.Effect<void>,
    go: Effect.Effect<void>,
  ) {
    yield* stop
    yield* sendProbe(stage, { number, text: `${text} a` })
    yield* sendProbe(stage, { number, text: `${text} b` })
    yield* Effect.sleep(1 + stage.chance.below(2 * second))
    yield* go
    yield* Effect.sleep(3 * second)
  })
  yield* whenOpened("paused", pause(target, null), resume(target))
  yield* whenOpened("disabled", disable(stage, true, true), disable(stage, false, true))
  yield* probeTestMode(target)
  const until = stage.now() + 500 + stage.chance.below(2 * second)
  yield* whenOpened("paused a while", pause(target, until), Effect.void)
  yield* resume(target)
})

/** Test messages, which no transport takes, wait for a disabled workspace too. */
const probeTestMode = Effect.fnUntraced(function* ({ number, stage }: Target) {
  const { callers } = stage.tenant
  const endpoint = { url: "https://receiver.example/Probes/test" }
  yield* stage.callProcess(Webhooks.use((service) => service.create(callers.test, endpoint, null)))
  const at = stage.now() + 500 + stage.chance.below(500)
  yield* sendProbe(stage, { number, mode: "test", text: "test a", sendAt: at })
  yield* disable(stage, true, true)
  yield* sendProbe(stage, { number, mode: "test", text: "test b", sendAt: at + 200 })
  yield* Effect.sleep(1500)
  yield* disable(stage, false, true)
  yield* Effect.sleep(3 * second)
})

const unlimited: Paced = { minIntervalMillis: null, perMinute: null, newRecipientsPerDay: null }

/** Messages leave at their number's pace, and at once without pacing. */
const probePacing = Effect.fnUntraced(function* (target: Target) {
  const { number, stage } = target
  const paced = Effect.fnUntraced(function* (text: string, pacing: Partial<Paced>) {
    yield* pace(target, { ...unlimited, ...pacing })
    yield* Effect.sleep(1)
    for (const part of [0, 1]) {
      yield* sendProbe(stage, { number, text: `${text} ${part}`, phone: toPhone(part) })
    }
    yield* Effect.sleep(2 * second)
    yield* pace(target, null)
    yield* Effect.sleep(3 * second)
  })
  yield* paced("rests", { minIntervalMillis: 500 + stage.chance.below(1000) })
  yield* paced("slow", { perMinute: 3 })
  yield* Effect.sleep(minute)
  yield* pace(target, { ...unlimited, newRecipientsPerDay: 2 })
  yield* Effect.sleep(1)
  yield* sendProbe(stage, { number, text: "new", phone: toPhone(2) })
  yield* Effect.sleep(second)
  yield* pace(target, null)
  yield* Effect.sleep(3 * second)
})

/** A plan without limits, but for how many messages remain. */
export const aPlan = (messagesRemaining: number | null) => ({
  name: "Simulated",
  reminders: true,
  qrCodeApi: true,
  maxNumbers: null,
  mediaStorageBytes: 1_000_000,
  messagesRemaining,
})

/** A changed plan has exactly its own room, however many were sent before. */
const probePlan = Effect.fnUntraced(function* (stage: Stage) {
  const { workspace } = stage.tenant
  const plan = (messages: number | null) =>
    control(
      stage,
      {
        _tag: "Control",
        key: "plan",
        numbers: [],
        value: { _tag: "Planned", messages },
        isProbe: true,
      },
      Workspaces.use((service) => service.update("owner", workspace, { plan: aPlan(messages) })),
    )
  const part = (text: string) => sendProbe(stage, { number: roomyNumber, text, fate: "planned" })
  for (const messages of [1, 2]) {
    yield* plan(messages)
    const texts = Array.from({ length: messages + 1 }, (_, index) => `planned ${messages} ${index}`)
    yield* Effect.forEach(texts, part, { concurrency: "unbounded" })
  }
  yield* plan(null)
  yield* part("planned without a limit")
})

/** One more than the refusals that pause a number; the last one is not handed over. */
const refusedInARow = 6

const probeBreaker = Effect.fnUntraced(function* (stage: Stage) {
  const id = stage.tenant.numbers[restrictedNumber]
  if (id === undefined) return
  stage.restrict(id, stage.now() + 10 * second)
  for (let index = 0; index < refusedInARow; index++) {
    const text = `refused ${index}`
    yield* sendProbe(stage, { number: restrictedNumber, text, fate: "refused" })
  }
  yield* Effect.sleep(12 * second)
})
