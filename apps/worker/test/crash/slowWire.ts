/** A wire between the service and its database that delays what the service says, or keeps it back. */
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect, Random } from "effect"
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { setTimeout } from "node:timers/promises"

export interface SlowWire {
  /** The database by way of the wire, as `DATABASE_URL` takes it. */
  readonly url: string
  /** Keeps back what the service says, on all connections, until `release`. */
  readonly hold: Effect.Effect<void>
  readonly release: Effect.Effect<void>
}

/** Of so many pieces one is late. */
const oneIn = 20

const longestDelayMillis = 400

/** A wire to that database; it ends with the scope. */
export const startSlowWire = Effect.fnUntraced(function* ({
  database,
  path,
  username,
}: TestDatabase) {
  const delays = yield* Effect.replicateEffect(
    Random.nextIntBetween(0, oneIn * longestDelayMillis),
    1000,
  )
  const sockets = new Set<Socket>()
  let pieces = 0
  let opened = Promise.withResolvers<void>()
  opened.resolve()

  const late = async () => {
    const delay = delays[pieces++ % delays.length]!
    if (delay < longestDelayMillis) await setTimeout(delay)
    await opened.promise
  }
  const server = createServer((service) => {
    const store = connect(path)
    let before = Promise.resolve()
    service.on("data", (piece) => {
      before = before.then(late).then(() => void store.write(piece))
    })
    store.pipe(service)
    for (const [from, to] of [
      [service, store],
      [store, service],
    ] as const) {
      sockets.add(from)
      from.on("error", () => to.destroy())
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }),
  )
  const { port } = server.address() as AddressInfo
  const wire: SlowWire = {
    url: `postgres://${username}@127.0.0.1:${port}/${database}`,
    hold: Effect.sync(() => void (opened = Promise.withResolvers<void>())),
    release: Effect.sync(() => opened.resolve()),
  }
  return wire
})
