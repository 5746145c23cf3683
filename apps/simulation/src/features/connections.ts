/** Numbers that are logged out on their phones and return. */
import { Numbers } from "@messaging-service/core"
import { Effect } from "effect"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000

/** Reports a change of a number's connection, as a transport does. */
const connection = (number: number, status: "connected" | "disconnected") => (stage: Stage) => {
  const id = stage.tenant.numbers[number]
  // Where processes keep connections, only they report their state.
  return id === undefined || stage.board !== null
    ? Effect.void
    : stage
        .callProcess(
          Numbers.use((numbers) =>
            numbers.connectionChanged(
              id,
              status,
              null,
              status === "disconnected" ? "logged_out" : null,
            ),
          ),
        )
        .pipe(Effect.ignore)
}

export const connections: Feature = {
  name: "connections",
  plan: ({ chance, count, instant, numbers }) => {
    const commands: Array<Command> = []
    for (let index = 0; index < count / 15; index++) {
      const number = chance.below(numbers)
      const at = instant()
      const back = at + chance.below(30 * second)
      commands.push(
        { at, name: `log out ${number}`, perform: connection(number, "disconnected") },
        { at: back, name: `log in ${number}`, perform: connection(number, "connected") },
      )
    }
    return commands
  },
}
