/** A workspace's numbers, as operators manage them (contract: Workspace numbers). */
import { Clock, Context, Effect, Layer, Redacted, Result, Schema, SchemaIssue } from "effect"
import { problem, refuse } from "../model/Refusal.ts"
import type { Code, Failure, Problem, Refusal, StoreUnavailable } from "../model/Refusal.ts"
import { Ids, numberEventIds } from "../model/Ids.ts"
import type { NumberId, WorkspaceId } from "../model/Ids.ts"
import { dailyQuota, DailyQuota } from "../model/Message.ts"
import type { QuotaLimit } from "../model/Message.ts"
import { logThrottled } from "./logThrottled.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../model/Recipient.ts"
import {
  decoded,
  described,
  inputDecoder,
  InstantInput,
  integerBetween,
  parsed,
  optionalNameUpTo,
  textBetween,
} from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { Secrets } from "../model/Secrets.ts"
import type { CannotOpen } from "../model/Secrets.ts"
import { formatInstant, sleep } from "../model/Time.ts"
import { NumberOwnership } from "./NumberOwnership.ts"
import type { SessionStore } from "../model/Shards.ts"
import { TelegramLogin } from "../store/Transport.ts"
import type { AfterSecret, TelegramLoginRequest, TelegramLoginView } from "../store/Transport.ts"
import { may } from "../model/Workspace.ts"
import type { Role } from "../model/Workspace.ts"
import { makeOrphaned, Workspaces } from "./Workspaces.ts"
import { makeConnectionCallbacks, makeConnectReader } from "./Connections.ts"
import type { ConnectView } from "../model/Linking.ts"
import { toConnection, isShutOut } from "../store/NumberStore.ts"
import type {
  NumberStore,
  Connection,
  ConnectionFacts,
  NumberChange,
  NumberSettings,
  SealedProxy,
} from "../store/NumberStore.ts"
import { StartingPacing, unpaced } from "../model/Pacing.ts"
import type { Pacing } from "../model/Pacing.ts"
import { makeProxyCheck } from "./ProxyCheck.ts"
import type { ProxyCheck } from "./ProxyCheck.ts"
import { pauseFor, platforms } from "../model/SendingNumber.ts"
import type { ConnectionReason, SendingNumber } from "../model/SendingNumber.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

// Proxies for single numbers, so that a machine's numbers need not share its address. The URL holds
// a password: it is stored sealed, and only the number's transport reads it.

/** Protocols with their default ports. */
const protocols: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

const maxCharacters = 2000

/** SOCKS 5 encodes the length of user name and password in one byte each. */
const maxSocksBytes = 255

interface ProxyUrl {
  readonly href: string
  readonly host: string
  readonly port: number
}

/** The rule for a proxy's URL: a refusal says "must be" and this. */
const proxyUrlRule =
  "http://, https:// or socks5:// with a host and, where the proxy asks for them, credentials"

const encoder = new TextEncoder()

/** Whether the protocol can carry that part of the credentials. */
const canBeGiven = (escaped: string, protocol: string): boolean => {
  const text = Result.try(() => decodeURIComponent(escaped))
  return (
    Result.isSuccess(text) &&
    (protocol !== "socks5:" || encoder.encode(text.success).length <= maxSocksBytes)
  )
}

/**
 * Parses a proxy's URL; undefined if invalid. Private hosts are allowed: an operator names them.
 */
export const parseProxyUrl = (text: string): ProxyUrl | undefined => {
  // The URL standard silently drops or rewrites these.
  if (text.length > maxCharacters || /[\p{Cc}\p{White_Space}\\]/u.test(text)) return undefined
  const url = URL.parse(text)
  const ownPort = url === null ? undefined : protocols[url.protocol]
  if (url === null || ownPort === undefined || url.hostname === "") return undefined
  if (!["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== "") return undefined
  // The URL standard leaves escapes in SOCKS hosts; no name has any.
  if (url.port === "0" || url.hostname.includes("%")) return undefined
  if (![url.username, url.password].every((part) => canBeGiven(part, url.protocol)))
    return undefined
  return {
    href: url.href,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? ownPort : Number(url.port),
  }
}

/** The place that the URL of a number's proxy is sealed for. */
export const proxyContext = (numberId: NumberId): string => `proxy of number ${numberId}`

/** Reads the proxy of a number in the clear. */
const makeProxyReader = Effect.gen(function* makeProxyReader() {
  const { numbers } = yield* Store
  const secrets = yield* Secrets
  return Effect.fnUntraced(function* readProxy(numberId: NumberId) {
    const settings = (yield* numbers.settings([numberId])).get(numberId)
    if (settings === undefined || settings.proxy === null) return null
    const { url } = settings.proxy
    return Redacted.make(yield* Effect.fromResult(secrets.open(proxyContext(numberId), url)))
  })
})

/** Proxies of numbers in the clear, for their transports alone. */
export class NumberProxies extends Context.Service<
  NumberProxies,
  {
    /** The URL with its credentials; null when the number has none, or is gone. */
    of(numberId: NumberId): Effect.Effect<Redacted.Redacted | null, StoreUnavailable | CannotOpen>
  }
>()("core/NumberProxies") {
  static readonly layerNone = Layer.succeed(NumberProxies, { of: () => Effect.succeed(null) })

  static readonly layer = Layer.effect(
    NumberProxies,
    Effect.map(makeProxyReader, (of) => NumberProxies.of({ of })),
  )
}

const LabelInput = optionalNameUpTo(100)

export const NumberBody = Schema.Struct({
  platform: Schema.Literals(platforms),
  phone: parsed("invalid_phone", parsePhone, phoneDescribed),
  label: described(Schema.optionalKey(LabelInput), "Display name.", { default: "" }),
  status: described(
    Schema.optionalKey(Schema.Literals(["connected", "disconnected"])),
    "Default: `connected`; with live transports `disconnected`, which alone is possible there.",
  ),
}).annotate({ identifier: "CreateNumber" })

const longestRest = 24 * 60 * 60 * 1000
const maxInWindow = 1_000_000

const restInput = Schema.optionalKey(Schema.NullOr(integerBetween(0, longestRest)))
const countInput = Schema.optionalKey(Schema.NullOr(integerBetween(1, maxInWindow)))

const PacingPatch = Schema.Struct({
  minIntervalMillis: described(restInput, "The rest after a message, at least."),
  jitterMillis: described(restInput, "Maximum random extra rest after each message."),
  perMinute: countInput,
  perHour: countInput,
  newRecipientsPerDay: described(
    countInput,
    "Recipients that the number never wrote to before, in any 24 hours.",
  ),
}).annotate({ identifier: "ChangePacing" })

const ProxyInput = decoded(
  Schema.String.annotate({ examples: ["socks5://user:password@192.0.2.10:1080"] }),
  (text): ProxyUrl | SchemaIssue.Issue =>
    parseProxyUrl(text) ?? new SchemaIssue.InvalidValue({ message: `must be ${proxyUrlRule}` }),
)

export const NumberPatch = Schema.Struct({
  label: Schema.optionalKey(LabelInput),
  pacing: described(Schema.optionalKey(PacingPatch), "Omitted limits stay; null removes a limit."),
  proxyUrl: described(
    Schema.optionalKey(Schema.NullOr(ProxyInput)),
    "URL of the connection's proxy (http, https, socks5 …); null for none. Never shown again: answers tell host and port.",
  ),
}).annotate({ identifier: "ChangeNumber" })

/** A number to add or change. */
export type CreateNumber = CommandOf<typeof NumberBody.Encoded>
export type ChangeNumber = CommandOf<typeof NumberPatch.Encoded>

const decodeBody = inputDecoder(NumberBody, { codes: ["invalid_phone"] })
const decodePatch = inputDecoder(NumberPatch)

/** A number with its settings. */
export interface OperatedNumber extends SendingNumber {
  readonly pacing: Pacing
  /** Its proxy, without credentials. */
  readonly proxy: { readonly host: string; readonly port: number } | null
}

/** A number as operators read it, with the codes to scan or type while it connects. */
export interface OperatedNumberView extends OperatedNumber {
  /** Null unless it is connecting, and for readers who may not link it. */
  readonly connect: ConnectView | null
}

const withSettings = (
  number: SendingNumber,
  settings: NumberSettings | undefined,
): OperatedNumber => {
  const { pacing, proxy } = settings ?? { pacing: null, proxy: null }
  return {
    ...number,
    pacing: pacing ?? unpaced,
    proxy: proxy === null ? null : { host: proxy.host, port: proxy.port },
  }
}

/**
 * Whether a new number may start connected: true for simulated phones; live numbers must be linked.
 */
export const ConnectedFromTheStart = Context.Reference<boolean>("core/ConnectedFromTheStart", {
  defaultValue: () => true,
})

interface NumberDefaults {
  readonly connectedFromTheStart: boolean
  readonly createdAt: number
}

/**
 * The number that a body describes; by default `connected`, if allowed. Fails with
 * `validation_failed` for a number that only linking connects; `field` is the path of its status.
 */
export const newNumber = (
  { label = "", phone, platform, status }: typeof NumberBody.Type,
  { connectedFromTheStart, createdAt }: NumberDefaults,
  field = "status",
): Result.Result<Omit<SendingNumber, "id" | "workspaceId">, Refusal<"validation_failed">> =>
  status === "connected" && !connectedFromTheStart
    ? Result.fail(
        refuse("validation_failed", {
          field,
          message: "A live number starts disconnected and is connected by linking it.",
        }),
      )
    : Result.succeed({
        mode: "live",
        phone: phoneDigits(phone),
        label,
        platform,
        status: status ?? (connectedFromTheStart ? "connected" : "disconnected"),
        loginMethod: "qr",
        createdAt,
      })

/** Makes `Numbers.connectionChanged`, for lower layers that connect numbers. */
export const makeConnectionChanged = Effect.gen(function* makeConnectionChanged() {
  const { numbers: store, queue: lanes } = yield* Store

  const wakeUp = yield* WakeUp
  const callbacks = yield* makeConnectionCallbacks
  const ids = yield* Ids

  return Effect.fn("Numbers.connectionChanged")(function* (
    id: NumberId,
    status: "connected" | "disconnected",
    phone: string | null,
    reason: ConnectionReason | null = null,
  ) {
    const now = yield* Clock.currentTimeMillis
    const pause = pauseFor(reason)
    const events = numberEventIds(ids, now)
    if (pause !== null) yield* lanes.pause(id, pause, now, events)
    const callback = yield* callbacks.of(id, status, phone)
    const noted = store.setStatus(id, status, phone ?? undefined, now, callback, reason, events)
    if (status === "disconnected") {
      const number = yield* commitAndWake(noted, wakeUp.wake("campaigns"))
      if (number !== null && reason === "logged_out") {
        yield* logThrottled("number disconnected: logged_out", { number: id }, "Warn")
      }
      return number
    }
    // Also when the store's answer was lost: the loops look.
    return yield* Effect.ensuring(
      noted,
      Effect.forEach(["lanes", "number_checks", "read_marks"] as const, wakeUp.wake, {
        discard: true,
      }),
    )
  })
})

const notFound = refuse("number_not_found", { inPath: true })

/** The change that a patch asks for, with its proxy sealed. */
const toChange = (
  secrets: Secrets["Service"],
  id: NumberId,
  { label, pacing, proxyUrl: proxy }: typeof NumberPatch.Type,
): NumberChange => {
  const sealed = ({ host, href, port }: ProxyUrl): SealedProxy => ({
    host,
    port,
    url: secrets.seal(proxyContext(id), href),
  })
  return {
    ...(label === undefined ? {} : { label }),
    ...(pacing === undefined ? {} : { pacing }),
    ...(proxy === undefined ? {} : { proxy: proxy === null ? null : sealed(proxy) }),
  }
}

export class Numbers extends Context.Service<
  Numbers,
  {
    /**
     * POST /workspaces/{id}/numbers. Fails with `number_exists` when a number of the workspace,
     * connected or not, has that phone on that platform; with `number_limit_reached` when the plan has
     * no room. Without a plan nothing limits them.
     */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreateNumber,
    ): Effect.Effect<
      SendingNumber,
      Failure<
        | WorkspaceCode
        | "validation_failed"
        | "invalid_phone"
        | "number_exists"
        | "number_limit_reached"
      >
    >
    /** GET /workspaces/{id}/numbers: oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<SendingNumber>, Failure<WorkspaceCode>>
    /**
     * GET /workspaces/{id}/numbers/{number_id}. A code links the account for anyone who has it, so
     * members see none. Fails with `number_not_found`.
     */
    get(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
    ): Effect.Effect<OperatedNumberView, Failure<WorkspaceCode | "number_not_found">>
    /** PATCH /workspaces/{id}/numbers/{number_id}. Fails with `number_not_found`. */
    update(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
      command: ChangeNumber,
    ): Effect.Effect<
      OperatedNumber,
      Failure<WorkspaceCode | "validation_failed" | "number_not_found">
    >
    /** DELETE: cancels its waiting messages, each with its event, before the answer. */
    remove(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
    ): Effect.Effect<NumberId, Failure<WorkspaceCode | "number_not_found">>
    /**
     * Applies a connection change that the transport reports. Messages of a logged-out number wait
     * until it reconnects; a banned or outdated one also needs a resume. Null when the number is
     * gone.
     */
    connectionChanged(
      id: NumberId,
      status: "connected" | "disconnected",
      phone: string | null,
      reason?: ConnectionReason | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  }
>()("core/Numbers") {
  static readonly layer = Layer.effect(
    Numbers,
    Effect.gen(function* make() {
      const store = (yield* Store).numbers
      const workspaces = yield* Workspaces
      const orphaned = yield* makeOrphaned
      const wakeUp = yield* WakeUp
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const startingPacing = yield* StartingPacing
      const secrets = yield* Secrets
      const readConnect = yield* makeConnectReader

      const operated = Effect.fnUntraced(function* operated(number: SendingNumber) {
        return withSettings(number, (yield* store.settings([number.id])).get(number.id))
      })

      return Numbers.of({
        create: Effect.fn("Numbers.create")(function* create(role, workspaceId, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const input = yield* Effect.fromResult(decodeBody(command))
          const number = yield* Effect.fromResult(
            newNumber(input, { connectedFromTheStart, createdAt: yield* Clock.currentTimeMillis }),
          )
          const created = { ...number, workspaceId: workspace.id }
          const max = workspace.plan?.maxNumbers ?? null
          const inserted = yield* commitAndWake(
            store.insertNew(created, startingPacing[input.platform], max),
            wakeUp.wake("campaigns"),
          )
          if (inserted._tag === "Inserted") return inserted.number
          if (inserted._tag === "Full") return yield* refuse("number_limit_reached")
          return yield* refuse("number_exists", {
            field: "phone",
            details: { numberId: inserted.id },
          })
        }),
        list: Effect.fn("Numbers.list")(function* list(role, workspaceId) {
          return yield* store.list((yield* workspaces.within(role, workspaceId, "reading")).id)
        }),
        get: Effect.fn("Numbers.get")(function* get(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "reading")
          const found = id === undefined ? null : yield* store.get(workspace.id, id)
          if (found === null) return yield* notFound
          const connect = may(role, "numbers") ? yield* readConnect(found) : null
          return { ...(yield* operated(found)), connect }
        }),
        update: Effect.fn("Numbers.update")(function* update(role, workspaceId, id, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const found = id === undefined ? null : yield* store.get(workspace.id, id)
          if (found === null) return yield* notFound
          const change = toChange(secrets, found.id, yield* Effect.fromResult(decodePatch(command)))
          const now = yield* Clock.currentTimeMillis
          const changed =
            Object.keys(change).length === 0
              ? found
              : yield* commitAndWake(
                  store.change(workspace.id, found.id, change, now),
                  change.pacing === undefined ? Effect.void : wakeUp.wake("lanes"),
                )
          if (changed === null) return yield* notFound
          return yield* operated(changed)
        }),
        remove: Effect.fn("Numbers.remove")(function* remove(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const now = yield* Clock.currentTimeMillis
          if (id === undefined) return yield* notFound
          const removed = yield* orphaned.removing(store.remove(workspace.id, id, now))
          return removed ? id : yield* notFound
        }),
        connectionChanged: yield* makeConnectionChanged,
      })
    }),
  )
}

// Operators' actions on a number: view its connection, pause, resume, log out (contract: Connection
// of a number, Pauses).

export const PauseBody = Schema.Struct({
  until: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "When the pause ends by itself, in the future; null: when it is resumed.",
    { default: null },
  ),
}).annotate({ identifier: "PauseNumber" })

/** Until when. */
export type PauseNumber = CommandOf<typeof PauseBody.Encoded>

const decodePause = inputDecoder(PauseBody, { codes: ["invalid_datetime"] })

/** How long a log-out waits for the worker, and how often it looks; in real time. */
const logOutMillis = 10_000
const lookMillis = 100

export interface NumberConnection extends Connection {
  readonly id: NumberId
  /** The name of the process that owns it; null for none. */
  readonly worker: string | null
}

/** A connection in a list of all. */
export interface ListedConnection extends NumberConnection {
  readonly quota: {
    /** Messages in the fullest 24 hours that a message of now would share. */
    readonly used: number
    readonly limit: number
    /** When one more message fits; null while it does. */
    readonly freeAt: number | null
  }
  /** Sent in each of the last 24 hours, oldest first. */
  readonly hours: ReadonlyArray<number>
}

/** The connections of a workspace. */
export interface ListedConnections {
  readonly connections: ReadonlyArray<ListedConnection>
  /** Whether the workspace has more numbers. */
  readonly truncated: boolean
}

/** How many numbers one list of connections has at most. */
const listedMax = 1000

/** A number as an operator names it, not yet looked up. */
type AddressedNumber = readonly [
  role: Role,
  workspaceId: WorkspaceId | undefined,
  id: NumberId | undefined,
]

/** What operators' requests about numbers need. */
interface Operations {
  readonly store: NumberStore
  readonly sessions: SessionStore
  readonly workspaces: Workspaces["Service"]
  readonly ownership: NumberOwnership["Service"]
  /** Whether numbers are simulated phones, which keep no connection. */
  readonly simulated: boolean
  readonly dailyLimit: QuotaLimit
}

const readFacts = Effect.fnUntraced(function* readFacts(
  { dailyLimit, store, workspaces }: Operations,
  [role, workspaceId, id]: AddressedNumber,
  duty: "numbers" | "reading" = "numbers",
): Effect.fn.Return<ConnectionFacts, Failure<WorkspaceCode | "number_not_found">> {
  const workspace = yield* workspaces.within(role, workspaceId, duty)
  const now = yield* Clock.currentTimeMillis
  const facts = id === undefined ? null : yield* store.connection(workspace.id, id, now, dailyLimit)
  return facts ?? (yield* notFound)
})

const connection = Effect.fnUntraced(function* connection(
  operations: Operations,
  ...number: AddressedNumber
): Effect.fn.Return<NumberConnection, Failure<WorkspaceCode | "number_not_found">> {
  const { ownership, simulated } = operations
  const facts = yield* readFacts(operations, number, "reading")
  const { id, mode } = facts.number
  // A test number has no remote.
  const poolsConnections = !simulated && mode === "live"
  const worker = yield* ownership.findOwner(id)
  const now = yield* Clock.currentTimeMillis
  return { ...toConnection(facts, now, poolsConnections), id, worker }
})

const listConnections = Effect.fnUntraced(function* listConnections(
  { ownership, dailyLimit, simulated, store, workspaces }: Operations,
  role: Role,
  workspaceId: WorkspaceId | undefined,
): Effect.fn.Return<ListedConnections, Failure<WorkspaceCode>> {
  const { id } = yield* workspaces.within(role, workspaceId, "reading")
  const now = yield* Clock.currentTimeMillis
  const found = yield* store.connections(id, now, dailyLimit, listedMax + 1)
  const findOwner = yield* ownership.holders
  const connections = found.slice(0, listedMax).map(({ facts, hours, quota }) => {
    const { id: numberId, mode } = facts.number
    const { planned, roomAt } = quota
    return {
      ...toConnection(facts, now, !simulated && mode === "live"),
      id: numberId,
      worker: findOwner(numberId),
      quota: {
        used: planned,
        limit: dailyLimit.messages,
        freeAt: planned < dailyLimit.messages ? null : roomAt,
      },
      hours,
    }
  })
  return { connections, truncated: found.length > listedMax }
})

/** Waits until its worker has logged the device out and deleted its session. */
const forgotten = (operations: Operations, id: NumberId): Effect.Effect<void, StoreUnavailable> =>
  Effect.flatMap(operations.sessions.credentials(id), (credentials) =>
    credentials === null
      ? Effect.void
      : Effect.andThen(
          sleep(lookMillis),
          Effect.suspend(() => forgotten(operations, id)),
        ),
  )

export class NumberOperations extends Context.Service<
  NumberOperations,
  {
    /** GET …/connections: of all numbers, oldest first. */
    connections(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ListedConnections, Failure<WorkspaceCode>>
    /** GET …/connection. Each fails with `number_not_found`. */
    connection(
      ...number: AddressedNumber
    ): Effect.Effect<NumberConnection, Failure<WorkspaceCode | "number_not_found">>
    /**
     * POST …/pause: no further message reaches the transport; one already there may still leave.
     * Fails with `invalid_datetime` and `time_in_past`.
     */
    pause(
      ...command: readonly [...AddressedNumber, PauseNumber]
    ): Effect.Effect<
      NumberConnection,
      Failure<
        | WorkspaceCode
        | "number_not_found"
        | "validation_failed"
        | "invalid_datetime"
        | "time_in_past"
      >
    >
    /** POST …/resume: ends every pause, whatever its reason. */
    resume(
      ...number: AddressedNumber
    ): Effect.Effect<NumberConnection, Failure<WorkspaceCode | "number_not_found">>
    /**
     * POST …/check-proxy: opens one connection through the number's proxy, within 10 s of real time.
     * Fails with `validation_failed` without a proxy, with `rate_limited` above a workspace's share.
     */
    checkProxy(
      ...number: AddressedNumber
    ): Effect.Effect<
      ProxyCheck,
      Failure<
        | WorkspaceCode
        | "number_not_found"
        | "validation_failed"
        | "rate_limited"
        | "service_unavailable"
      >
    >
    /**
     * POST …/logout: disconnects the number and logs its device out at the remote. If that takes
     * over 10 s, the log-out follows later. Waiting messages stay.
     */
    logOut(
      ...number: AddressedNumber
    ): Effect.Effect<SendingNumber, Failure<WorkspaceCode | "number_not_found">>
  }
>()("core/NumberOperations") {
  static readonly layer = Layer.effect(
    NumberOperations,
    Effect.gen(function* make() {
      const numbers = yield* Numbers
      const { queue: lanes, sessions } = yield* Store
      const ids = yield* Ids
      const wakeUp = yield* WakeUp
      const operations: Operations = {
        store: (yield* Store).numbers,
        sessions,
        workspaces: yield* Workspaces,
        ownership: yield* NumberOwnership,
        simulated: yield* ConnectedFromTheStart,
        dailyLimit: yield* DailyQuota,
      }
      const checkProxy = yield* makeProxyCheck(yield* makeProxyReader)

      return NumberOperations.of({
        connections: Effect.fn("NumberOperations.connections")((role, workspaceId) =>
          listConnections(operations, role, workspaceId),
        ),
        connection: Effect.fn("NumberOperations.connection")((...number) =>
          connection(operations, ...number),
        ),
        pause: Effect.fn("NumberOperations.pause")(function* pause(role, workspaceId, id, command) {
          const { id: found } = (yield* readFacts(operations, [role, workspaceId, id])).number
          const { until = null } = yield* Effect.fromResult(decodePause(command))
          const now = yield* Clock.currentTimeMillis
          if (until !== null && until.millis <= now) {
            return yield* refuse("time_in_past", { field: "until" })
          }
          // The new pause may end before the one that it replaces.
          const paused = { until: until?.millis ?? null, reason: "paused" } as const
          yield* commitAndWake(
            lanes.pause(found, paused, now, numberEventIds(ids, now)),
            // The pause's end may be reported.
            Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("pauses")),
          )
          yield* logThrottled("number paused", {
            number: found,
            reason: "paused",
            until: until === null ? null : formatInstant(until.millis),
          })
          return yield* connection(operations, role, workspaceId, found)
        }),
        resume: Effect.fn("NumberOperations.resume")(function* resume(role, workspaceId, id) {
          const { id: found } = (yield* readFacts(operations, [role, workspaceId, id])).number
          const now = yield* Clock.currentTimeMillis
          const resumed = lanes.resume(found, now, numberEventIds(ids, now))
          yield* commitAndWake(resumed, wakeUp.wake("lanes"))
          yield* logThrottled("number resumed", { number: found })
          return yield* connection(operations, role, workspaceId, found)
        }),
        checkProxy: Effect.fn("NumberOperations.checkProxy")(function* check(...addressed) {
          return yield* checkProxy((yield* readFacts(operations, addressed)).number)
        }),
        logOut: Effect.fn("NumberOperations.logOut")(function* logOut(role, workspaceId, id) {
          const { changed, number: known } = yield* readFacts(operations, [role, workspaceId, id])
          // Never linked: it has no device to log out, and its reason stays true.
          if (known.status === "disconnected" && changed === null) return known
          const found = known.id
          const now = yield* Clock.currentTimeMillis
          // Interrupted in between, the number would count as connected without a session.
          const number = yield* Effect.uninterruptible(
            Effect.andThen(
              sessions.markLeaving(found, now, null),
              numbers.connectionChanged(found, "disconnected", null, "logged_out"),
            ),
          )
          yield* Effect.raceFirst(forgotten(operations, found), sleep(logOutMillis))
          return number ?? (yield* notFound)
        }),
      })
    }),
  )
}

// Telegram logins by operators (contract: Telegram login). This decides whether a login may start;
// the remote decides how it proceeds.

export const TelegramLoginBody = Schema.Struct({
  method: described(
    Schema.Literals(["qr", "code"]),
    "`qr`: the account's own app scans a code. `code`: Telegram sends one to the phone.",
  ),
  // Unused with `qr`; validated below with `code`.
  phone: described(
    Schema.optionalKey(Schema.String.annotate({ examples: phoneDescribed.examples })),
    "Required with `code`: E.164 with a leading +. Unused with `qr`.",
  ),
}).annotate({ identifier: "TelegramLoginRequest" })

export const TelegramCodeBody = Schema.Struct({ code: textBetween(1, 20) }).annotate({
  identifier: "TelegramCode",
})

export const TelegramPasswordBody = Schema.Struct({ password: textBetween(1, 1000) }).annotate({
  identifier: "TelegramPassword",
})

/** An operator's input. */
export type BeginTelegramLogin = CommandOf<typeof TelegramLoginBody.Encoded>
export type GiveTelegramCode = CommandOf<typeof TelegramCodeBody.Encoded>
export type GiveTelegramPassword = CommandOf<typeof TelegramPasswordBody.Encoded>

type Raw = Readonly<Record<string, unknown>>

const phoneProblems = ({
  method,
  phone,
}: Raw): ReadonlyArray<Problem<"validation_failed" | "invalid_phone">> => {
  if (method !== "code") return []
  if (phone === undefined) return [problem("validation_failed", "phone", "is required")]
  return typeof phone !== "string" || parsePhone(phone) !== undefined
    ? []
    : [problem("invalid_phone", "phone")]
}

const decodeBegin = inputDecoder(TelegramLoginBody, {
  codes: ["invalid_phone"],
  across: phoneProblems,
})
const decodeCode = inputDecoder(TelegramCodeBody)
const decodePassword = inputDecoder(TelegramPasswordBody)

const parseRequest = (
  command: unknown,
): Result.Result<TelegramLoginRequest, Refusal<"validation_failed" | "invalid_phone">> =>
  Result.map(decodeBegin(command), ({ method, phone = "" }): TelegramLoginRequest => {
    const loginPhone = method === "code" ? parsePhone(phone) : undefined
    return loginPhone === undefined ? { method: "qr" } : { method: "code", phone: loginPhone }
  })

export class TelegramLogins extends Context.Service<
  TelegramLogins,
  {
    /** Whether accounts can be logged in: see `TelegramLogin`. */
    readonly isConfigured: boolean
    /**
     * POST …/telegram-login. Fails with `connect_in_progress`, `already_connected` and
     * `telegram_not_configured`. All of these fail with `number_not_found`, and all but this with
     * `login_not_found`.
     */
    begin(
      ...command: readonly [...AddressedNumber, BeginTelegramLogin]
    ): Effect.Effect<
      TelegramLoginView,
      Failure<
        | WorkspaceCode
        | "number_not_found"
        | "validation_failed"
        | "invalid_phone"
        | "connect_in_progress"
        | "already_connected"
        | "telegram_not_configured"
      >
    >
    /** GET …/telegram-login. */
    get(
      ...number: AddressedNumber
    ): Effect.Effect<
      TelegramLoginView,
      Failure<WorkspaceCode | "number_not_found" | "login_not_found">
    >
    /** DELETE …/telegram-login: cancels it. */
    cancel(
      ...number: AddressedNumber
    ): Effect.Effect<void, Failure<WorkspaceCode | "number_not_found" | "login_not_found">>
    /** POST …/telegram-login/code. Fails with `invalid_code`. */
    giveCode(
      ...command: readonly [...AddressedNumber, GiveTelegramCode]
    ): Effect.Effect<
      TelegramLoginView,
      Failure<
        | WorkspaceCode
        | "number_not_found"
        | "login_not_found"
        | "validation_failed"
        | "invalid_code"
      >
    >
    /** POST …/telegram-login/password. Fails with `invalid_password`. */
    givePassword(
      ...command: readonly [...AddressedNumber, GiveTelegramPassword]
    ): Effect.Effect<
      TelegramLoginView,
      Failure<
        | WorkspaceCode
        | "number_not_found"
        | "login_not_found"
        | "validation_failed"
        | "invalid_password"
      >
    >
  }
>()("core/TelegramLogins") {
  static readonly layer = Layer.effect(
    TelegramLogins,
    Effect.gen(function* make() {
      const { numbers } = yield* Store
      const workspaces = yield* Workspaces
      const login = yield* TelegramLogin
      const noLogin = refuse("login_not_found", { inPath: true })

      const readAccount = Effect.fnUntraced(function* readAccount(
        ...[role, workspaceId, id]: AddressedNumber
      ) {
        const workspace = yield* workspaces.within(role, workspaceId, "numbers")
        const number = id === undefined ? null : yield* numbers.get(workspace.id, id)
        return number ?? (yield* refuse("number_not_found", { inPath: true }))
      })

      const after = <C extends Code>(view: AfterSecret, wrong: C) => {
        if (view === "wrong") return Effect.fail(refuse(wrong))
        return view === null ? Effect.fail(noLogin) : Effect.succeed(view)
      }

      return TelegramLogins.of({
        isConfigured: login.isConfigured,
        begin: Effect.fn("TelegramLogins.begin")(function* begin(role, workspaceId, id, command) {
          const number = yield* readAccount(role, workspaceId, id)
          const request = yield* Effect.fromResult(parseRequest(command))
          if (number.platform !== "telegram") {
            return yield* refuse("validation_failed", {
              message: "Only Telegram accounts are logged in here.",
            })
          }
          if (number.status === "connected") return yield* refuse("already_connected")
          // A test number has no account.
          if (!login.isConfigured || number.mode !== "live") {
            return yield* refuse("telegram_not_configured")
          }
          const now = yield* Clock.currentTimeMillis
          const facts = yield* numbers.connection(number.workspaceId, number.id, now, dailyQuota)
          const view = yield* login.begin(
            number.id,
            request,
            facts !== null && isShutOut(facts, now),
          )
          if (view !== null) return view
          return yield* refuse("connect_in_progress", { details: { numberId: number.id } })
        }),
        get: Effect.fn("TelegramLogins.get")(function* get(...addressed) {
          const { id } = yield* readAccount(...addressed)
          return (yield* login.look(id)) ?? (yield* noLogin)
        }),
        cancel: Effect.fn("TelegramLogins.cancel")(function* cancel(...addressed) {
          const { id } = yield* readAccount(...addressed)
          if (!(yield* login.cancel(id))) return yield* noLogin
        }),
        giveCode: Effect.fn("TelegramLogins.giveCode")(
          function* giveCode(role, workspaceId, id, command) {
            const number = yield* readAccount(role, workspaceId, id)
            const { code } = yield* Effect.fromResult(decodeCode(command))
            return yield* after(yield* login.giveCode(number.id, code), "invalid_code")
          },
        ),
        givePassword: Effect.fn("TelegramLogins.givePassword")(
          function* givePassword(role, workspaceId, id, command) {
            const number = yield* readAccount(role, workspaceId, id)
            const { password } = yield* Effect.fromResult(decodePassword(command))
            return yield* after(yield* login.givePassword(number.id, password), "invalid_password")
          },
        ),
      })
    }),
  )
}
