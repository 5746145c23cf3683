/** A process that is the far side of live numbers: server, phones and recipients. */
import { make } from "@messaging-service/whatsapp-server"
import type { WhatsAppServerShape } from "@messaging-service/whatsapp-server"
import { BufferJSON } from "baileys"
import { Effect } from "effect"
import { answering } from "./answering.ts"
import { steadyMillis } from "./orders.ts"
import type { FarSideOrder, Linked, Spell, Started } from "./orders.ts"

const numbers = (first: number, count: number) =>
  Array.from({ length: count }, (_, place) => String(first + place))

/** One-time keys that the server has of each device: as of one that was connected before. */
const keysThere = 800

/** From the first change of what is counted until it is as wanted. */
const spell = (
  server: WhatsAppServerShape,
  count: () => number,
  before: number,
  wanted: number,
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
      return now === wanted
    }),
    (): Spell => ({ millis: began === undefined ? 0 : ended - began, ended }),
  )
}

const answerOf = (server: WhatsAppServerShape, order: FarSideOrder): Effect.Effect<unknown> => {
  switch (order.ask) {
    case "link":
      return Effect.map(
        Effect.forEach(numbers(order.first, order.count), (number) =>
          Effect.andThen(server.person(number), server.linkedBefore(number, keysThere)),
        ),
        (all): Linked => ({
          credentials: all.map((creds) => JSON.stringify(creds, BufferJSON.replacer)),
        }),
      )
    case "person":
      return server.person(order.number)
    case "online":
    case "offline": {
      const linked = numbers(order.first, order.count)
      const open = () =>
        linked.filter((number) => server.sessions(number).some((each) => each.open > 0)).length
      return spell(server, open, open(), order.ask === "online" ? order.count : 0)
    }
    case "copies":
      return Effect.sync(() => server.copies(order.number))
    case "arrivals": {
      const { more, number, shown } = order
      return spell(server, () => server.copies(number), shown, shown + more)
    }
    case "complaints":
      return Effect.sync(() => server.complaints())
  }
}

const program = Effect.gen(function* () {
  const server = yield* make()
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  answering((order: FarSideOrder) =>
    run(Effect.map(answerOf(server, order), (told: unknown) => told ?? null)),
  )
  process.send?.({ url: server.url } satisfies Started)
  return yield* Effect.never
})

void Effect.runPromise(Effect.scoped(program))
