import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  Admission,
  Contacts,
  Keys,
  NumberStore,
  Numbers,
  Workspaces,
  messagesRemaining,
  roles,
} from "../../src/index.ts"
import type { ContactId, KeyId, NumberId, Role, WorkspaceId } from "../../src/index.ts"
import {
  aContact,
  aKey,
  aNumber,
  aStage,
  aWorkspace,
  code,
  day,
  inAWorld,
  pass,
  refusal,
  send,
} from "./World.ts"

const unknown = 999_999

describe("keys", () => {
  const create = (workspace: WorkspaceId, body: object, role: Role = "owner") =>
    Keys.use((keys) => keys.create(role, workspace, body))
  const admit = (key: string) =>
    Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "192.0.2.1"))

  it.effect("a key shows its text once, with everything as chosen or by default", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const made = yield* create(workspace, { version: 2, name: "Key" })
        const { key, ...shown } = made
        assert.match(key, /^svc_live_[0-9A-Za-z]{38}$/)
        assert.deepStrictEqual<unknown>(shown, {
          id: made.id,
          version: 2,
          name: "Key",
          mode: "live",
          scopes: ["messages:send", "messages:read", "reminders", "numbers", "media", "contacts"],
          limited_to_numbers: false,
          number_ids: [],
          expires_at: null,
          last4: key.slice(-4),
          created_at: "2026-03-02T12:00:00Z",
          last_used_at: null,
          last_used_ip: null,
          revoked_at: null,
        })
        const { data } = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.deepStrictEqual(data, [shown])
      }),
    ),
  )

  it.effect("scopes come back in the contract's order, numbers once, the mode in the prefix", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace)
        const made = yield* create(workspace, {
          version: 2,
          name: "n".repeat(50),
          mode: "test",
          scopes: ["numbers", "messages:send", "numbers"],
          number_ids: [number, number],
        })
        assert.match(made.key, /^svc_test_/)
        assert.deepStrictEqual<unknown>(
          [made.scopes, made.limited_to_numbers, made.number_ids],
          [["messages:send", "numbers"], true, [number]],
        )
      }),
    ),
  )

  it.effect("30d, 90d and 1y are 30, 90 and 365 days, after which the key has expired", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const make = (expires_in: string) =>
          create(workspace, { version: 2, name: "K", expires_in })
        const [month, quarter, year] = [yield* make("30d"), yield* make("90d"), yield* make("1y")]
        assert.deepStrictEqual(
          [month, quarter, year].map(({ expires_at }) => expires_at),
          ["2026-04-01T12:00:00Z", "2026-05-31T12:00:00Z", "2027-03-02T12:00:00Z"],
        )
        yield* pass(30 * day - 1)
        yield* admit(month.key)
        yield* pass(1)
        assert.strictEqual(yield* code(admit(month.key)), "api_key_expired")
        yield* admit(quarter.key)
      }),
    ),
  )

  it.effect(
    "at most 10 non-revoked ones of a version: expired ones count, revoked ones do not",
    () =>
      inAWorld(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const make = create(workspace, { version: 2, name: "Key", expires_in: "30d" })
          const keys = yield* Effect.replicateEffect(make, 10)
          yield* pass(31 * day)
          const refused = yield* refusal(make)
          assert.deepStrictEqual([refused.code, refused.status], ["key_limit_reached", 403])
          assert.include(refused.message, "10")
          // Version 1 counts apart.
          yield* Effect.replicateEffect(create(workspace, { version: 1 }), 10)
          assert.strictEqual(yield* code(create(workspace, { version: 1 })), "key_limit_reached")
          yield* Keys.use((service) => service.revoke("owner", workspace, keys[3]!.id))
          yield* make
          assert.strictEqual(yield* code(make), "key_limit_reached")
        }),
      ),
  )

  it.effect("revoking stops a key at once, once and for all", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const made = yield* create(workspace, { version: 2, name: "Key" })
        yield* admit(made.key)
        const revoke = Keys.use((keys) => keys.revoke("owner", workspace, made.id))
        assert.deepStrictEqual<unknown>(yield* revoke, { id: made.id, revoked: true })
        assert.strictEqual(yield* code(admit(made.key)), "api_key_revoked")
        yield* pass(day)
        yield* revoke
        const { data } = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.strictEqual(data[0]?.revoked_at, "2026-03-02T12:00:00Z")
      }),
    ),
  )

  it.effect(
    "version 1 keys are named API Key <n>, live, with every scope, and deleted for good",
    () =>
      inAWorld(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const first = yield* create(workspace, { version: 1 })
          const second_ = yield* create(workspace, { version: 1 })
          assert.match(first.key, /^[0-9a-f]{40}$/)
          assert.deepStrictEqual(
            [first.name, second_.name, first.mode, first.scopes.length],
            ["API Key 1", "API Key 2", "live", 6],
          )
          const remove = Keys.use((keys) => keys.revoke("owner", workspace, first.id))
          assert.deepStrictEqual<unknown>(yield* remove, { id: first.id, deleted: true })
          assert.strictEqual(yield* code(remove), "key_not_found")
          assert.strictEqual(
            yield* code(create(workspace, { version: 1, name: "Mine" })),
            "validation_failed",
          )
        }),
      ),
  )

  it.effect("lists show time and address of last use", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const made = yield* create(workspace, { version: 2, name: "Key" })
        yield* pass(day)
        yield* admit(made.key)
        const { data } = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.deepStrictEqual(
          [data[0]?.last_used_at, data[0]?.last_used_ip],
          ["2026-03-03T12:00:00Z", "192.0.2.1"],
        )
      }),
    ),
  )

  const wrong: ReadonlyArray<readonly [what: string, body: object, field: string]> = [
    ["no version", { name: "Key" }, "version"],
    ["an unknown version", { version: 3, name: "Key" }, "version"],
    ["no name", { version: 2 }, "name"],
    ["an empty name", { version: 2, name: "" }, "name"],
    ["a name of 51 characters", { version: 2, name: "n".repeat(51) }, "name"],
    ["an unknown mode", { version: 2, name: "Key", mode: "demo" }, "mode"],
    ["an unknown scope", { version: 2, name: "Key", scopes: ["everything"] }, "scopes"],
    ["no scopes", { version: 2, name: "Key", scopes: [] }, "scopes"],
    ["no numbers", { version: 2, name: "Key", number_ids: [] }, "number_ids"],
    ["another lifetime", { version: 2, name: "Key", expires_in: "7d" }, "expires_in"],
    ["an unknown field", { version: 2, name: "Key", colour: "red" }, "colour"],
  ]
  it.effect.each(wrong)("%s is validation_failed", ([, body, field]) =>
    inAWorld(
      Effect.gen(function* () {
        const refused = yield* refusal(create(yield* aWorkspace(), body))
        assert.strictEqual(refused.code, "validation_failed")
        assert.strictEqual(refused.field?.split("[")[0], field)
      }),
    ),
  )

  it.effect("a number that is not the workspace's is number_not_found", () =>
    inAWorld(
      Effect.gen(function* () {
        const theirs = yield* aNumber(yield* aWorkspace())
        const workspace = yield* aWorkspace()
        for (const id of [theirs, unknown]) {
          const body = { version: 2, name: "Key", number_ids: [id] }
          const refused = yield* refusal(create(workspace, body))
          assert.deepStrictEqual([refused.code, refused.status], ["number_not_found", 422])
        }
      }),
    ),
  )

  it.effect("owners see all, administrators version 1, members none", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const two = yield* create(workspace, { version: 2, name: "Key" })
        const one = yield* create(workspace, { version: 1 }, "administrator")
        const seen = (role: Role) =>
          Effect.map(
            Keys.use((keys) => keys.list(role, workspace)),
            ({ data }) => data.map(({ version }) => version),
          )
        assert.deepStrictEqual(yield* seen("owner"), [2, 1])
        assert.deepStrictEqual(yield* seen("administrator"), [1])
        assert.strictEqual(yield* code(seen("member")), "role_required")
        const revoke = (role: Role, id: KeyId) =>
          Keys.use((keys) => keys.revoke(role, workspace, id))
        assert.strictEqual(yield* code(revoke("administrator", two.id)), "role_required")
        assert.strictEqual(yield* code(revoke("member", one.id)), "role_required")
        yield* revoke("administrator", one.id)
        const forbidden = create(workspace, { version: 2, name: "Key" }, "administrator")
        assert.strictEqual(yield* code(forbidden), "role_required")
        assert.strictEqual(
          yield* code(create(workspace, { version: 1 }, "member")),
          "role_required",
        )
      }),
    ),
  )
})

describe("workspaces", () => {
  it.effect("without a plan named it gets the Unlimited one; null is none", () =>
    inAWorld(
      Effect.gen(function* () {
        const { create } = yield* Workspaces
        const made = yield* create("owner", { name: "Example" })
        assert.deepStrictEqual<unknown>(made, {
          id: made.id,
          name: "Example",
          client_id: made.id,
          demo: false,
          account_disabled: false,
          api_v2_enabled: true,
          plan: {
            name: "Unlimited",
            messages_remaining: null,
            reminders: true,
            qr_code_api: true,
            max_numbers: null,
            media_storage_bytes: 1_073_741_824,
          },
          created_at: "2026-03-02T12:00:00Z",
        })
        assert.isNull((yield* create("owner", { name: "Example", plan: null })).plan)
        assert.strictEqual(messagesRemaining(null), 0)
      }),
    ),
  )

  it.effect("what is switched off stops its keys at the next request", () =>
    inAWorld(
      Effect.gen(function* () {
        const { workspace } = yield* aStage()
        const { key } = yield* Keys.use((keys) =>
          keys.create("owner", workspace, { version: 2, name: "Key" }),
        )
        const admit = Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "192.0.2.1"))
        const change = (body: object) =>
          Workspaces.use((workspaces) => workspaces.update("owner", workspace, body))
        yield* admit
        yield* change({ api_v2_enabled: false })
        assert.strictEqual(yield* code(admit), "api_v2_not_enabled")
        yield* change({ demo: true })
        assert.strictEqual(yield* code(admit), "demo_account")
        yield* change({ account_disabled: true })
        assert.strictEqual(yield* code(admit), "account_disabled")
        yield* change({ api_v2_enabled: true, demo: false, account_disabled: false })
        // Requests that a workspace refused were not counted.
        assert.strictEqual((yield* admit).rate.remaining, 58)
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        assert.strictEqual(yield* code(admit), "api_key_revoked")
      }),
    ),
  )

  it.effect("PATCH changes what it names and replaces a plan as a whole", () =>
    inAWorld(
      Effect.gen(function* () {
        const { get, update } = yield* Workspaces
        const workspace = yield* aWorkspace()
        const before = yield* get(workspace)
        assert.deepStrictEqual(yield* update("owner", workspace, { name: "New" }), {
          ...before,
          name: "New",
        })
        assert.deepStrictEqual(yield* update("owner", workspace, {}), { ...before, name: "New" })
        const partial = yield* refusal(update("owner", workspace, { plan: { name: "Small" } }))
        assert.strictEqual(partial.code, "validation_failed")
        assert.strictEqual(partial.field, "plan.messages_remaining")
        assert.isNull((yield* update("owner", workspace, { plan: null })).plan)
      }),
    ),
  )

  it.effect("an unknown or deleted one is workspace_not_found, everywhere", () =>
    inAWorld(
      Effect.gen(function* () {
        const deleted = yield* aWorkspace()
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", deleted))
        const workspaces = yield* Workspaces
        for (const id of [deleted, unknown as WorkspaceId, undefined]) {
          const asked = [
            code(workspaces.get(id)),
            code(workspaces.update("owner", id, {})),
            code(workspaces.delete("owner", id)),
            code(Effect.flatMap(Keys, (keys) => keys.list("owner", id))),
            code(Effect.flatMap(Numbers, (numbers) => numbers.list("owner", id))),
            code(Effect.flatMap(Contacts, (contacts) => contacts.list("owner", id, []))),
          ]
          for (const each of asked) assert.strictEqual(yield* each, "workspace_not_found")
        }
      }),
    ),
  )

  it.effect("are listed newest first, page by page, deleted ones left out", () =>
    inAWorld(
      Effect.gen(function* () {
        const ids = yield* Effect.replicateEffect(aWorkspace(), 5)
        const { delete: remove, list } = yield* Workspaces
        yield* remove("owner", ids[3]!)
        const first = yield* list([["limit", "2"]])
        assert.deepStrictEqual<unknown>(
          first.data.map(({ id }) => id),
          [ids[4], ids[2]],
        )
        const cursor = first.next_cursor ?? ""
        const rest = yield* list([["cursor", cursor]])
        assert.deepStrictEqual<unknown>(
          rest.data.map(({ id }) => id),
          [ids[1], ids[0]],
        )
        assert.isNull(rest.next_cursor)
        assert.strictEqual(yield* code(list([["cursor", `${cursor}x`]])), "invalid_cursor")
      }),
    ),
  )
})

describe("contacts", () => {
  const create = (workspace: WorkspaceId, body: object) =>
    Contacts.use((contacts) => contacts.create("owner", workspace, body))

  it.effect("have a name and exactly one of phone and username", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const jane = yield* create(workspace, { name: "Jane", phone: "+1 555-000-0001" })
        assert.deepStrictEqual<unknown>(jane, {
          id: jane.id,
          name: "Jane",
          phone: "+15550000001",
          username: null,
          created_at: "2026-03-02T12:00:00Z",
        })
        const john = yield* create(workspace, {
          name: "John",
          username: "t.me/john_doe",
          phone: null,
        })
        assert.deepStrictEqual([john.phone, john.username], [null, "t.me/john_doe"])
        const wrong: ReadonlyArray<readonly [body: object, code: string]> = [
          [{ name: "Jane" }, "validation_failed"],
          [{ name: "Jane", phone: null, username: null }, "validation_failed"],
          [{ name: "Jane", phone: "+15550000001", username: "@jane_doe" }, "validation_failed"],
          [{ name: "", phone: "+15550000001" }, "validation_failed"],
          [{ name: "n".repeat(101), phone: "+15550000001" }, "validation_failed"],
          [{ name: "Jane", phone: "0123" }, "invalid_phone"],
          [{ name: "Jane", username: "jane" }, "invalid_username"],
        ]
        for (const [body, expected] of wrong) {
          assert.strictEqual(yield* code(create(workspace, body)), expected)
        }
      }),
    ),
  )

  it.effect("a deleted one can no longer be sent to, nor another workspace's", () =>
    inAWorld(
      Effect.gen(function* () {
        const { key, workspace } = yield* aStage()
        const contact = (yield* aContact(workspace, { phone: "+15550000061" })) as ContactId
        const theirs = yield* aContact(yield* aWorkspace(), { phone: "+15550000062" })
        yield* send(key, { to: { contact_id: contact } })
        assert.strictEqual(
          yield* code(send(key, { to: { contact_id: theirs } })),
          "contact_not_found",
        )
        const remove = Contacts.use((contacts) => contacts.delete("owner", workspace, contact))
        assert.deepStrictEqual<unknown>(yield* remove, { id: contact, deleted: true })
        const refused = yield* refusal(remove)
        assert.deepStrictEqual([refused.code, refused.status], ["contact_not_found", 404])
        assert.strictEqual(
          yield* code(send(key, { to: { contact_id: contact } })),
          "contact_not_found",
        )
      }),
    ),
  )

  it.effect("a phone shows the oldest contact that has it", () =>
    inAWorld(
      Effect.gen(function* () {
        const { key, workspace } = yield* aStage()
        const to = { phone: "+15550000061" }
        assert.deepStrictEqual<unknown>((yield* send(key, { to })).to, {
          phone: "+15550000061",
          contact_id: null,
        })
        const first = yield* aContact(workspace, to)
        yield* aContact(workspace, to)
        assert.deepStrictEqual<unknown>((yield* send(key, { to })).to, {
          phone: "+15550000061",
          contact_id: first,
        })
      }),
    ),
  )
})

describe("numbers", () => {
  it.effect(
    "are made connected unless told otherwise, listed oldest first, relabelled, removed",
    () =>
      inAWorld(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const { create, list, remove, update } = yield* Numbers
          const made = yield* create("owner", workspace, {
            platform: "whatsapp",
            phone: "+44 20-7946 0958",
          })
          const expected = {
            id: made.id,
            phone: "442079460958",
            label: "",
            platform: "whatsapp",
            status: "connected",
            login_method: "qr",
            connect: null,
          }
          assert.deepStrictEqual<unknown>(made, expected)
          const other = yield* create("owner", workspace, {
            platform: "telegram",
            phone: "+442079460959",
            label: "Sales",
            status: "disconnected",
          })
          assert.deepStrictEqual((yield* list("owner", workspace)).data, [made, other])
          const relabelled = yield* update("owner", workspace, made.id, { label: "Support" })
          assert.deepStrictEqual<unknown>(relabelled, { ...expected, label: "Support" })
          assert.deepStrictEqual(yield* update("owner", workspace, made.id, {}), relabelled)
          assert.deepStrictEqual<unknown>(yield* remove("owner", workspace, made.id), {
            id: made.id,
            deleted: true,
          })
          assert.deepStrictEqual((yield* list("owner", workspace)).data, [other])
          assert.isNull(yield* NumberStore.use((store) => store.find(made.id)))
        }),
      ),
  )

  it.effect("an unknown, removed or another workspace's number is number_not_found, 404", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const removed = yield* aNumber(workspace)
        const { remove, update } = yield* Numbers
        yield* remove("owner", workspace, removed)
        const theirs = yield* aNumber(yield* aWorkspace())
        for (const id of [removed, theirs, unknown as NumberId, undefined]) {
          for (const asked of [
            refusal(update("owner", workspace, id, { label: "x" })),
            refusal(remove("owner", workspace, id)),
          ]) {
            const refused = yield* asked
            assert.deepStrictEqual([refused.code, refused.status], ["number_not_found", 404])
          }
        }
      }),
    ),
  )

  it.effect("owners and administrators keep numbers and contacts, members do not", () =>
    inAWorld(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const numbers = yield* Numbers
        const contacts = yield* Contacts
        for (const role of roles) {
          const asked = [
            Effect.asVoid(
              numbers.create(role, workspace, { platform: "whatsapp", phone: "+15550000100" }),
            ),
            Effect.asVoid(numbers.list(role, workspace)),
            Effect.asVoid(
              contacts.create(role, workspace, { name: "Jane", phone: "+15550000061" }),
            ),
            Effect.asVoid(contacts.list(role, workspace, [])),
          ]
          for (const each of asked) {
            const result = yield* Effect.result(each)
            const told =
              result._tag === "Success"
                ? "done"
                : result.failure._tag === "Refusal" && result.failure.code
            assert.strictEqual(told, role === "member" ? "role_required" : "done")
          }
        }
      }),
    ),
  )
})

it.effect("keys of one workspace see nothing of another", () =>
  inAWorld(
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const stranger = yield* aKey(yield* aWorkspace())
      assert.strictEqual(yield* code(send(stranger, { from: number })), "number_not_found")
      assert.strictEqual(yield* code(send(stranger)), "from_required")
    }),
  ),
)
