/**
 * The records that a test of a store needs: workspaces, keys, numbers and messages with defaults
 * for everything that the test does not name. Each builder creates separate records, so one store
 * serves many tests; unique values come from a counter.
 */
import { assert } from "@effect/vitest"
import { keyLimit, unlimitedPlan, Store } from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceQuery,
  Admits,
  ApiKey,
  Contact,
  EventId,
  Abandoned,
  IdempotencyClaim,
  KeyId,
  MediaFile,
  MediaId,
  Message,
  MessageId,
  Mode,
  NewKey,
  NewMessage,
  NewWorkspace,
  Phone,
  Plan,
  QuotaLimit,
  SendingNumber,
  TransportId,
  Workspace,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Random } from "effect"
import { day, hour, minute, noon as usualNoon, second } from "../world/builders.ts"
import { at, only, present } from "./Expect.ts"

export { day, hour, minute, second as oneSecond }

/** The usual time, within its second: stores keep milliseconds. */
export const noon = usualNoon + 250

let drawn = 0
/** A phone number unique in this process. */
export const fresh = (): number => ++drawn

let eras = 0
/** From here on the tests run on another, unused store. */
export const anotherStore = (): void => {
  eras = 0
}
/**
 * A moment long before everything that any earlier test of this process put into the store: for
 * queries of the whole store's earliest work.
 */
export const anEra = (): number => noon - ++eras * 100 * day

/** A phone unique in this process. */
export const aPhone = (): Phone => `+1555${String(fresh()).padStart(7, "0")}` as Phone

export const aTransportId = (): TransportId =>
  fresh().toString(16).toUpperCase().padStart(20, "0") as TransportId

export const anEventId = (): EventId => `evt_${String(fresh()).padStart(24, "0")}` as EventId

/** A SHA-256 in hexadecimal, as far as a store can tell. */
export const aHash = (): string => fresh().toString(16).padStart(64, "0")

/** A random integer from 0 up to, not including, `bound`; from the test's seed. */
export const below = (bound: number) => Random.nextIntBetween(0, bound, { halfOpen: true })

export const aPlan = (messagesRemaining: number | null): Plan => ({
  ...unlimitedPlan,
  name: "Plan",
  messagesRemaining,
})

/** Whether requests with the workspace's keys count, whatever their version. */
export const admitsAll: Admits = { v1: true, v2: true }
export const admitsNone: Admits = { v1: false, v2: false }

export const aWorkspace = (overrides: Partial<NewWorkspace> & { readonly admits?: Admits } = {}) =>
  Effect.gen(function* () {
    const { admits, ...rest } = overrides
    const store = (yield* Store).workspaces
    return yield* store.insert(
      {
        name: "Workspace",
        demo: false,
        accountDisabled: false,
        apiV2Enabled: true,
        plan: unlimitedPlan,
        retentionDays: null,
        createdAt: noon,
        ...rest,
      },
      admits ?? admitsAll,
    )
  })

/** A workspace as a store returns it, for tests without one. */
export const aStoredWorkspace = (overrides: Partial<Workspace> = {}): Workspace => ({
  id: 1 as WorkspaceId,
  name: "Workspace",
  demo: false,
  accountDisabled: false,
  apiV2Enabled: true,
  plan: unlimitedPlan,
  retentionDays: null,
  createdAt: 0,
  deletedAt: null,
  ...overrides,
})

/** A key of that workspace as a store returns it. */
export const aStoredKey = (overrides: Partial<ApiKey> = {}): ApiKey => ({
  id: 5 as KeyId,
  workspaceId: 1 as WorkspaceId,
  version: 2,
  name: "Key",
  mode: "live",
  scopes: ["messages:send", "messages:read"],
  numberIds: null,
  expiresAt: null,
  last4: "AAAA",
  createdAt: 0,
  lastUsedAt: null,
  lastUsedIp: null,
  revokedAt: null,
  ...overrides,
})

export interface IssuedKey {
  readonly key: ApiKey
  readonly hash: string
}

export const aNewKey = (workspaceId: WorkspaceId, overrides: Partial<NewKey> = {}): NewKey => ({
  workspaceId,
  version: 2,
  name: "Key",
  mode: "live",
  scopes: ["messages:send", "messages:read"],
  numberIds: null,
  expiresAt: null,
  last4: "wxyz",
  createdAt: noon,
  hash: aHash(),
  ...overrides,
})

export const aKey = (workspaceId: WorkspaceId, overrides: Partial<NewKey> = {}) =>
  Effect.gen(function* () {
    const store = (yield* Store).workspaces
    const newKey = aNewKey(workspaceId, overrides)
    const key = yield* store.insertKey(newKey, keyLimit)
    const issued: IssuedKey = { key: present(key), hash: newKey.hash }
    return issued
  })

export const aNumber = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<SendingNumber, "id" | "workspaceId">> = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).numbers
    return yield* store.insert({
      workspaceId,
      mode: "live",
      phone: aPhone().slice(1),
      label: "",
      platform: "whatsapp",
      status: "connected",
      loginMethod: "qr",
      createdAt: noon,
      ...overrides,
    })
  })

/** Reason for a failed linking attempt. */
export const abandoned: Abandoned = { at: noon, reason: "link_expired" }

export const someNumbers = (workspaceId: WorkspaceId, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => aNumber(workspaceId))

/** A workspace with one connected WhatsApp number, as most tests need it. */
export const aStage = (
  overrides: { readonly plan?: Plan | null; readonly createdAt?: number } = {},
) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspace(overrides)
    const number = yield* aNumber(workspace.id, { createdAt: workspace.createdAt })
    return { workspace, number }
  })

export const aContact = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<Contact, "id" | "workspaceId">> = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).workspaces
    const inserted = yield* store.insertContact({
      workspaceId,
      name: "Contact",
      phone: overrides.username === undefined ? aPhone() : null,
      username: null,
      createdAt: noon,
      ...overrides,
    })
    if (inserted._tag === "Inserted") return inserted.contact
    return yield* Effect.die(new Error("the workspace has such a contact"))
  })

export const aNewMediaFile = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<MediaFile, "id" | "workspaceId">> = {},
): Omit<MediaFile, "id"> => ({
  workspaceId,
  mode: "live",
  fileName: "photo.png",
  type: "image",
  mimeType: "image/png",
  size: 1024,
  storageKey: `file-${fresh()}`,
  createdAt: noon,
  ...overrides,
})

/** A file in the directory. */
export const aMediaFile = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<MediaFile, "id" | "workspaceId">> = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).media
    const file = aNewMediaFile(workspaceId, overrides)
    const reserved = yield* store.reserve(file, Number.MAX_SAFE_INTEGER)
    const id = reserved._tag === "Reserved" ? reserved.id : (0 as MediaId)
    assert.isNull(yield* store.commit(id, null, file.createdAt))
    const mediaFile: MediaFile = { ...file, id }
    return mediaFile
  })

export const aNewMessage = (
  number: SendingNumber,
  overrides: Partial<Omit<NewMessage, "workspaceId">> = {},
): NewMessage => ({
  workspaceId: number.workspaceId,
  mode: "live",
  from: { id: number.id, phone: number.phone, platform: number.platform },
  phoneAtAcceptance: number.phone,
  to: { kind: "phone", phone: aPhone(), contactId: null },
  text: "Hello",
  media: null,
  foundMediaType: null,
  sendAt: null,
  expiresAt: null,
  createdAt: noon,
  dueAt: noon,
  transportId: aTransportId(),
  callbackUrl: null,
  reference: null,
  campaign: null,
  replyTo: null,
  ...overrides,
})

/** The default quota of tests that do not name it. */
export const roomy: QuotaLimit = { messages: 1_000_000, windowMillis: day }

export interface AcceptanceOptions {
  /** Number of messages. Default: 1. */
  readonly count?: number
  readonly mode?: Mode
  readonly now?: number
  readonly sendAt?: number | null
  readonly expiresAt?: number | null
  readonly limit?: QuotaLimit
  /** Allowance to take. Default: all live messages. */
  readonly allowance?: number
  readonly idempotency?: IdempotencyClaim | null
  /** Properties of each message. */
  readonly message?: Partial<
    Pick<NewMessage, "to" | "text" | "media" | "callbackUrl" | "reference" | "replyTo">
  >
}

export const anAcceptance = (
  number: SendingNumber,
  options: AcceptanceOptions = {},
): Acceptance => {
  const count = options.count ?? 1
  const mode = options.mode ?? "live"
  const now = options.now ?? noon
  const sendAt = options.sendAt ?? null
  const dueAt = sendAt ?? now
  return {
    now,
    workspaceId: number.workspaceId,
    numberId: number.id,
    mode,
    messages: Array.from({ length: count }, () =>
      aNewMessage(number, {
        ...options.message,
        mode,
        sendAt,
        expiresAt: options.expiresAt ?? null,
        createdAt: now,
        dueAt,
      }),
    ),
    allowance: options.allowance ?? (mode === "live" ? count : 0),
    quota: mode === "live" ? { plannedAt: dueAt, count, limit: options.limit ?? roomy } : null,
    idempotency: options.idempotency ?? null,
  }
}

/** A new message with an id from the store. */
export const waiting = (message: NewMessage, id: MessageId): Message => ({
  ...message,
  id,
  state: "waiting",
  sentAt: null,
  error: null,
})

export const accept = (acceptance: Acceptance) =>
  Store.use(({ messages: store }) => store.accept(acceptance))

/** Accepts and returns the waiting messages; fails the test when a guard broke. */
export const accepted = (number: SendingNumber, options: AcceptanceOptions = {}) =>
  Effect.gen(function* () {
    const acceptance = anAcceptance(number, options)
    const outcome = yield* accept(acceptance)
    assert.strictEqual(outcome._tag, "Accepted")
    const messageIds = outcome._tag === "Accepted" ? outcome.ids : []
    assert.lengthOf(messageIds, acceptance.messages.length)
    return acceptance.messages.map((message, index) => waiting(message, at(messageIds, index)))
  })

export const aMessage = (number: SendingNumber, options: Omit<AcceptanceOptions, "count"> = {}) =>
  Effect.map(accepted(number, options), only)

export const aClaim = (
  keyId: IdempotencyClaim["keyId"],
  overrides: Partial<Omit<IdempotencyClaim, "keyId">> = {},
): IdempotencyClaim => ({
  keyId,
  key: `key ${fresh()}`,
  fingerprint: aHash(),
  token: `token ${fresh()}`,
  ...overrides,
})

export const aQuery = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<AcceptanceQuery, "workspaceId">> = {},
): AcceptanceQuery => ({
  workspaceId,
  mode: "live",
  now: noon,
  from: null,
  phones: [],
  contactIds: [],
  chatIds: [],
  replyTo: null,
  mediaId: null,
  exactQuota: null,
  idempotency: null,
  ...overrides,
})
