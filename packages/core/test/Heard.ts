/** What is logged while an effect runs: each line with its fields, as an operator reads it. */
import { Effect, Logger, References } from "effect"

/** Runs the work; `lines` holds what it logs, as `Level message name=value`, whichever loop said it. */
export const heard = <A, E, R>(lines: Array<string>, work: Effect.Effect<A, E, R>) =>
  Effect.provide(
    work,
    Logger.layer([
      Logger.make(({ fiber, logLevel, message }) => {
        const fields = Object.entries(fiber.getRef(References.CurrentLogAnnotations)).filter(
          ([name]) => name !== "loop",
        )
        lines.push(
          [
            logLevel,
            [message].flat().join(" "),
            ...fields.map(([name, value]) => `${name}=${String(value)}`),
          ].join(" "),
        )
      }),
    ]),
  )
