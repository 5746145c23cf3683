/** Making, listing and revoking API keys (contract: Keys). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { DeletedJson, IdJson, TimeJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids } from "../id/Ids.ts"
import type { KeyId, NumberId, WorkspaceId } from "../id/Ids.ts"
import { NumberStore } from "../number/NumberStore.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, textBetween } from "../request/Input.ts"
import { formatInstant } from "../time/Instant.ts"
import { may, requireRole } from "../workspace/Role.ts"
import type { Role } from "../workspace/Role.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { keyLimit, scopes } from "./ApiKey.ts"
import type { ApiKey } from "./ApiKey.ts"
import { KeyStore } from "./KeyStore.ts"
import { hashSecret, makeKeyV1, makeKeyV2 } from "./secret.ts"

const day = 24 * 60 * 60 * 1000

/** How long a key can last (contract: Keys). */
const lifetimes = { "30d": 30 * day, "90d": 90 * day, "1y": 365 * day } as const

/** Members of `scopes` and of `number_ids`, doubles included. */
const maximumScopes = 100
const maximumNumbers = 1000

const notEmpty = (problem: string) =>
  Schema.makeFilter(
    (members: ReadonlyArray<unknown>) => (members.length > 0 ? undefined : problem),
    { toJsonSchema: () => ({ minItems: 1 }) },
  )

export const KeyBody = Schema.Struct({
  version: Schema.Literals([1, 2]),
  name: described(Schema.optionalKey(textBetween(1, 50)), "Required of a version 2 key."),
  mode: described(
    Schema.optionalKey(Schema.Literals(["live", "test"])),
    "A test key validates everything and sends nothing.",
    { default: "live" },
  ),
  scopes: described(
    Schema.optionalKey(
      Schema.Union([
        Schema.Literal("all"),
        Schema.Array(Schema.Literals(scopes)).check(
          notEmpty("must name a scope"),
          Schema.isMaxLength(maximumScopes),
        ),
      ]),
    ),
    "What the key may do.",
    { default: "all" },
  ),
  number_ids: described(
    Schema.optionalKey(
      Schema.NullOr(
        Schema.Array(Schema.Int).check(
          notEmpty("must name a number"),
          Schema.isMaxLength(maximumNumbers),
        ),
      ),
    ),
    "The only numbers that the key may use; null for all, later ones included.",
    { default: null },
  ),
  expires_in: described(
    Schema.optionalKey(Schema.NullOr(Schema.Literals(["30d", "90d", "1y"]))),
    "30, 90 or 365 days; null for never.",
    { default: null },
  ),
}).annotate({
  identifier: "CreateKey",
  description: "A version 1 key takes `version` alone; a version 2 key needs a name.",
})

const KeyV2Body = Schema.Struct({
  ...KeyBody.fields,
  version: Schema.Literal(2),
  name: textBetween(1, 50),
})

const KeyV1Body = Schema.Struct({ version: Schema.Literal(1) })

const order = Object.keys(KeyBody.fields)
const decodeV1 = inputDecoder(KeyV1Body, order)
const decodeV2 = inputDecoder(KeyV2Body, order, () => [], {
  scopes: { most: maximumScopes },
  number_ids: { most: maximumNumbers },
})

/** The Key object. */
export const KeyJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("KeyId")),
  version: Schema.Literals([1, 2]),
  name: Schema.String,
  mode: Schema.Literals(["live", "test"]),
  scopes: Schema.Array(Schema.Literals(scopes)),
  limited_to_numbers: Schema.Boolean,
  number_ids: described(Schema.Array(IdJson), "Empty unless the key is limited to some numbers."),
  expires_at: described(Schema.NullOr(TimeJson), "Null: never."),
  last4: described(Schema.String, "Last four characters of the key."),
  created_at: TimeJson,
  last_used_at: Schema.NullOr(TimeJson),
  last_used_ip: Schema.NullOr(Schema.String),
  revoked_at: Schema.NullOr(TimeJson),
}).annotate({ identifier: "Key" })

export type KeyJson = typeof KeyJson.Type

/** The answer to a key's creation. */
export const NewKeyJson = Schema.Struct({
  ...KeyJson.fields,
  key: described(Schema.String, "The whole key; shown only here."),
}).annotate({ identifier: "NewKey" })

/** The answer to a key's revocation: version 1 keys are deleted. */
export const RevokedKeyJson = Schema.Union([
  Schema.Struct({ id: IdJson, revoked: Schema.Literal(true) }),
  DeletedJson,
]).annotate({ identifier: "RevokedKey" })

export const keyJson = (key: ApiKey): KeyJson => ({
  id: key.id,
  version: key.version,
  name: key.name,
  mode: key.mode,
  scopes: key.scopes,
  limited_to_numbers: key.numberIds !== null,
  number_ids: key.numberIds ?? [],
  expires_at: key.expiresAt === null ? null : formatInstant(key.expiresAt),
  last4: key.last4,
  created_at: formatInstant(key.createdAt),
  last_used_at: key.lastUsedAt === null ? null : formatInstant(key.lastUsedAt),
  last_used_ip: key.lastUsedIp,
  revoked_at: key.revokedAt === null ? null : formatInstant(key.revokedAt),
})

type Failure = Refusal | StoreUnavailable

export class Keys extends Context.Service<
  Keys,
  {
    /**
     * POST /workspaces/{id}/keys: the full key is in the answer, and only there. Fails with
     * `workspace_not_found`, `role_required`, `key_limit_reached`, `number_not_found`.
     */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      body: unknown,
    ): Effect.Effect<typeof NewKeyJson.Type, Failure>
    /**
     * GET /workspaces/{id}/keys: oldest first, revoked ones included; those that the role may see.
     */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<{ readonly data: ReadonlyArray<KeyJson> }, Failure>
    /** DELETE /workspaces/{id}/keys/{key_id}: the key stops at once. Fails with `key_not_found`. */
    revoke(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: KeyId | undefined,
    ): Effect.Effect<typeof RevokedKeyJson.Type, Failure>
  }
>()("core/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const numbers = yield* NumberStore
      const workspaces = yield* Workspaces
      const ids = yield* Ids

      const insert = (
        text: string,
        key: Omit<ApiKey, "id" | "last4" | "lastUsedAt" | "lastUsedIp" | "revokedAt">,
      ) =>
        Effect.gen(function* () {
          const stored = yield* store.insert(
            { ...key, hash: hashSecret(text), last4: text.slice(-4) },
            keyLimit,
          )
          if (stored === null) return yield* refuse("key_limit_reached")
          return { ...keyJson(stored), key: text }
        })

      const createV2 = (workspaceId: WorkspaceId, body: unknown) =>
        Effect.gen(function* () {
          const input = yield* Effect.fromResult(decodeV2(body))
          const numberIds = input.number_ids == null ? null : [...new Set(input.number_ids)]
          for (const id of numberIds ?? []) {
            const found = yield* numbers.get(workspaceId, id as NumberId)
            if (found === null) return yield* refuse("number_not_found", { field: "number_ids" })
          }
          const now = yield* Clock.currentTimeMillis
          const mode = input.mode ?? "live"
          const chosen = input.scopes ?? "all"
          return yield* insert(makeKeyV2(ids, mode), {
            workspaceId,
            version: 2,
            name: input.name,
            mode,
            scopes: scopes.filter((scope) => chosen === "all" || chosen.includes(scope)),
            numberIds: numberIds as ReadonlyArray<NumberId> | null,
            expiresAt: input.expires_in == null ? null : now + lifetimes[input.expires_in],
            createdAt: now,
          })
        })

      const createV1 = (workspaceId: WorkspaceId, body: unknown) =>
        Effect.gen(function* () {
          yield* Effect.fromResult(decodeV1(body))
          const made = (yield* store.list(workspaceId)).filter((key) => key.version === 1).length
          return yield* insert(makeKeyV1(ids), {
            workspaceId,
            version: 1,
            name: `API Key ${made + 1}`,
            mode: "live",
            scopes,
            numberIds: null,
            expiresAt: null,
            createdAt: yield* Clock.currentTimeMillis,
          })
        })

      const isVersion1 = (body: unknown) =>
        typeof body === "object" && body !== null && Object.hasOwn(body, "version")
          ? (body as { readonly version: unknown }).version === 1
          : false

      return Keys.of({
        create: Effect.fn("Keys.create")(function* (role, id, body) {
          const workspace = yield* workspaces.require(id)
          if (isVersion1(body)) {
            yield* requireRole(role, "keys_v1")
            return yield* createV1(workspace.id, body)
          }
          yield* requireRole(role, "keys_v2")
          return yield* createV2(workspace.id, body)
        }),
        list: Effect.fn("Keys.list")(function* (role, id) {
          const workspace = yield* workspaces.require(id)
          yield* requireRole(role, "keys_v1")
          const visible = (key: ApiKey) => key.version === 1 || may(role, "keys_v2")
          return { data: (yield* store.list(workspace.id)).filter(visible).map(keyJson) }
        }),
        revoke: Effect.fn("Keys.revoke")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "keys_v1")
          const key = (yield* store.list(workspace.id)).find((each) => each.id === id)
          if (key === undefined || (key.version === 1 && key.revokedAt !== null)) {
            return yield* refuse("key_not_found")
          }
          yield* requireRole(role, key.version === 1 ? "keys_v1" : "keys_v2")
          yield* store.revoke(workspace.id, key.id, yield* Clock.currentTimeMillis)
          return key.version === 1
            ? { id: key.id, deleted: true as const }
            : { id: key.id, revoked: true as const }
        }),
      })
    }),
  )
}
