/** Creates, lists and revokes API keys (contract: Keys). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import { Ids } from "../Ids.ts"
import type { KeyId, NumberId, WorkspaceId } from "../Ids.ts"
import { NumberStore } from "../number/NumberStore.ts"
import { isSeenBy } from "../number/SendingNumber.ts"
import { described, inputDecoder, nameUpTo } from "../request/Input.ts"
import { dayMillis, keyLimit, KeyStore, makeKeyV1, makeKeyV2, scopes } from "./Auth.ts"
import type { ApiKey } from "./Auth.ts"
import { hashSecret } from "../secret/Secrets.ts"
import { may, requireRole } from "../workspace/Workspace.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"

/** Lifetimes of keys (contract: Keys). */
const lifetimes = { "30d": 30 * dayMillis, "90d": 90 * dayMillis, "1y": 365 * dayMillis } as const

/** Members of `scopes` and of `number_ids`, duplicates included. */
const maximumScopes = 100
const maximumNumbers = 1000

const notEmpty = (problem: string) =>
  Schema.makeFilter(
    (members: ReadonlyArray<unknown>) => (members.length > 0 ? undefined : problem),
    { toJsonSchema: () => ({ minItems: 1 }) },
  )

const KeyV1Body = Schema.Struct({ version: Schema.Literal(1) }).annotate({
  identifier: "CreateKeyV1",
})

const KeyV2Body = Schema.Struct({
  version: Schema.Literal(2),
  name: described(nameUpTo(50), "Not blank."),
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
}).annotate({ identifier: "CreateKeyV2" })

/** For the API document; each version's decoder reports problems. */
export const KeyBody = Schema.Union([KeyV1Body, KeyV2Body]).annotate({
  identifier: "CreateKey",
  description: "A version 1 key takes `version` alone; a version 2 key needs a name.",
})

const decodeV1 = inputDecoder(KeyV1Body)
const decodeV2 = inputDecoder(KeyV2Body, {
  lists: { scopes: { most: maximumScopes }, number_ids: { most: maximumNumbers } },
})

/** A key to create, named as in the body. */
export type CreateKey = typeof KeyBody.Encoded

/** A key that was just created. */
export interface NewApiKey {
  readonly record: ApiKey
  /** The full key; stored nowhere. */
  readonly key: string
}

export class Keys extends Context.Service<
  Keys,
  {
    /**
     * POST /workspaces/{id}/keys. Fails with `workspace_not_found`, `role_required`,
     * `key_limit_reached`, `number_not_found`.
     */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreateKey,
    ): Effect.Effect<NewApiKey, Failure>
    /** GET /workspaces/{id}/keys: those the role may see, oldest first, revoked ones included. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<ApiKey>, Failure>
    /**
     * DELETE /workspaces/{id}/keys/{key_id}: the key stops working at once; a version 1 key is then
     * unknown. Fails with `key_not_found`.
     */
    revoke(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: KeyId | undefined,
    ): Effect.Effect<ApiKey, Failure>
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
          const record = yield* store.insert(
            { ...key, hash: hashSecret(text), last4: text.slice(-4) },
            keyLimit,
          )
          return record === null ? yield* refuse("key_limit_reached") : { record, key: text }
        })

      const createV2 = (workspaceId: WorkspaceId, command: CreateKey) =>
        Effect.gen(function* () {
          const input = yield* Effect.fromResult(decodeV2(command))
          const mode = input.mode ?? "live"
          const numberIds = input.number_ids == null ? null : [...new Set(input.number_ids)]
          for (const id of numberIds ?? []) {
            const found = yield* numbers.get(workspaceId, id as NumberId)
            if (found === null || !isSeenBy(mode, found)) {
              return yield* refuse("number_not_found", { field: "number_ids" })
            }
          }
          const now = yield* Clock.currentTimeMillis
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

      const createV1 = (workspaceId: WorkspaceId, command: CreateKey) =>
        Effect.gen(function* () {
          yield* Effect.fromResult(decodeV1(command))
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

      /** Unchecked JSON, possibly null. */
      const isVersion1 = (command: CreateKey | null) => command?.version === 1

      return Keys.of({
        create: Effect.fn("Keys.create")(function* create(role, id, command) {
          const first = isVersion1(command)
          const workspace = yield* workspaces.within(role, id, first ? "keys_v1" : "keys_v2")
          return yield* (first ? createV1 : createV2)(workspace.id, command)
        }),
        list: Effect.fn("Keys.list")(function* list(role, id) {
          const workspace = yield* workspaces.within(role, id, "keys_v1")
          const visible = (key: ApiKey) => key.version === 1 || may(role, "keys_v2")
          return (yield* store.list(workspace.id)).filter(visible)
        }),
        revoke: Effect.fn("Keys.revoke")(function* revoke(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "keys_v1")
          const key = (yield* store.list(workspace.id)).find((each) => each.id === id)
          if (key === undefined || (key.version === 1 && key.revokedAt !== null)) {
            return yield* refuse("key_not_found")
          }
          yield* requireRole(role, key.version === 1 ? "keys_v1" : "keys_v2")
          yield* store.revoke(workspace.id, key.id, yield* Clock.currentTimeMillis)
          return key
        }),
      })
    }),
  )
}
