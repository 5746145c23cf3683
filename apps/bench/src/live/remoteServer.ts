/** What the remote servers of live numbers have in common: orders, and counting what arrives. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { answering } from "../measuring/answering.ts"
import { steadyMillis } from "./orders.ts"
import type { RemoteServerOrder, Linked, Spell, Started } from "./orders.ts"

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

/** From the first change of what is counted until it is as wanted. */
const spell = (
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
    (): Spell => ({ millis: began === undefined ? 0 : ended - began, ended }),
  )
}

const toAnswer = (server: ControlledServer, order: RemoteServerOrder): Effect.Effect<unknown> => {
  switch (order.kind) {
    case "link":
      return Effect.map(
        Effect.forEach(numbers(order.first, order.count), (number) => server.link(number)),
        (credentials): Linked => ({ credentials }),
      )
    case "person":
      return server.person(order.number)
    case "online":
    case "offline": {
      const linked = new Set(numbers(order.first, order.count))
      const open = () => server.online(linked)
      return spell(server, open, open(), order.kind === "online" ? order.count : 0)
    }
    case "copies":
      return Effect.sync(() => server.copies(order.number))
    case "arrivals": {
      const { more, number, visible } = order
      return spell(server, () => server.copies(number), visible, visible + more)
    }
    case "complaints":
      return Effect.sync(() => server.complaints())
  }
}

/** The whole program: a server that answers orders until it is ended. */
export const runRemoteServer = (
  make: Effect.Effect<ControlledServer, never, Scope.Scope>,
): void => {
  const program = Effect.gen(function* program() {
    const server = yield* make
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    answering((order: RemoteServerOrder) =>
      run(Effect.map(toAnswer(server, order), (reported: unknown) => reported ?? null)),
    )
    process.send?.({ settings: server.settings } satisfies Started)
    return yield* Effect.never
  })
  void Effect.runPromise(Effect.scoped(program))
}
