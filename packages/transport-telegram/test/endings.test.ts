/** Clients at the end of their scope, and requests at the end of their connection. */
import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage, tl } from "@mtcute/node"
import type { ITelegramStorageProvider } from "@mtcute/node"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { requested, makeClient, makeQuestions } from "../src/Client.ts"
import { keysInMemory, makeStorage, neverFailing } from "../src/storage.ts"
import { defaultSettings } from "../src/TelegramSettings.ts"
import { ticks, unhandled } from "./LiveWorld.ts"

const settings = {
  ...defaultSettings,
  application: { id: 1, hash: Redacted.make("0123456789abcdef0123456789abcdef") },
  server: { host: "127.0.0.1", port: 1 },
}

const aClient = (storage: ITelegramStorageProvider) =>
  makeClient(settings, { application: settings.application, storage, proxy: null, drawn: 0 })

it.live("a client that waits for a write of its own ends all the same", () =>
  Effect.gen(function* () {
    const storage = new MemoryStorage()
    let isRequested = false
    Object.assign(storage.driver, {
      destroy: () => {
        isRequested = true
        return new Promise<never>(() => undefined)
      },
    })
    yield* Effect.scoped(
      Effect.gen(function* () {
        const client = yield* aClient(storage)
        yield* Effect.promise(() => client.prepare())
      }),
    )
    assert.isTrue(isRequested)
  }),
)

it.live("a client refuses calls once its scope is closed, to their callers alone", () =>
  Effect.gen(function* () {
    const client = yield* Effect.scoped(aClient(new MemoryStorage()))
    const failures: Array<string> = []
    const reasons = yield* unhandled(
      Effect.gen(function* () {
        const works: ReadonlyArray<() => Promise<unknown>> = [
          () => client.call({ _: "help.getNearestDc" }),
          () => client.connect(),
          () => client.getPoolSize("upload"),
          () => client.startUpdatesLoop(),
          () => client.uploadFile({ file: new Uint8Array(300_000) }),
        ]
        for (const work of works) {
          failures.push((yield* Effect.flip(requested(work))).text)
        }
        yield* ticks
      }),
    )
    assert.deepStrictEqual(reasons, [])
    assert.lengthOf(failures, 5)
  }),
)

it.live("a client whose number was let go while it read its keys fails nowhere", () =>
  Effect.gen(function* () {
    let fail = () => undefined
    const { promise: reading, resolve: started } = Promise.withResolvers<void>()
    const keyStorage = neverFailing({
      ...keysInMemory([]),
      read: () =>
        new Promise((_, reject) => {
          fail = () => void reject(new Error("the store is away"))
          started()
        }),
    })
    const reasons = yield* unhandled(
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const client = yield* aClient(makeStorage(keyStorage))
            void client.connect().catch(() => undefined)
            yield* Effect.promise(() => reading)
          }),
        )
        fail()
        yield* ticks
      }),
    )
    assert.deepStrictEqual(reasons, [])
  }),
)

describe("a request", () => {
  const neverAnswered = (claimed: Array<AbortSignal>) => (signal: AbortSignal) => {
    claimed.push(signal)
    return new Promise<never>(() => undefined)
  }

  it.effect("ends with its connection, is cancelled, and none follows", () =>
    Effect.gen(function* () {
      const { request, end, waiting } = makeQuestions()
      const claimed: Array<AbortSignal> = []
      const requesting = yield* Effect.forkChild(request(neverAnswered(claimed)), {
        startImmediately: true,
      })
      assert.strictEqual(yield* request(() => Promise.resolve("answer")), "answer")
      assert.strictEqual(waiting(), 1)
      end()
      const failed = yield* Effect.flip(Fiber.join(requesting))
      assert.strictEqual(failed.code, 0)
      assert.deepStrictEqual(
        claimed.map(({ aborted }) => aborted),
        [true],
      )
      yield* Effect.flip(request(neverAnswered(claimed)))
      assert.lengthOf(claimed, 1)
      assert.strictEqual(waiting(), 0)
    }),
  )

  it.effect("is cancelled when interrupted, and gives the reason when it fails", () =>
    Effect.gen(function* () {
      const { request, waiting } = makeQuestions()
      const claimed: Array<AbortSignal> = []
      const requesting = yield* Effect.forkChild(request(neverAnswered(claimed)), {
        startImmediately: true,
      })
      yield* Fiber.interrupt(requesting)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(requesting)))
      assert.isTrue(claimed[0]?.aborted)
      const refusal = new tl.RpcError(400, "PEER_ID_INVALID")
      const refused = (signal: AbortSignal) => {
        claimed.push(signal)
        return Promise.reject(refusal)
      }
      const failed = yield* Effect.flip(request(refused))
      assert.deepInclude(failed, { code: 400, text: "PEER_ID_INVALID" })
      // Its other requests, such as those of a file's parts, end too.
      assert.isTrue(claimed[1]?.aborted)
      assert.strictEqual(waiting(), 0)
    }),
  )
})
