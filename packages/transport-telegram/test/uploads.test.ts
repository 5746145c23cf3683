/** An account ends while its files are uploaded: the library sends several parts at once. */
import { assert, layer } from "@effect/vitest"
import type { OutgoingMedia } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect, Fiber, Latch, Stream } from "effect"
import {
  accepted,
  anAccount,
  aPerson,
  aText,
  layerWorld,
  sendNow,
  awaitConnection,
  toUser,
  ticks,
  unhandled,
} from "./LiveWorld.ts"

const partBytes = 64 * 1024
const manyParts = 40

/** A file with a link that answers a little, and the rest only then. */
const slowFile = (rest: Latch.Latch): OutgoingMedia => {
  const parts = Stream.range(1, manyParts).pipe(
    Stream.tap((part) => (part <= 4 ? Effect.void : rest.await)),
    Stream.map(() => Buffer.alloc(partBytes)),
  )
  const size = partBytes * manyParts
  return {
    type: "file",
    fileName: "slow.bin",
    mimeType: "application/octet-stream",
    size,
    sha256: "",
    content: parts,
  }
}

layer(layerWorld)("an upload", (it) => {
  it.effect("that fails with its session sends no more parts, and leaves the others alone", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const other = yield* anAccount
      yield* aPerson({ username: "slow_one" })
      const rest = yield* Latch.make()
      yield* server.nextCall({
        method: "upload.saveFilePart",
        phone: account.digits,
        outcome: { revoke: "SESSION_REVOKED" },
      })
      const message = { ...aText(account, toUser("slow_one")), media: slowFile(rest) }
      const reasons = yield* unhandled(
        Effect.gen(function* () {
          const outcome = yield* sendNow(message)
          assert.deepStrictEqual(outcome, { _tag: "NotConnected" })
          yield* awaitConnection(account.id, "disconnected")
          rest.openUnsafe()
          yield* ticks
        }),
      )
      assert.deepStrictEqual(reasons, [])
      assert.deepStrictEqual(yield* sendNow(aText(other, toUser("slow_one"))), accepted)
    }),
  )

  it.effect("that is interrupted, as when its number moves, fails nowhere later", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      yield* aPerson({ username: "moved_one" })
      const rest = yield* Latch.make()
      yield* server.nextCall({
        method: "upload.saveFilePart",
        phone: account.digits,
        outcome: "withhold",
      })
      const message = { ...aText(account, toUser("moved_one")), media: slowFile(rest) }
      const reasons = yield* unhandled(
        Effect.gen(function* () {
          const sending = yield* Effect.forkChild(sendNow(message), { startImmediately: true })
          yield* server.until(() => server.ordersLeft(account.digits) === 0)
          yield* Fiber.interrupt(sending)
          yield* server.revoke(account.digits)
          yield* server.drop(account.digits)
          yield* awaitConnection(account.id, "disconnected")
          rest.openUnsafe()
          yield* ticks
        }),
      )
      assert.deepStrictEqual(reasons, [])
    }),
  )
})
