/** Clients whose scope ends, and requests whose connection does. */
import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage, tl } from "@mtcute/node"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { makeClient, makeQuestions } from "../src/Client.ts"
import { defaultSettings } from "../src/TelegramSettings.ts"

it.live("a client that waits for a write of its own ends all the same", () =>
  Effect.gen(function* () {
    const storage = new MemoryStorage()
    let isAsked = false
    Object.assign(storage.driver, {
      destroy: () => {
        isAsked = true
        return new Promise<never>(() => undefined)
      },
    })
    const application = { id: 1, hash: Redacted.make("0123456789abcdef0123456789abcdef") }
    const settings = {
      ...defaultSettings,
      application,
      server: { host: "127.0.0.1", port: 1 },
    }
    yield* Effect.scoped(
      Effect.gen(function* () {
        const client = yield* makeClient(settings, { application, storage, proxy: null, drawn: 0 })
        yield* Effect.promise(() => client.prepare())
      }),
    )
    assert.isTrue(isAsked)
  }),
)

describe("a request", () => {
  const neverAnswered = (taken: Array<AbortSignal>) => (signal: AbortSignal) => {
    taken.push(signal)
    return new Promise<never>(() => undefined)
  }

  it.effect("ends with its connection, is cancelled, and none follows", () =>
    Effect.gen(function* () {
      const { ask, end, waiting } = makeQuestions()
      const taken: Array<AbortSignal> = []
      const asking = yield* Effect.forkChild(ask(neverAnswered(taken)), { startImmediately: true })
      assert.strictEqual(yield* ask(() => Promise.resolve("answer")), "answer")
      assert.strictEqual(waiting(), 1)
      end()
      const failed = yield* Effect.flip(Fiber.join(asking))
      assert.strictEqual(failed.code, 0)
      assert.deepStrictEqual(
        taken.map(({ aborted }) => aborted),
        [true],
      )
      yield* Effect.flip(ask(neverAnswered(taken)))
      assert.lengthOf(taken, 1)
      assert.strictEqual(waiting(), 0)
    }),
  )

  it.effect("is cancelled when interrupted, and gives the reason when it fails", () =>
    Effect.gen(function* () {
      const { ask, waiting } = makeQuestions()
      const taken: Array<AbortSignal> = []
      const asking = yield* Effect.forkChild(ask(neverAnswered(taken)), { startImmediately: true })
      yield* Fiber.interrupt(asking)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(asking)))
      assert.isTrue(taken[0]?.aborted)
      const refusal = new tl.RpcError(400, "PEER_ID_INVALID")
      const failed = yield* Effect.flip(ask(() => Promise.reject(refusal)))
      assert.deepInclude(failed, { code: 400, text: "PEER_ID_INVALID" })
      assert.strictEqual(waiting(), 0)
    }),
  )
})
