/** Stores that went back in time, as an operator declares, and the decisions about held messages. */
import { Numbers, Reminders, Restoration } from "@messaging-service/core"
import type { ReminderId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Control } from "../History.ts"
import type { Feature, Tenant, Stage } from "./Feature.ts"
import { removeNumber } from "./deletions.ts"
import { toPhone, sendProbe } from "./messages.ts"
import { control } from "./operations.ts"

const second = 1000
const minute = 60 * second

const decision = (value: Control["value"], isProbe: boolean): Control => ({
  _tag: "Control",
  key: "restored",
  numbers: [],
  value,
  isProbe,
})

const restored = (stage: Stage, isProbe = false) =>
  control(
    stage,
    decision({ _tag: "Held" }, isProbe),
    Restoration.use((service) => service.restored("owner", { again: isProbe })),
    "already_restored",
  )

/** Releases everything held in these workspaces, or cancels its messages. */
const decide = (
  stage: Stage,
  what: "release" | "cancel",
  tenants: ReadonlyArray<Tenant>,
  isProbe = false,
) =>
  control(
    stage,
    decision({ _tag: "Open" }, isProbe),
    Restoration.use((service) =>
      Effect.forEach(tenants, ({ workspace }) =>
        Effect.catchTag(
          service[what]("owner", workspace, { filter: {} }),
          "Refusal",
          () => Effect.void,
        ),
      ),
    ),
  )

/** Indexes of the probe's numbers. */
const probedNumber = 4
const remindedNumber = 6

export const restores: Feature = {
  name: "restores",
  plan: ({ chance, instant }) => {
    if (chance.below(5) !== 0) return []
    // Often at a full minute, when reminders are due.
    const at =
      chance.below(2) === 0
        ? instant()
        : Math.floor(instant() / minute) * minute + chance.below(300)
    const back = at + chance.below(chance.below(2) === 0 ? 20 * second : 3 * minute)
    const what = chance.below(3) === 0 ? "cancel" : "release"
    return [
      { at, name: "restored", perform: (stage) => restored(stage) },
      {
        at: back,
        name: `${what} what is held`,
        perform: (stage) => decide(stage, what, [stage.tenant, stage.doomed]),
      },
    ]
  },
  calm: (stage) => decide(stage, "release", [stage.tenant, stage.doomed]),
  probe: Effect.fnUntraced(function* (stage) {
    const at = stage.now() + second + stage.chance.below(second)
    yield* sendProbe(stage, { number: probedNumber, text: "held a", sendAt: at })
    yield* restored(stage, true)
    yield* sendProbe(stage, { number: probedNumber, text: "passing" })
    yield* Effect.sleep(3 * second)
    yield* decide(stage, "release", [stage.tenant, stage.audited], true)
    yield* Effect.sleep(3 * second)
    yield* probeReminder(stage)
    if (stage.chance.below(4) === 0) yield* probeRemoval(stage)
  }),
}

/** Creates a reminder of `remindedNumber` that runs each minute, and returns the time of its first run. */
const remindEachMinute = Effect.fnUntraced(function* (stage: Stage, text: string) {
  const { callers, numbers } = stage.tenant
  const left = minute - (stage.now() % minute)
  if (left < 2 * second) yield* Effect.sleep(left + second)
  const from = Number(numbers[remindedNumber])
  const schedule = { cron: "* * * * *" }
  const reminder = { name: text, from, to: { phone: toPhone(0) }, text, schedule }
  const call = stage.recordRequest({ _tag: "MakeReminder", text, isOther: false, isProbe: true })
  const { answer } = yield* stage.callProcess(
    Reminders.use((service) => service.create(callers.live, reminder, null)),
  )
  const id = Number(answer.id)
  stage.answered(call, { _tag: "Made", id, secret: null, isReplayed: false })
  return { id: id as ReminderId, due: Math.ceil(stage.now() / minute) * minute }
})

/** A number that is removed while a reminder runs sends nothing of it. */
const probeRemoval = Effect.fnUntraced(function* (stage: Stage) {
  const { due, id } = yield* remindEachMinute(stage, "reminded without a number")
  stage.delay("reminders.run", 100)
  yield* Effect.sleep(due + 50 - stage.now())
  yield* removeNumber(remindedNumber)(stage)
  yield* Effect.sleep(second)
  stage.delay("reminders.run", 0)
  const { live } = stage.tenant.callers
  yield* stage.callProcess(Reminders.use((service) => service.remove(live, id)))
})

/**
 * A reminder's message when a new epoch begins is held, however far its run had come. Its
 * number rests then, so that any message that is not held is seen to leave.
 */
const probeReminder = Effect.fnUntraced(function* (stage: Stage) {
  const { callers, numbers, workspace } = stage.tenant
  const number = numbers[remindedNumber]
  if (number === undefined) return
  const text = "reminded in a new epoch"
  const pace = (minIntervalMillis: number | null) =>
    Numbers.use((service) =>
      service.update("owner", workspace, number, {
        pacing: { minIntervalMillis },
      }),
    )
  yield* stage.callProcess(pace(2 * second))
  const { due, id } = yield* remindEachMinute(stage, text)
  yield* Effect.sleep(due - stage.now() - second / 2)
  yield* sendProbe(stage, { number: remindedNumber, text: "before a reminder" })
  // The epoch begins between a worker's poll and its run.
  stage.delay("reminders.run", 100)
  yield* Effect.sleep(due + 50 - stage.now())
  yield* restored(stage, true)
  yield* Effect.sleep(4 * second)
  yield* stage.callProcess(Reminders.use((service) => service.remove(callers.live, id)))
  stage.delay("reminders.run", 0)
  yield* stage.callProcess(pace(null))
  yield* decide(stage, "release", [stage.tenant, stage.audited], true)
})
