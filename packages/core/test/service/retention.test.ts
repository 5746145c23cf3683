import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Messages, RetentionDays, TestMessagesKept, Workspaces } from "../../src/index.ts"
import type { Caller, MessageId } from "../../src/index.ts"
import { code, send } from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  aWorkspace,
  day,
  hour,
  inAService,
  pass,
} from "./Service.ts"

const list = (caller: Caller) =>
  Effect.map(
    Messages.use((messages) => messages.list(caller, {})),
    ({ items }) => items.map(({ id }): number => id),
  )

const read = (caller: Caller, { id }: { readonly id: number }) =>
  Messages.use((messages) => messages.get(caller, id as MessageId))

describe("retention", () => {
  it.effect("erases a message that many days after it ended; it is unknown then", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const sent = yield* send(key)
        const scheduled = yield* send(key, { sendAt: yield* ahead(5 * day) })
        yield* pass(7 * day - hour)
        yield* read(key, sent)
        yield* pass(2 * hour)
        assert.strictEqual(yield* code(read(key, sent)), "message_not_found")
        // It ended five days later.
        assert.deepStrictEqual(yield* list(key), [scheduled.id])
        yield* Workspaces.use((workspaces) =>
          workspaces.update("owner", workspace, { retentionDays: 3 }),
        )
        yield* pass(day)
        assert.deepStrictEqual(yield* list(key), [])
      }),
    ).pipe(Effect.provideService(RetentionDays, 7)),
  )

  it.effect("keeps messages where neither the service nor their workspace has a retention", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const kept = yield* send(key)
        const other = yield* aWorkspace()
        yield* aNumber(other)
        const limited = yield* aKey(other)
        yield* Workspaces.use((workspaces) =>
          workspaces.update("owner", other, { retentionDays: 1 }),
        )
        yield* send(limited)
        yield* pass(100 * day)
        assert.deepStrictEqual(yield* list(key), [kept.id])
        assert.deepStrictEqual(yield* list(limited), [])
      }),
    ),
  )

  it.effect("keeps the newest of a workspace's ended test messages", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const key = yield* aKey(workspace, { mode: "test" })
        for (let createdCount = 0; createdCount < 5; createdCount++) yield* send(key)
        const all = yield* list(key)
        yield* pass(hour)
        assert.deepStrictEqual(yield* list(key), all.slice(0, 3))
      }),
    ).pipe(Effect.provideService(TestMessagesKept, 3)),
  )
})
