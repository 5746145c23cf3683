/** Creates, lists and revokes API keys (contract: Keys). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Refusal, refuse } from "../model/Refusal.ts"
import type { Code, Failure, StoreUnavailable } from "../model/Refusal.ts"
import { Ids } from "../model/Ids.ts"
import type { KeyId, NumberId, WorkspaceId } from "../model/Ids.ts"
import { logThrottled } from "./logThrottled.ts"
import type { NumberStore } from "../store/NumberStore.ts"
import { isVisibleTo } from "../model/SendingNumber.ts"
import { described, inputDecoder, nameUpTo } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import {
  dayMillis,
  keyLimit,
  makeKeyV1,
  makeKeyV2,
  allScopes,
  namesChatScope,
  scopes,
  withoutChatScopes,
  minuteStart,
  wrongKeysPerMinute,
  dayStart,
  keyRefusal,
  bearerToken,
  isKeyV1,
  isKeyV2,
  rateState,
  rateRefusal,
  Caller,
  rateRefusalV1,
} from "../model/Auth.ts"
import type { KeyStore, ApiKey, KeyCaller, RateState, Admitted, Scope } from "../model/Auth.ts"
import { hashSecret, sameSecret } from "../model/Secrets.ts"
import { may, requireRole, refusalV1, refusalV2, workspaceOfClient } from "../model/Workspace.ts"
import type { Role, WorkspaceRefusal } from "../model/Workspace.ts"
import { makeConversationCheck } from "./Conversations.ts"
import { Workspaces } from "./Workspaces.ts"
import ipaddr from "ipaddr.js"
import { sharedLimits } from "../model/Bulkhead.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

/** Lifetimes of keys (contract: Keys). */
const lifetimes = { "30d": 30 * dayMillis, "90d": 90 * dayMillis, "1y": 365 * dayMillis } as const

/** Members of `scopes` and of `numberIds`, duplicates included. */
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

const keyNaming = <const Scopes extends ReadonlyArray<Scope>>(granted: Scopes) =>
  Schema.Struct({
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
          Schema.Array(Schema.Literals(granted)).check(
            notEmpty("must name a scope"),
            Schema.isMaxLength(maximumScopes),
          ),
        ]),
      ),
      "What the key may do.",
      { default: "all" },
    ),
    numberIds: described(
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
    expiresIn: described(
      Schema.optionalKey(Schema.NullOr(Schema.Literals(["30d", "90d", "1y"]))),
      "30, 90 or 365 days; null for never.",
      { default: null },
    ),
  })

const KeyV2Body = keyNaming(allScopes).annotate({ identifier: "CreateKeyV2" })

/** For the API document; each version's decoder reports problems. */
export const KeyBody = Schema.Union([KeyV1Body, KeyV2Body]).annotate({
  identifier: "CreateKey",
  description: "A version 1 key takes `version` alone; a version 2 key needs a name.",
})

const decodeV1 = inputDecoder(KeyV1Body)
const listsOfKey = {
  lists: { scopes: { most: maximumScopes }, numberIds: { most: maximumNumbers } },
}
const decodeV2 = inputDecoder(keyNaming(scopes), listsOfKey)
const decodeWithChats = inputDecoder(KeyV2Body, listsOfKey)

/** A key to create. */
export type CreateKey = CommandOf<typeof KeyBody.Encoded>

/** A key that was just created. */
export interface NewApiKey {
  readonly record: ApiKey
  /** The full key; stored nowhere. */
  readonly key: string
}

/** What makes keys. */
interface KeyWork {
  readonly store: KeyStore
  readonly numbers: NumberStore
  readonly ids: Ids["Service"]
  readonly hasConversations: Effect.Success<typeof makeConversationCheck>
}

type KeyToMake = Omit<ApiKey, "id" | "last4" | "lastUsedAt" | "lastUsedIp" | "revokedAt">

const insert = ({ store }: KeyWork, text: string, key: KeyToMake) =>
  store.insertKey({ ...key, hash: hashSecret(text), last4: text.slice(-4) }, keyLimit)

const createV2 = Effect.fnUntraced(function* createV2(
  keys: KeyWork,
  workspaceId: WorkspaceId,
  command: CreateKey,
) {
  const { hasConversations, ids, numbers } = keys
  const hears = yield* hasConversations(true, workspaceId)
  const input = yield* Effect.fromResult((hears ? decodeWithChats : decodeV2)(command))
  const mode = input.mode ?? "live"
  const numberIds = input.numberIds == null ? null : [...new Set(input.numberIds)]
  for (const id of numberIds ?? []) {
    const found = yield* numbers.get(workspaceId, id as NumberId)
    if (found === null || !isVisibleTo(mode, found)) {
      return yield* refuse("number_not_found", { field: "numberIds" })
    }
  }
  const now = yield* Clock.currentTimeMillis
  const chosen = input.scopes ?? "all"
  const text = makeKeyV2(ids, mode)
  const record = yield* insert(keys, text, {
    workspaceId,
    version: 2,
    name: input.name,
    mode,
    scopes: (hears ? allScopes : scopes).filter(
      (scope) => chosen === "all" || (chosen as ReadonlyArray<Scope>).includes(scope),
    ),
    numberIds: numberIds as ReadonlyArray<NumberId> | null,
    expiresAt: input.expiresIn == null ? null : now + lifetimes[input.expiresIn],
    createdAt: now,
  })
  return record === null ? yield* refuse("key_limit_reached") : { record, key: text }
})

const numberInName = (name: string): number => Number(/^API Key (\d+)$/.exec(name)?.[1] ?? 0)

const createV1 = Effect.fnUntraced(function* createV1(
  keys: KeyWork,
  workspaceId: WorkspaceId,
  command: CreateKey,
) {
  const { ids, store } = keys
  yield* Effect.fromResult(decodeV1(command))
  const text = makeKeyV1(ids)
  const made = Effect.map(store.listKeys(workspaceId), (all) =>
    all.filter(({ version }) => version === 1),
  )
  let known = yield* made
  while (true) {
    const number = Math.max(known.length, ...known.map(({ name }) => numberInName(name))) + 1
    const record = yield* insert(keys, text, {
      workspaceId,
      version: 1,
      name: `API Key ${number}`,
      mode: "live",
      scopes,
      numberIds: null,
      expiresAt: null,
      createdAt: yield* Clock.currentTimeMillis,
    })
    if (record !== null) return { record, key: text }
    // Another request may have taken the name meanwhile.
    const now = yield* made
    if (now.length === known.length) return yield* refuse("key_limit_reached")
    known = now
  }
})

/** Unchecked JSON, possibly null. */
const isVersion1 = (command: CreateKey | null) => command?.version === 1

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
    ): Effect.Effect<
      NewApiKey,
      Failure<WorkspaceCode | "validation_failed" | "key_limit_reached" | "number_not_found">
    >
    /** GET /workspaces/{id}/keys: those the role may see, oldest first, revoked ones included. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<ApiKey>, Failure<WorkspaceCode>>
    /**
     * DELETE /workspaces/{id}/keys/{key_id}: the key stops working at once. One that is revoked
     * stays so. Fails with `key_not_found`.
     */
    revoke(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: KeyId | undefined,
    ): Effect.Effect<ApiKey, Failure<WorkspaceCode | "key_not_found">>
  }
>()("core/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* make() {
      const store = (yield* Store).workspaces
      const workspaces = yield* Workspaces
      const hasConversations = yield* makeConversationCheck
      const keys: KeyWork = {
        store,
        numbers: (yield* Store).numbers,
        ids: yield* Ids,
        hasConversations,
      }
      /** As the workspace's keys show their scopes now. */
      const withPresentScopes = Effect.fnUntraced(function* withPresentScopes(
        all: ReadonlyArray<ApiKey>,
        workspaceId: WorkspaceId,
      ) {
        const matters = all.some((key) => namesChatScope(key.scopes))
        if (!matters || (yield* hasConversations(true, workspaceId))) return all
        return all.map(withoutChatScopes)
      })

      return Keys.of({
        create: Effect.fn("Keys.create")(function* create(role, id, command) {
          const first = isVersion1(command)
          const workspace = yield* workspaces.within(role, id, first ? "keys_v1" : "keys_v2")
          return yield* (first ? createV1 : createV2)(keys, workspace.id, command)
        }),
        list: Effect.fn("Keys.list")(function* list(role, id) {
          const workspace = yield* workspaces.within(role, id, "keys_v1")
          const visible = (key: ApiKey) => key.version === 1 || may(role, "keys_v2")
          const all = yield* withPresentScopes(yield* store.listKeys(workspace.id), workspace.id)
          return all.filter(visible)
        }),
        revoke: Effect.fn("Keys.revoke")(function* revoke(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "keys_v1")
          const key = (yield* store.listKeys(workspace.id)).find((each) => each.id === id)
          if (key === undefined) return yield* refuse("key_not_found")
          yield* requireRole(role, key.version === 1 ? "keys_v1" : "keys_v2")
          yield* store.revokeKey(workspace.id, key.id, yield* Clock.currentTimeMillis)
          return key
        }),
      })
    }),
  )
}

// The guard against wrong keys (contract: Wrong keys): wrong credentials of each address in the
// clock minute, and keys recently found unknown.
// It lives in this process's memory, so refusing costs no statement. Each server allows an address
// its 30, and a restart resets the count. That suffices: keys are too long to guess, and the guard
// only makes refusals cheap.

/** Interfaces with separate counts. */
type Api = "v1" | "v2" | "operator"

/**
 * How long an unknown key stays cached, in milliseconds: a key used before it was made works this
 * much later. Keys are random, so this does not happen by chance.
 */
const unknownKeyMillis = 10_000

/** Evicts the oldest entry when full. */
const makeRoom = (entries: Map<string, unknown>, max: number): void => {
  if (entries.size < max) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}

export const makeWrongKeys = () => {
  /** By interface, with the minute that they count. */
  const counted = new Map<Api, { readonly start: number; readonly byGroup: Map<string, number> }>()
  const unknownSince = new Map<string, number>()

  const ofMinute = (api: Api, now: number): Map<string, number> => {
    const start = minuteStart(now)
    const present = counted.get(api)
    if (present?.start === start) return present.byGroup
    const byGroup = new Map<string, number>()
    counted.set(api, { start, byGroup })
    return byGroup
  }

  return {
    /** Counts a wrong credential. Returns how many the address sent in this minute. */
    count: (api: Api, address: string, now: number): number => {
      const byGroup = ofMinute(api, now)
      const group = addressGroup(address)
      const count = (byGroup.get(group) ?? 0) + 1
      if (count === 1) makeRoom(byGroup, sharedLimits.wrongKeyAddresses.whole)
      byGroup.set(group, count)
      return count
    },
    /** Whether the address is already over the limit of this minute. */
    isExceeded: (api: Api, address: string, now: number): boolean =>
      (ofMinute(api, now).get(addressGroup(address)) ?? 0) > wrongKeysPerMinute,
    /** Whether the store recently did not know the key with that hash. */
    isUnknown: (hash: string, now: number): boolean => {
      const since = unknownSince.get(hash)
      if (since === undefined) return false
      // A clock that was set back must not extend the caching.
      if (now >= since && now < since + unknownKeyMillis) return true
      unknownSince.delete(hash)
      return false
    },
    /** Caches that the store does not know the key with that hash. */
    noteUnknown: (hash: string, now: number): void => {
      unknownSince.delete(hash)
      makeRoom(unknownSince, sharedLimits.unknownKeys.whole)
      unknownSince.set(hash, now)
    },
  }
}

/** Parts of an IPv6 address that make the /64. */
const networkParts = 4

/**
 * Addresses that count as one caller: all of an IPv6 /64, since one customer has all of it; an IPv4
 * address or any other text alone.
 */
export const addressGroup = (address: string): string => {
  if (!address.includes(":")) return address
  const [plain = ""] = address.split("%", 1)
  if (!ipaddr.IPv6.isValid(plain)) return address
  const parsed = ipaddr.IPv6.parse(plain)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, networkParts).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}

// Admission: from credentials to key and workspace, or a refusal in the order key, workspace, rate
// limit (contract: Order of checks). One round trip.

/** Credentials of a version 1 request (contract: Version 1: credentials). */
export interface CredentialsV1 {
  /** Null when the operation requires none. */
  readonly clientId: number | null
  readonly apiKey: string
  readonly clientAddress: string
}

const tooManyWrong = refuse("too_many_auth_failures", { retryAfter: 60 })

/** A request past key, workspace and rate limit. */
interface AdmittedCaller {
  readonly caller: KeyCaller
  readonly rate: RateState
}

/** What looks credentials up, and counts wrong ones. */
interface KeyGuard {
  readonly store: KeyStore
  readonly wrongKeys: ReturnType<typeof makeWrongKeys>
  readonly hasConversations: Effect.Success<typeof makeConversationCheck>
}

/** Counts a never issued credential, and refuses with `refusal` or the guard's. */
const wrong = Effect.fnUntraced(function* wrong<C extends Code>(
  { wrongKeys }: KeyGuard,
  api: Api,
  address: string,
  refusal: Refusal<C>,
): Effect.fn.Return<never, Refusal<C | "too_many_auth_failures">> {
  const count = wrongKeys.count(api, address, yield* Clock.currentTimeMillis)
  // Only an operator's address is locked out, and an unknown one never is.
  if (api === "operator" && address !== "" && count === wrongKeysPerMinute + 1) {
    const line = "address locked out: too many wrong operator tokens"
    yield* logThrottled(line, { address: addressGroup(address) }, "Warn")
  }
  return yield* Effect.fail(count > wrongKeysPerMinute ? tooManyWrong : refusal)
})

/** Loads a key, unless it is cached as unknown. */
const known = <A>(
  { wrongKeys }: KeyGuard,
  hash: string,
  now: number,
  request: Effect.Effect<A | null, StoreUnavailable>,
): Effect.Effect<A | null, StoreUnavailable> =>
  wrongKeys.isUnknown(hash, now)
    ? Effect.succeed(null)
    : Effect.map(request, (found) => {
        if (found === null) wrongKeys.noteUnknown(hash, now)
        return found
      })

const lookUp = Effect.fnUntraced(function* lookUp(
  guard: KeyGuard,
  token: string,
  clientAddress: string,
) {
  const now = yield* Clock.currentTimeMillis
  const hash = hashSecret(token)
  const query = {
    hash,
    version: 2,
    now,
    minuteStart: minuteStart(now),
    dayStart: dayStart(now),
    clientAddress,
  } as const
  return { now, admitted: yield* known(guard, hash, now, guard.store.admit(query)) }
})

const getRefusal = (
  { key, workspace }: Pick<Admitted, "key" | "workspace">,
  now: number,
): Refusal<WorkspaceRefusal | "api_key_expired"> | undefined => {
  const code = keyRefusal(key, now) ?? refusalV2(workspace)
  return code === undefined ? undefined : refuse(code)
}

const admitV2 = Effect.fnUntraced(function* admitV2(
  guard: KeyGuard,
  authorization: string | undefined,
  clientAddress: string,
  counted: ((rate: RateState) => void) | undefined,
) {
  const token = bearerToken(authorization)
  if (token === undefined) return yield* refuse("missing_api_key")
  if (isKeyV1(token)) return yield* wrong(guard, "v2", clientAddress, refuse("v1_key_on_v2"))
  if (!isKeyV2(token)) return yield* wrong(guard, "v2", clientAddress, refuse("invalid_api_key"))
  const { admitted, now } = yield* lookUp(guard, token, clientAddress)
  if (admitted === null) return yield* wrong(guard, "v2", clientAddress, refuse("invalid_api_key"))
  const refusal = getRefusal(admitted, now)
  if (refusal !== undefined) return yield* refusal
  const rate = rateState(admitted.count ?? { minute: 1, day: 1 }, now)
  counted?.(rate)
  const over = rateRefusal(rate)
  if (over !== undefined) return yield* over
  const { key, workspace } = admitted
  const isShort = namesChatScope(key.scopes) && !(yield* guard.hasConversations(true, workspace.id))
  return { caller: Caller.ofKey(isShort ? withoutChatScopes(key) : key, workspace), rate }
})

const notVersion1 = refuse("invalid_api_key", { message: "This is not a version 1 API key." })

const admitV1 = Effect.fnUntraced(function* admitV1(
  guard: KeyGuard,
  { apiKey, clientAddress, clientId }: CredentialsV1,
) {
  const invalid = notVersion1
  if (!isKeyV1(apiKey)) return yield* wrong(guard, "v1", clientAddress, invalid)
  const now = yield* Clock.currentTimeMillis
  const named = clientId === null ? null : workspaceOfClient(clientId)
  const hash = hashSecret(apiKey)
  const query = {
    hash,
    workspaceId: named,
    now,
    minuteStart: minuteStart(now),
    clientAddress,
  }
  const admitted = yield* known(guard, hash, now, guard.store.admitV1(query))
  if (admitted === null) return yield* wrong(guard, "v1", clientAddress, invalid)
  const { count, key, workspace } = admitted
  if (keyRefusal(key, now) !== undefined || (named !== null && named !== workspace.id)) {
    return yield* invalid
  }
  const code = refusalV1(workspace)
  if (code !== undefined) return yield* code === "api_key_revoked" ? invalid : refuse(code)
  const over = rateRefusalV1(count ?? 1, now)
  if (over !== undefined) return yield* over
  return Caller.ofKey(key, workspace)
})

const guardOperators = Effect.fnUntraced(function* guardOperators<A, C extends Code>(
  guard: KeyGuard,
  clientAddress: string | null,
  find: Effect.Effect<A | null, StoreUnavailable>,
  refusal: Refusal<C>,
): Effect.fn.Return<A, Failure<C | "too_many_auth_failures">> {
  const now = yield* Clock.currentTimeMillis
  if (clientAddress !== null && guard.wrongKeys.isExceeded("operator", clientAddress, now)) {
    return yield* tooManyWrong
  }
  return (yield* find) ?? (yield* wrong(guard, "operator", clientAddress ?? "", refusal))
})

const checkOperatorToken = (
  guard: KeyGuard,
  token: string,
  operatorToken: string,
  address: string | null,
) =>
  Effect.asVoid(
    guardOperators(
      guard,
      address,
      Effect.sync(() => (sameSecret(token, operatorToken) ? true : null)),
      refuse("invalid_operator_token"),
    ),
  )

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Admits a version 2 request for one operation. Fails with the refusals of keys and workspaces,
     * and with `rate_limited`; `counted` then also gets the rate.
     */
    admitV2(
      authorization: string | undefined,
      clientAddress: string,
      counted?: (rate: RateState) => void,
    ): Effect.Effect<
      AdmittedCaller,
      Failure<
        | WorkspaceRefusal
        | "missing_api_key"
        | "v1_key_on_v2"
        | "invalid_api_key"
        | "api_key_expired"
        | "too_many_auth_failures"
        | "rate_limited"
      >
    >
    /**
     * For a version 2 request that ends in 404 or 405 anyway, even over the limit: counts it for a
     * valid key, and counts no wrong key.
     */
    noteV2(
      authorization: string | undefined,
      clientAddress: string,
    ): Effect.Effect<RateState | null, StoreUnavailable>
    /**
     * Admits a version 1 request. Fails with `invalid_api_key` (malformed, unknown, of version 2,
     * deleted, or of another workspace than `clientId` names), `too_many_auth_failures`,
     * `account_disabled`, `demo_account`, `rate_limited`.
     */
    admitV1(
      credentials: CredentialsV1,
    ): Effect.Effect<
      KeyCaller,
      Failure<
        | Exclude<WorkspaceRefusal, "api_v2_not_enabled" | "api_key_revoked">
        | "invalid_api_key"
        | "too_many_auth_failures"
        | "rate_limited"
      >
    >
    /**
     * What an admitted caller does. Once its workspace is deleted, every refusal that is not about
     * fields is `api_key_revoked`, of version 1 `invalid_api_key`.
     */
    stillAdmitted<A, E, R>(
      caller: Pick<Caller, "key" | "workspaceId">,
      work: Effect.Effect<A, E, R>,
    ): Effect.Effect<A, E | Failure<"api_key_revoked" | "invalid_api_key">, R>
    /**
     * Checks the operator's token and counts wrong ones by address. An address over the limit is
     * refused without comparing, even a right token, so it learns nothing. From an unknown address
     * (null) the right token always passes, or strangers could lock the operator out.
     */
    admitOperator(
      authorization: string | undefined,
      operatorToken: string,
      clientAddress: string | null,
    ): Effect.Effect<
      void,
      Failure<"missing_operator_token" | "invalid_operator_token" | "too_many_auth_failures">
    >
    /** As `admitOperator`, for a token that came without a header. */
    checkOperatorToken(
      token: string,
      operatorToken: string,
      clientAddress: string | null,
    ): Effect.Effect<void, Failure<"invalid_operator_token" | "too_many_auth_failures">>
    /**
     * Guards a secret that opens the operator API: `find` runs only for an address below the limit,
     * and null counts as a wrong secret, refused with `refusal`.
     */
    guardOperators<A, C extends Code>(
      clientAddress: string | null,
      find: Effect.Effect<A | null, StoreUnavailable>,
      refusal: Refusal<C>,
    ): Effect.Effect<A, Failure<C | "too_many_auth_failures">>
  }
>()("core/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* make() {
      const store = (yield* Store).workspaces
      const wrongKeys = makeWrongKeys()
      const guard: KeyGuard = {
        store,
        wrongKeys,
        hasConversations: yield* makeConversationCheck,
      }

      return Admission.of({
        admitV2: Effect.fn("Admission.admitV2")((authorization, clientAddress, counted) =>
          admitV2(guard, authorization, clientAddress, counted),
        ),
        noteV2: Effect.fn("Admission.noteV2")(function* noteV2(authorization, clientAddress) {
          const token = bearerToken(authorization)
          if (token === undefined || !isKeyV2(token)) return null
          const { admitted, now } = yield* lookUp(guard, token, clientAddress)
          if (admitted === null || getRefusal(admitted, now) !== undefined) return null
          return admitted.count === null ? null : rateState(admitted.count, now)
        }),
        admitV1: Effect.fn("Admission.admitV1")((credentials) => admitV1(guard, credentials)),
        stillAdmitted: ({ key, workspaceId }, work) =>
          Effect.tapError(work, (error) =>
            error instanceof Refusal && error.status === 400
              ? Effect.void
              : Effect.flatMap(store.get(workspaceId), (found) => {
                  if (found !== null) return Effect.void
                  return Effect.fail(key?.version === 1 ? notVersion1 : refuse("api_key_revoked"))
                }),
          ),
        admitOperator: Effect.fn("Admission.admitOperator")(
          function* admitOperator(authorization, operatorToken, clientAddress) {
            const token = bearerToken(authorization)
            if (token === undefined) return yield* refuse("missing_operator_token")
            yield* checkOperatorToken(guard, token, operatorToken, clientAddress)
          },
        ),
        checkOperatorToken: (token, operatorToken, clientAddress) =>
          checkOperatorToken(guard, token, operatorToken, clientAddress),
        guardOperators: (clientAddress, find, refusal) =>
          guardOperators(guard, clientAddress, find, refusal),
      })
    }),
  )
}
