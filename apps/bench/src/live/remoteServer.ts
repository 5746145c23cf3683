/** What the remote servers of live numbers have in common: commands, and counting what arrives. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { answering } from "../measuring/answering.ts"
import { steadyMillis } from "./commands.ts"
import type { RemoteServerCommand, Linked, Timing, Started } from "./commands.ts"

/** A server of one platform, with the phones and people behind it. */
export interface ControlledServer {
  /** Variables with which its clients reach it. */
  readonly settings: Started["settings"]
  /** Makes an account with a client that was connected long ago; what that client keeps. */
  link(number: string): Effect.Effect<string>
  person(number: string): Effect.Effect<unknown>
  /** How many of those accounts are connected. */
  online(numbers: ReadonlySet<string>): number
  copies(number: string): number
  complaints(): ReadonlyArray<string>
  until(condition: () => boolean): Effect.Effect<void>
}

const numbers = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => String(first + index))

/** Measures from the first change of the count until it is `requested`. */
const measureTiming = (
  server: ControlledServer,
  count: () => number,
  before: number,
  requested: number,
) => {
  let began: number | undefined
  let latest = before
  let ended = 0
  return Effect.map(
    server.until(() => {
      const now = count()
      if (now !== latest) {
        latest = now
        ended = steadyMillis()
        began ??= ended
      }
      return now === requested
    }),
    (): Timing => ({ millis: began === undefined ? 0 : ended - began, ended }),
  )
}

const toAnswer = (
  server: ControlledServer,
  command: RemoteServerCommand,
): Effect.Effect<unknown> => {
  switch (command.kind) {
    case "link":
      return Effect.map(
        Effect.forEach(numbers(command.first, command.count), (number) => server.link(number)),
        (credentials): Linked => ({ credentials }),
      )
    case "person":
      return server.person(command.number)
    case "online":
    case "offline": {
      const linked = new Set(numbers(command.first, command.count))
      const open = () => server.online(linked)
      return measureTiming(server, open, open(), command.kind === "online" ? command.count : 0)
    }
    case "copies":
      return Effect.sync(() => server.copies(command.number))
    case "awaitArrivals": {
      const { more, number, visible } = command
      return measureTiming(server, () => server.copies(number), visible, visible + more)
    }
    case "complaints":
      return Effect.sync(() => server.complaints())
  }
}

/** The whole program: a server that answers commands until it is ended. */
export const runRemoteServer = (
  make: Effect.Effect<ControlledServer, never, Scope.Scope>,
): void => {
  const program = Effect.gen(function* program() {
    const server = yield* make
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    answering((command: RemoteServerCommand) =>
      run(Effect.map(toAnswer(server, command), (reported: unknown) => reported ?? null)),
    )
    process.send?.({ settings: server.settings } satisfies Started)
    return yield* Effect.never
  })
  void Effect.runPromise(Effect.scoped(program))
}
