/** Reminders: created, run every few minutes, and deleted in calm. */
import { Reminders } from "@messaging-service/core"
import type { ReminderId } from "@messaging-service/core"
import { Effect } from "effect"
import { retryUntilAnswered } from "./asking.ts"
import type { Control } from "../History.ts"
import { toPhone } from "./messages.ts"
import { control } from "./operations.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"

const second = 1000

/** How often a caller repeats without an answer, and after one. */
const tries = 8
const repeats = 3

const make = (text: string, everyMinutes: number) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { chance, tenant } = stage
    const times = chance.below(2) === 0 ? repeats : 1
    for (let time = 0; time < times; time++) {
      const isOther = chance.below(6) === 0
      const answer = yield* retryUntilAnswered(stage, {
        request: { _tag: "MakeReminder", text, isOther, isProbe: false },
        effect: Reminders.use((service) =>
          service.create(
            tenant.callers.live,
            {
              name: isOther ? "other" : text,
              to: { phone: toPhone(0) },
              text,
              schedule: { cron: `*/${everyMinutes} * * * *` },
            },
            { key: text, fingerprint: `${text}${isOther ? " other" : ""}` },
          ),
        ),
        answer: ({ answer: { id }, replayed }) => ({
          _tag: "Made",
          id: Number(id),
          secret: null,
          isReplayed: replayed,
        }),
        tries,
      })
      if (answer?._tag === "Made" && stage.reminders.every(({ id }) => id !== answer.id)) {
        stage.reminders.push({ text, id: answer.id, everyMinutes: [everyMinutes] })
      }
      yield* Effect.sleep(chance.below(5 * second))
    }
  })

/** Pauses it, resumes it, or gives it another schedule. */
const change = (text: string, what: "pause" | "resume" | number) => (stage: Stage) => {
  const created = stage.reminders.find((each) => each.text === text)
  if (created === undefined) return Effect.void
  const isSchedule = typeof what === "number"
  if (isSchedule) created.everyMinutes.push(what)
  const value: Control["value"] = isSchedule
    ? { _tag: "Every", minutes: what }
    : what === "pause"
      ? { _tag: "Stopped", until: null }
      : { _tag: "Open" }
  const key = `${isSchedule ? "schedule" : "pausing"} ${text}`
  const command = isSchedule
    ? { schedule: { cron: `*/${what} * * * *` } }
    : { active: what === "resume" }
  return control(
    stage,
    { _tag: "Control", key, numbers: [], value, isProbe: false },
    Reminders.use((service) =>
      service.update(stage.tenant.callers.live, created.id as ReminderId, command),
    ),
  )
}

const planChanges = (
  { chance, span }: Planning,
  text: string,
  at: number,
): ReadonlyArray<Command> => {
  const after = () => at + chance.below(Math.max(1, span - at))
  const changes = [["pause", "resume"], [1 + chance.below(5)], []] as const
  return (changes[chance.below(3)] ?? []).map((what) => ({
    at: after(),
    name: `change ${text}: ${what}`,
    perform: change(text, what),
  }))
}

export const reminders: Feature = {
  name: "reminders",
  plan: (planning) => {
    const { chance, count, instant } = planning
    const commands: Array<Command> = []
    for (let index = 0; index < count / 30; index++) {
      if (chance.below(2) === 0) continue
      const text = `r${index}`
      const at = instant()
      commands.push(...planChanges(planning, text, at), {
        at,
        name: `remind ${text}`,
        perform: make(text, 1 + chance.below(5)),
      })
    }
    return commands
  },
}
