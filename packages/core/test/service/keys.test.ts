import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { Admission, Keys, refuse, Store, Workspaces } from "../../src/index.ts"
import type { Caller, CreateKey, KeyId, Refusal, Role, WorkspaceId } from "../../src/index.ts"
import { code, refusal, send } from "./Operations.ts"
import { aNumber, aSender, aWorkspace, day, inAService, noon, pass } from "./Service.ts"

const unknown = 999_999

describe("keys", () => {
  const create = (workspace: WorkspaceId, body: CreateKey, role: Role = "owner") =>
    Keys.use((keys) => keys.create(role, workspace, body))
  const admit = (key: string) =>
    Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "192.0.2.1"))

  it.effect("a key shows its text once, with its settings and defaults", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { key, record } = yield* create(workspace, { version: 2, name: "Key" })
        assert.match(key, /^svc_live_[0-9A-Za-z]{38}$/)
        assert.deepStrictEqual<unknown>(record, {
          id: record.id,
          workspaceId: workspace,
          version: 2,
          name: "Key",
          mode: "live",
          scopes: ["messages:send", "messages:read", "reminders", "numbers", "media", "contacts"],
          numberIds: null,
          expiresAt: null,
          last4: key.slice(-4),
          createdAt: noon,
          lastUsedAt: null,
          lastUsedIp: null,
          revokedAt: null,
        })
        const all = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.deepStrictEqual(all, [record])
      }),
    ),
  )

  it.effect("scopes return in the contract's order, numbers once, the mode in the prefix", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace)
        const { key, record } = yield* create(workspace, {
          version: 2,
          name: "n".repeat(50),
          mode: "test",
          scopes: ["numbers", "messages:send", "numbers"],
          numberIds: [number, number],
        })
        assert.match(key, /^svc_test_/)
        assert.deepStrictEqual<unknown>(
          [record.scopes, record.numberIds],
          [["messages:send", "numbers"], [number]],
        )
      }),
    ),
  )

  it.effect("30d, 90d and 1y are 30, 90 and 365 days, after which the key has expired", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const make = (expiresIn: "30d" | "90d" | "1y") =>
          create(workspace, { version: 2, name: "K", expiresIn })
        const [month, quarter, year] = [yield* make("30d"), yield* make("90d"), yield* make("1y")]
        assert.deepStrictEqual(
          [month, quarter, year].map(({ record }) => record.expiresAt),
          [30, 90, 365].map((days) => noon + days * day),
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
      inAService(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const make = create(workspace, { version: 2, name: "Key", expiresIn: "30d" })
          const keys = yield* Effect.replicateEffect(make, 10)
          yield* pass(31 * day)
          const refused = yield* refusal(make)
          assert.deepStrictEqual([refused.code, refused.status], ["key_limit_reached", 403])
          assert.include(refused.message, "10")
          // Version 1 has its own limit.
          yield* Effect.replicateEffect(create(workspace, { version: 1 }), 10)
          assert.strictEqual(yield* code(create(workspace, { version: 1 })), "key_limit_reached")
          yield* Keys.use((service) => service.revoke("owner", workspace, keys[3]!.record.id))
          yield* make
          assert.strictEqual(yield* code(make), "key_limit_reached")
        }),
      ),
  )

  it.effect("revoking stops a key at once and permanently", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { key, record } = yield* create(workspace, { version: 2, name: "Key" })
        yield* admit(key)
        const revoke = Keys.use((keys) => keys.revoke("owner", workspace, record.id))
        assert.strictEqual((yield* revoke).id, record.id)
        assert.strictEqual(yield* code(admit(key)), "api_key_revoked")
        yield* pass(day)
        yield* revoke
        const [revoked] = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.strictEqual(revoked?.revokedAt, noon)
      }),
    ),
  )

  it.effect(
    "version 1 keys are named API Key <n>, live, with every scope, and deleted for good",
    () =>
      inAService(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const { key, record: first } = yield* create(workspace, { version: 1 })
          const { record: second_ } = yield* create(workspace, { version: 1 })
          assert.match(key, /^[0-9a-f]{40}$/)
          assert.deepStrictEqual(
            [first.name, second_.name, first.mode, first.scopes.length],
            ["API Key 1", "API Key 2", "live", 6],
          )
          const remove = Keys.use((keys) => keys.revoke("owner", workspace, first.id))
          assert.strictEqual((yield* remove).version, 1)
          assert.strictEqual((yield* remove).id, first.id)
          assert.strictEqual(
            yield* code(create(workspace, { version: 1, name: "Mine" } as CreateKey)),
            "validation_failed",
          )
        }),
      ),
  )

  it.effect("version 1 keys that are made at once have names of their own", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const slow = Layer.effect(
          Store,
          Effect.map(Store, (store) => ({
            ...store,
            workspaces: {
              ...store.workspaces,
              listKeys: (id: WorkspaceId) =>
                Effect.tap(store.workspaces.listKeys(id), () => Effect.yieldNow),
            },
          })),
        )
        const make = Effect.provide(
          create(workspace, { version: 1 }),
          Layer.provide(Keys.layer, slow),
        )
        const created = yield* Effect.all(
          Array.from({ length: 12 }, () => Effect.result(make)),
          {
            concurrency: "unbounded",
          },
        )
        const names = created.flatMap((one) =>
          Result.isSuccess(one) ? [one.success.record.name] : [],
        )
        const expected = Array.from({ length: 10 }, (_, index) => `API Key ${index + 1}`)
        assert.sameMembers(names, expected)
      }),
    ),
  )

  it.effect("lists show time and address of last use", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const newApiKey = yield* create(workspace, { version: 2, name: "Key" })
        yield* pass(day)
        yield* admit(newApiKey.key)
        const [used] = yield* Keys.use((keys) => keys.list("owner", workspace))
        assert.deepStrictEqual([used?.lastUsedAt, used?.lastUsedIp], [noon + day, "192.0.2.1"])
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
    ["an unknown scope", { version: 2, name: "Key", scopes: ["everything"] }, "scopes[0]"],
    ["no scopes", { version: 2, name: "Key", scopes: [] }, "scopes"],
    ["no numbers", { version: 2, name: "Key", numberIds: [] }, "numberIds"],
    ["another lifetime", { version: 2, name: "Key", expiresIn: "7d" }, "expiresIn"],
    ["an unknown field", { version: 2, name: "Key", colour: "red" }, "colour"],
  ]
  it.effect.each(wrong)("%s is validation_failed", ([, body, field]) =>
    inAService(
      Effect.gen(function* () {
        const refused = yield* refusal(create(yield* aWorkspace(), body as CreateKey))
        assert.strictEqual(refused.code, "validation_failed")
        assert.strictEqual(refused.field, field)
      }),
    ),
  )

  it.effect("a number outside the workspace is number_not_found", () =>
    inAService(
      Effect.gen(function* () {
        const theirs = yield* aNumber(yield* aWorkspace())
        const workspace = yield* aWorkspace()
        for (const id of [theirs, unknown]) {
          const created = create(workspace, { version: 2, name: "Key", numberIds: [id] })
          const refused = yield* refusal(created)
          assert.deepStrictEqual([refused.code, refused.status], ["number_not_found", 422])
        }
      }),
    ),
  )

  it.effect("a number of the other mode is number_not_found", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const live = yield* aNumber(workspace)
        const store = (yield* Store).numbers
        const { id: test } = yield* store.insert({
          workspaceId: workspace,
          mode: "test",
          phone: "15550000200",
          label: "",
          platform: "whatsapp",
          status: "connected",
          loginMethod: "qr",
          createdAt: noon,
        })
        const limited = (mode: "live" | "test", id: number) =>
          create(workspace, { version: 2, name: "Key", mode, numberIds: [id] })
        const refused = yield* refusal(limited("live", test))
        assert.deepStrictEqual([refused.code, refused.field], ["number_not_found", "numberIds"])
        for (const id of [live, test]) yield* limited("test", id)
        yield* limited("live", live)
      }),
    ),
  )

  it.effect("owners see all, administrators version 1, members none", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const two = yield* create(workspace, { version: 2, name: "Key" })
        const one = yield* create(workspace, { version: 1 }, "administrator")
        const seen = (role: Role) =>
          Effect.map(
            Keys.use((keys) => keys.list(role, workspace)),
            (all) => all.map(({ version }) => version),
          )
        assert.deepStrictEqual(yield* seen("owner"), [2, 1])
        assert.deepStrictEqual(yield* seen("administrator"), [1])
        assert.strictEqual(yield* code(seen("member")), "role_required")
        const revoke = (role: Role, id: KeyId) =>
          Keys.use((keys) => keys.revoke(role, workspace, id))
        assert.strictEqual(yield* code(revoke("administrator", two.record.id)), "role_required")
        assert.strictEqual(yield* code(revoke("member", one.record.id)), "role_required")
        yield* revoke("administrator", one.record.id)
        const forbidden = create(workspace, { version: 2, name: "Key" }, "administrator")
        assert.strictEqual(yield* code(forbidden), "role_required")
        assert.strictEqual(
          yield* code(create(workspace, { version: 1 }, "member")),
          "role_required",
        )
      }),
    ),
  )

  it.effect("a request that meets the deletion of its workspace is refused as revoked", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const admission = yield* Admission
        const meets = (refused: Refusal, caller: Pick<Caller, "key" | "workspaceId"> = key) =>
          code(admission.stillAdmitted(caller, Effect.fail(refused)))
        const gone = refuse("number_not_found", { field: "from" })
        assert.strictEqual(yield* meets(gone), "number_not_found")
        yield* Workspaces.use((all) => all.delete("owner", workspace))
        assert.strictEqual(yield* meets(gone), "api_key_revoked")
        assert.strictEqual(yield* meets(refuse("validation_failed")), "validation_failed")
        const first = { ...key, key: { ...key.key, version: 1 } } as const
        assert.strictEqual(yield* meets(gone, first), "invalid_api_key")
        const sent = admission.stillAdmitted(key, send(key))
        assert.strictEqual(yield* code(sent), "api_key_revoked")
      }),
    ),
  )
})
