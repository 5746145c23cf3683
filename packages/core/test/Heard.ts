/** Captures log lines with their fields while an effect runs. */
import { Effect, Logger, References } from "effect"

/** Runs the work; `lines` holds its log as `Level message name=value`. */
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
