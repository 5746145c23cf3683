/** Reminders: created, run every few minutes, and deleted in calm. */
import { Reminders } from "@messaging-service/core"
import { Effect } from "effect"
import { askUntilAnswered } from "./asking.ts"
import { phoneOf } from "./messages.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000

/** How often a caller repeats without an answer, and after one. */
const tries = 8
const repeats = 3

const make = (text: string, everyMinutes: number) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { chance, given } = stage
    const times = chance.below(2) === 0 ? repeats : 1
    for (let time = 0; time < times; time++) {
      const isOther = chance.below(6) === 0
      const answer = yield* askUntilAnswered(stage, {
        ask: { _tag: "MakeReminder", text, isOther, isProbe: false },
        effect: Reminders.use((service) =>
          service.create(
            given.callers.live,
            {
              name: isOther ? "other" : text,
              to: { phone: phoneOf(0) },
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
        stage.reminders.push({ text, id: answer.id, everyMinutes })
      }
      yield* Effect.sleep(chance.below(5 * second))
    }
  })

export const reminders: Feature = {
  name: "reminders",
  plan: ({ chance, count, moment }) => {
    const commands: Array<Command> = []
    for (let index = 0; index < count / 30; index++) {
      if (chance.below(2) === 0) continue
      const text = `r${index}`
      commands.push({
        at: moment(),
        name: `remind ${text}`,
        perform: make(text, 1 + chance.below(5)),
      })
    }
    return commands
  },
}
