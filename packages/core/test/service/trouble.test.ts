import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Numbers, StoreUnavailable, Workspaces } from "../../src/index.ts"
import {
  answer,
  arrived,
  behave,
  cancel,
  code,
  events,
  get,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
  the,
} from "./Operations.ts"
import { ahead, aSender, day, inAService, minute, pass, second, settled } from "./Service.ts"
import { storeWithin } from "./Watched.ts"

/** A store in which one armed operation acts and then reports failure. */
const storeThatLoses = (operation: string) => {
  const trouble = { losing: false }
  const store = storeWithin((query, effect) =>
    Effect.gen(function* () {
      const answered = yield* effect
      if (!trouble.losing || query !== operation) return answered
      trouble.losing = false
      return yield* new StoreUnavailable({ operation, cause: "the answer was lost" })
    }),
  )
  return { store, trouble }
}

describe("when the store's answer is lost", () => {
  it.effect("the accepted message is still sent, and a repeat gets its answer", () => {
    const { store, trouble } = storeThatLoses("messages.accept")
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        trouble.losing = true
        const failed = yield* Effect.flip(answer(key, {}, "key"))
        assert.strictEqual(failed._tag, "StoreUnavailable")
        yield* settled
        assert.lengthOf(yield* arrived(), 1)
        const again = yield* answer(key, {}, "key")
        assert.isTrue(again.replayed)
        assert.strictEqual(the(again.messages).status, "queued")
        assert.strictEqual(yield* status(key, the(again.messages)), "sent")
      }),
      { store },
    )
  })

  it.effect("a returning number drains its lane", () => {
    const { store, trouble } = storeThatLoses("numbers.setStatus")
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, { from: number })
        yield* settled
        trouble.losing = true
        yield* Effect.flip(reconnect(number))
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
      }),
      { store },
    )
  })

  it.effect("a settled message is not sent again", () => {
    const { store, trouble } = storeThatLoses("queue.settle")
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        trouble.losing = true
        const messages = yield* sendBatch(key, 3)
        yield* pass(minute)
        assert.isFalse(trouble.losing)
        assert.lengthOf(yield* arrived(), 3)
        for (const message of messages) {
          assert.deepStrictEqual(yield* events(message), ["message.sent"])
        }
      }),
      { store },
    )
  })

  it.effect("a claimed message is repeated after its lease", () => {
    const { store, trouble } = storeThatLoses("queue.claim")
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        trouble.losing = true
        const message = yield* send(key)
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.lengthOf(yield* arrived(), 1)
      }),
      { store },
    )
  })
})

describe("a removal that is cut off half way is finished by the worker", () => {
  const removed = (operation: string, remove: "number" | "workspace") => {
    const { store, trouble } = storeThatLoses(operation)
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* logOut(number)
        const messages = yield* sendBatch(key, 1000, { from: number })
        trouble.losing = true
        const removal = Effect.gen(function* () {
          if (remove === "workspace") {
            return yield* (yield* Workspaces).delete("owner", workspace)
          }
          return yield* (yield* Numbers).remove("owner", workspace, number)
        })
        assert.strictEqual((yield* Effect.flip(removal))._tag, "StoreUnavailable")
        yield* settled
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["cancelled"]))
        assert.deepStrictEqual(yield* events(messages[999]!), ["message.cancelled"])
      }),
      { store },
    )
  }

  it.effect("of a number, when its own answer is lost", () => removed("numbers.remove", "number"))

  it.effect("of a number, when that of a cancel is lost", () => removed("messages.end", "number"))

  it.effect("of a workspace, when its own answer is lost", () =>
    removed("workspaces.delete", "workspace"),
  )

  it.effect("of a workspace, when that of a cancel is lost", () =>
    removed("messages.end", "workspace"),
  )

  it.effect("also when the client that asked for it went away", () => {
    let hangs = false
    const store = storeWithin((operation, effect) =>
      Effect.suspend(() => {
        if (!hangs || operation !== "messages.orphaned") return effect
        hangs = false
        return Effect.never
      }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* logOut(number)
        const messages = yield* sendBatch(key, 10, { from: number })
        yield* settled
        hangs = true
        const removal = yield* Effect.forkChild(
          Numbers.use((numbers) => numbers.remove("owner", workspace, number)),
        )
        yield* TestClock.adjust(second)
        yield* Fiber.interrupt(removal)
        yield* settled
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["cancelled"]))
      }),
      { store },
    )
  })
})

describe("a possibly sent message of a number that then logged out", () => {
  /** Interrupted once, and then the number is gone. */
  const inDoubt = (overrides: Readonly<Record<string, unknown>> = {}) =>
    Effect.gen(function* () {
      const sender = yield* aSender()
      yield* behave(sender.number, { send: "hang" })
      const message = yield* send(sender.key, overrides)
      yield* pass(90 * second)
      yield* logOut(sender.number)
      yield* pass(minute)
      yield* behave(sender.number, {})
      assert.strictEqual(yield* status(sender.key, message), "queued")
      return { ...sender, message }
    })

  it.effect("is not cancelled, and leaves once when the number returns", () =>
    inAService(
      Effect.gen(function* () {
        const { key, message, number } = yield* inDoubt()
        const request = yield* Effect.forkChild(code(cancel(key, message)))
        yield* TestClock.adjust(5 * second)
        assert.strictEqual(yield* Fiber.join(request), "not_cancellable")
        yield* reconnect(number)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.lengthOf(yield* arrived(), 1)
      }),
    ),
  )

  it.effect("ends in outcome_unknown at its expiry, neither expired nor sent again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, message, number } = yield* inDoubt({ expiresAt: yield* ahead(10 * minute) })
        yield* pass(day)
        assert.notStrictEqual(yield* status(key, message), "expired")
        yield* reconnect(number)
        yield* settled
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )

  it.effect("ends in outcome_unknown at once when the number is removed", () =>
    inAService(
      Effect.gen(function* () {
        const { key, message, number, workspace } = yield* inDoubt()
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* settled
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )
})
