/** Reminders: made, run every few minutes, and deleted once all is well. */
import { Reminders } from "@messaging-service/core"
import { Effect, Result } from "effect"
import { phoneOf } from "./messages.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

/** How often a caller asks for the same reminder. */
const tries = 8

const make = (text: string, everyMinutes: number) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const asking = stage.ask(
      Reminders.use((service) =>
        service.create(
          stage.given.callers.live,
          {
            name: text,
            to: { phone: phoneOf(0) },
            text,
            schedule: { cron: `*/${everyMinutes} * * * *` },
          },
          { key: text, fingerprint: text },
        ),
      ),
    )
    for (let attempt = 0; attempt < tries; attempt++) {
      const made = yield* Effect.result(asking)
      if (Result.isSuccess(made)) {
        stage.reminders.push({ text, id: Number(made.success.answer.id), everyMinutes })
        return
      }
      yield* Effect.sleep(stage.chance.below(3000))
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
