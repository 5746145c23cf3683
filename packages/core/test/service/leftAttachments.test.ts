/** Sends that are cut off or refused, and what is left of their files. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { StoreUnavailable } from "../../src/index.ts"
import type { Attachment, MediaId, MessageId } from "../../src/index.ts"
import {
  bytes,
  contentOf,
  leftOver,
  linked,
  linksTo,
  sendWith,
  uploaded,
  aSweep,
} from "./Attaching.ts"
import { storeWithin } from "./Watched.ts"
import { copies, refusal, status, the } from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  aWorkspaceWith,
  hour,
  inAService,
  pass,
  settled,
} from "./Service.ts"

describe("a call that is cut off", () => {
  it.effect("during the download leaves nothing behind", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const call = yield* Effect.forkChild(Effect.scoped(linked(key, "https://example.com/slow")))
        yield* settled
        yield* Fiber.interrupt(call)
        assert.isNull(yield* contentOf(1))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
      {
        egress: linksTo({
          "https://example.com/slow": Stream.concat(Stream.make(bytes("con")), Stream.never),
        }),
      },
    ),
  )

  it.effect("between file and message leaves nothing behind", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const attached = yield* Deferred.make<Attachment>()
        const call = yield* Effect.forkChild(
          Effect.scoped(
            Effect.gen(function* () {
              yield* Deferred.succeed(attached, yield* uploaded(key, "a.pdf", "content"))
              return yield* Effect.never
            }),
          ),
        )
        const { id } = yield* Deferred.await(attached)
        assert.strictEqual(yield* contentOf(id), "content")
        yield* Fiber.interrupt(call)
        assert.isNull(yield* contentOf(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("behind its message takes nothing from that one", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const sent = yield* Deferred.make<{ readonly id: MediaId; readonly message: MessageId }>()
        const call = yield* Effect.forkChild(
          Effect.scoped(
            Effect.gen(function* () {
              const file = yield* uploaded(key, "a.pdf", "content")
              const message = yield* sendWith(key, file, { send_at: yield* ahead(hour) })
              yield* Deferred.succeed(sent, { id: file.id, message: message.id as MessageId })
              return yield* Effect.never
            }),
          ),
        )
        const { id, message } = yield* Deferred.await(sent)
        yield* Fiber.interrupt(call)
        assert.strictEqual(yield* contentOf(id), "content")
        yield* pass(hour)
        assert.strictEqual(yield* status(key, { id: message }), "sent")
      }),
    ),
  )

  it.effect("by the end of its process leaves a file that goes 26 h later", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        // This scope is never closed: the process is dead.
        const scope = yield* Scope.make()
        const { id } = yield* Scope.provide(uploaded(key, "a.pdf", "content"), scope)
        yield* pass(26 * hour - 1)
        assert.strictEqual(yield* contentOf(id), "content")
        yield* pass(2 * aSweep)
        assert.isNull(yield* contentOf(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )
})

describe("a send that is refused", () => {
  it.effect("leaves nothing of its file either when an adapter says so in words of its own", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const call = Effect.andThen(uploaded(key, "a.pdf", "content"), Effect.fail("no" as const))
        yield* Effect.flip(Effect.scoped(call))
        assert.isNull(yield* contentOf(1))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("leaves nothing of its file, wherever the refusal becomes an answer", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspaceWith(0)
        yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        const call = Effect.gen(function* () {
          const file = yield* uploaded(key, "a.pdf", "content")
          const sent = yield* Effect.result(sendWith(key, file))
          assert.strictEqual(sent._tag, "Failure")
          return yield* Effect.as(Effect.fromResult(sent), file)
        })
        const refused = yield* refusal(Effect.scoped(call))
        assert.strictEqual(refused.code, "no_credits")
        yield* Effect.scoped(Effect.exit(call))
        for (const id of [1, 2]) assert.isNull(yield* contentOf(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("when the store does not say what it did, the file waits for a message", () => {
    const trouble = { losing: false }
    const store = storeWithin((asked, effect) =>
      Effect.gen(function* () {
        const answered = yield* effect
        if (!trouble.losing || asked !== "MessageStore.accept") return answered
        return yield* new StoreUnavailable({ operation: asked, cause: "the answer was lost" })
      }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        trouble.losing = true
        const call = Effect.flatMap(uploaded(key, "a.pdf", "content"), (file) =>
          sendWith(key, file),
        )
        const exit = yield* Effect.exit(Effect.scoped(call))
        assert.isTrue(Exit.isFailure(exit))
        yield* settled
        assert.strictEqual(the(yield* copies()).media?.size, 7)
        assert.strictEqual(yield* contentOf(1), "content")
      }),
      { store },
    )
  })
})
