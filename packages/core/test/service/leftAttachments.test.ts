/** The files of sends that are cut off or refused. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { StoreUnavailable } from "../../src/index.ts"
import type { Attachment, MediaId, MessageId } from "../../src/index.ts"
import {
  bytes,
  readContent,
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

describe("an interrupted call", () => {
  it.effect("leaves nothing during the download", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const call = yield* Effect.forkChild(Effect.scoped(linked(key, "https://example.com/slow")))
        yield* settled
        yield* Fiber.interrupt(call)
        assert.isNull(yield* readContent(1))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
      {
        egress: linksTo({
          "https://example.com/slow": Stream.concat(Stream.make(bytes("con")), Stream.never),
        }),
      },
    ),
  )

  it.effect("leaves nothing between file and message", () =>
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
        assert.strictEqual(yield* readContent(id), "content")
        yield* Fiber.interrupt(call)
        assert.isNull(yield* readContent(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("keeps the file once its message is stored", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const sent = yield* Deferred.make<{ readonly id: MediaId; readonly message: MessageId }>()
        const call = yield* Effect.forkChild(
          Effect.scoped(
            Effect.gen(function* () {
              const file = yield* uploaded(key, "a.pdf", "content")
              const message = yield* sendWith(key, file, { sendAt: yield* ahead(hour) })
              yield* Deferred.succeed(sent, { id: file.id, message: message.id as MessageId })
              return yield* Effect.never
            }),
          ),
        )
        const { id, message } = yield* Deferred.await(sent)
        yield* Fiber.interrupt(call)
        assert.strictEqual(yield* readContent(id), "content")
        yield* pass(hour)
        assert.strictEqual(yield* status(key, { id: message }), "sent")
      }),
    ),
  )

  it.effect("leaves a file for 26 h when its process dies", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        // This scope never closes: the process is dead.
        const scope = yield* Scope.make()
        const { id } = yield* Scope.provide(uploaded(key, "a.pdf", "content"), scope)
        yield* pass(26 * hour - 1)
        assert.strictEqual(yield* readContent(id), "content")
        yield* pass(2 * aSweep)
        assert.isNull(yield* readContent(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )
})

describe("a refused send", () => {
  it.effect("leaves no file when an adapter refuses in its own words", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const call = Effect.andThen(uploaded(key, "a.pdf", "content"), Effect.fail("no" as const))
        yield* Effect.flip(Effect.scoped(call))
        assert.isNull(yield* readContent(1))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("leaves no file, wherever the refusal becomes an answer", () =>
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
        for (const id of [1, 2]) assert.isNull(yield* readContent(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("leaves its file to the sweep when the store does not say what it did", () => {
    const trouble = { losing: false }
    const store = storeWithin((query, effect) =>
      Effect.gen(function* () {
        const answered = yield* effect
        if (!trouble.losing || query !== "messages.accept") return answered
        return yield* new StoreUnavailable({ operation: query, cause: "the answer was lost" })
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
        assert.strictEqual(yield* readContent(1), "content")
      }),
      { store },
    )
  })
})
