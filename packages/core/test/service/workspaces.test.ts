import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  Admission,
  Contacts,
  Keys,
  Numbers,
  Workspaces,
  messagesRemaining,
} from "../../src/index.ts"
import type { ChangeWorkspace, WorkspaceId } from "../../src/index.ts"
import { code, refusal, send } from "./Operations.ts"
import { aKey, aSender, aWorkspace, inAService, noon } from "./Service.ts"

const unknown = 999_999

describe("workspaces", () => {
  it.effect("without a named plan it gets the Unlimited one; null is none", () =>
    inAService(
      Effect.gen(function* () {
        const { create } = yield* Workspaces
        const workspace = yield* create("owner", { name: "Example" })
        assert.deepStrictEqual<unknown>(workspace, {
          id: workspace.id,
          name: "Example",
          demo: false,
          accountDisabled: false,
          apiV2Enabled: true,
          plan: {
            name: "Unlimited",
            messagesRemaining: null,
            reminders: true,
            qrCodeApi: true,
            maxNumbers: null,
            mediaStorageBytes: 1_073_741_824,
          },
          retentionDays: null,
          createdAt: noon,
          deletedAt: null,
        })
        assert.isNull((yield* create("owner", { name: "Example", plan: null })).plan)
        assert.strictEqual(messagesRemaining(null), 0)
      }),
    ),
  )

  it.effect("disabling a product stops its keys at the next request", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const { key } = yield* Keys.use((keys) =>
          keys.create("owner", workspace, { version: 2, name: "Key" }),
        )
        const admit = Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "192.0.2.1"))
        const change = (body: ChangeWorkspace) =>
          Workspaces.use((workspaces) => workspaces.update("owner", workspace, body))
        yield* admit
        yield* change({ apiV2Enabled: false })
        assert.strictEqual(yield* code(admit), "api_v2_not_enabled")
        yield* change({ demo: true })
        assert.strictEqual(yield* code(admit), "demo_account")
        yield* change({ accountDisabled: true })
        assert.strictEqual(yield* code(admit), "account_disabled")
        yield* change({ apiV2Enabled: true, demo: false, accountDisabled: false })
        // Refused requests were not counted.
        assert.strictEqual((yield* admit).rate.remaining, 58)
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        assert.strictEqual(yield* code(admit), "api_key_revoked")
      }),
    ),
  )

  it.effect("PATCH changes the named fields and replaces a plan as a whole", () =>
    inAService(
      Effect.gen(function* () {
        const { get, update } = yield* Workspaces
        const workspace = yield* aWorkspace()
        const before = yield* get(workspace)
        assert.deepStrictEqual(yield* update("owner", workspace, { name: "New" }), {
          ...before,
          name: "New",
        })
        assert.deepStrictEqual(yield* update("owner", workspace, {}), { ...before, name: "New" })
        const partial = yield* refusal(
          update("owner", workspace, { plan: { name: "Small" } } as ChangeWorkspace),
        )
        assert.strictEqual(partial.code, "validation_failed")
        assert.strictEqual(partial.field, "plan.messagesRemaining")
        assert.isNull((yield* update("owner", workspace, { plan: null })).plan)
      }),
    ),
  )

  it.effect("an unknown or deleted one is workspace_not_found, everywhere", () =>
    inAService(
      Effect.gen(function* () {
        const deleted = yield* aWorkspace()
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", deleted))
        const workspaces = yield* Workspaces
        for (const id of [deleted, unknown as WorkspaceId, undefined]) {
          const requests = [
            code(workspaces.get(id)),
            code(workspaces.update("owner", id, {})),
            code(workspaces.delete("owner", id)),
            code(Effect.flatMap(Keys, (keys) => keys.list("owner", id))),
            code(Effect.flatMap(Numbers, (numbers) => numbers.list("owner", id))),
            code(Effect.flatMap(Contacts, (contacts) => contacts.list("owner", id, {}))),
          ]
          for (const each of requests) assert.strictEqual(yield* each, "workspace_not_found")
        }
      }),
    ),
  )

  it.effect("are listed newest first, page by page, without deleted ones", () =>
    inAService(
      Effect.gen(function* () {
        const ids = yield* Effect.replicateEffect(aWorkspace(), 5)
        const { delete: remove, list } = yield* Workspaces
        yield* remove("owner", ids[3]!)
        const first = yield* list({ limit: 2 })
        assert.deepStrictEqual<unknown>(
          first.items.map(({ id }) => id),
          [ids[4], ids[2]],
        )
        const cursor = first.next ?? ""
        const rest = yield* list({ cursor })
        assert.deepStrictEqual<unknown>(
          rest.items.map(({ id }) => id),
          [ids[1], ids[0]],
        )
        assert.isNull(rest.next)
        assert.strictEqual(yield* code(list({ cursor: `${cursor}x` })), "invalid_cursor")
      }),
    ),
  )
})

it.effect("keys of one workspace see nothing of another", () =>
  inAService(
    Effect.gen(function* () {
      const { number } = yield* aSender()
      const stranger = yield* aKey(yield* aWorkspace())
      assert.strictEqual(yield* code(send(stranger, { from: number })), "number_not_found")
      assert.strictEqual(yield* code(send(stranger)), "from_required")
    }),
  ),
)
