/** The opened service: what `open` returns, and what each caller can do with it. */
import type { HasId, Mode, Scope } from "./common.ts"
import type { MediaApi, Message, MessagesApi } from "./messages.ts"
import type { NumberChecksApi, NumbersApi, Restrictions, SendingNumber } from "./numbers.ts"
import type {
  ConnectionReason,
  Epoch,
  HeldCount,
  Operator,
  Role,
  StoreRestored,
  WorkspacesApi,
} from "./operator.ts"
import type { RemindersApi } from "./reminders.ts"
import type { ChatsApi, Reaction, ReceivedMessage, ReceivedMessagesApi } from "./chats.ts"
import type {
  EventType,
  GapEventType,
  NumberEventType,
  ReactionEventType,
  ReceivedEventType,
  RestrictionEventType,
  WebhooksApi,
} from "./webhooks.ts"

/** Identity, permissions and remaining limits of a caller. */
export interface Account {
  /** The caller's workspace. */
  readonly workspace: {
    /** Its id. */
    readonly id: number
    /** Its name. */
    readonly name: string
  }
  /** The caller's key; null for a trusted caller. */
  readonly key: {
    /** Its id. */
    readonly id: number
    /** Its name. */
    readonly name: string
    /** Null for never. */
    readonly expiresAt: Date | null
  } | null
  /** A test caller sends nothing. */
  readonly mode: Mode
  /** Operations that the caller may perform. */
  readonly scopes: ReadonlyArray<Scope>
  /** The only numbers that the caller may use; null for all. */
  readonly numberIds: ReadonlyArray<number> | null
  /** Name of the workspace's plan; null when it has none. */
  readonly plan: string | null
  /** Limits of this caller. */
  readonly limits: {
    /** Requests per minute with one key. Trusted callers have no limit. */
    readonly requestsPerMinute: number
    /** Requests per day with one key. Trusted callers have no limit. */
    readonly requestsPerDay: number
    /** Messages that one number sends in any 24 hours. */
    readonly messagesPerNumberPerDay: number
    /** Messages that the plan still accepts; null for unlimited. */
    readonly messagesRemaining: number | null
  }
}

/** Everything that one caller can do in one workspace. */
export interface Api {
  /** Identity, permissions and remaining limits of this caller. Fails with nothing of its own. */
  readonly account: () => Promise<Account>
  /** Sending, reading and cancelling messages. */
  readonly messages: MessagesApi
  /** Messages that repeat on a schedule. */
  readonly reminders: RemindersApi
  /** The workspace's sending numbers. */
  readonly numbers: NumbersApi
  /** Checks which phones are on WhatsApp. */
  readonly numberChecks: NumberChecksApi
  /** Uploaded files. */
  readonly media: MediaApi
  /** Endpoints that receive events. */
  readonly webhooks: WebhooksApi
  /** What people write, while conversations are on. */
  readonly receivedMessages: ReceivedMessagesApi
  /** Chats with people and groups, while conversations are on. */
  readonly chats: ChatsApi
}

/** Limits that your program sets for a trusted caller. Whatever you omit is allowed. */
export interface Trust {
  /** Default: `live`. */
  readonly mode?: Mode | undefined
  /** Operations that the caller may perform. Default: all. */
  readonly scopes?: ReadonlyArray<Scope> | undefined
  /** The only numbers that the caller may use. Default, and null: all. */
  readonly numberIds?: ReadonlyArray<number> | null | undefined
}

/** Options of an operator. */
export interface OperatorOptions {
  /** Default: `owner`, who may do everything. */
  readonly role?: Role | undefined
}

/** A stored event of a message: it left, failed, expired or was cancelled; while conversations are on, a tick. */
export interface MessageEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: Exclude<
    EventType,
    NumberEventType | GapEventType | RestrictionEventType | ReceivedEventType | ReactionEventType
  >
  /** Increases from event to event. Store the latest, and pass it as `after` when you listen again. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** The message at that moment; its times in whole seconds. */
  readonly message: Message
}

/** A stored event of a number, while conversations are on. */
export interface NumberEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: NumberEventType
  /** As of a `MessageEvent`. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** The number at that moment. */
  readonly number: Pick<SendingNumber, "id" | "phone" | "platform" | "status">
  /** Why; null for none. */
  readonly reason: ConnectionReason | null
  /** When the new state began. */
  readonly since: Date
}

/** A stored event of a received message, while conversations are on. */
export interface ReceivedEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: ReceivedEventType
  /** As of a `MessageEvent`. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** What was written. */
  readonly receivedMessage: ReceivedMessage
}

/** A stored event of a reaction, while conversations are on. */
export interface ReactionEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: ReactionEventType
  /** As of a `MessageEvent`. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** Who reacted, and how. */
  readonly reaction: Reaction
  /** To which received message; null when it is to one of this service. */
  readonly receivedMessage: ReceivedMessage | null
  /** To which message of this service; null when it is to a received one. */
  readonly message: Message | null
}

/** A stored event of messages that may be missing, while conversations are on. */
export interface GapEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: GapEventType
  /** As of a `MessageEvent`. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** The number with messages that may be missing, from when to when, and why. */
  readonly gap: {
    /** The number. */
    readonly numberId: number
    /** Nothing is missing before it. */
    readonly from: Date
    /** Nothing is missing after it. */
    readonly until: Date
    /** `relinked`: it was linked again. `skipped`: the platform said so. */
    readonly reason: "relinked" | "skipped"
  }
}

/** A stored event of what WhatsApp lets a number do with new chats, while conversations are on. */
export interface RestrictionEvent {
  /** `evt_` and 24 characters; webhooks carry the same id. */
  readonly id: string
  /** What happened. */
  readonly type: RestrictionEventType
  /** As of a `MessageEvent`. */
  readonly position: number
  /** Id of its workspace, for `as`. */
  readonly workspaceId: number
  /** When it happened. */
  readonly createdAt: Date
  /** The number at that moment. */
  readonly number: Pick<SendingNumber, "id" | "phone" | "platform" | "status">
  /** What it may do since then. */
  readonly restrictions: Restrictions
}

/** The event of that type. */
export type ServiceEvent<Type extends EventType = EventType> = Type extends NumberEventType
  ? NumberEvent
  : Type extends GapEventType
    ? GapEvent
    : Type extends RestrictionEventType
      ? RestrictionEvent
      : Type extends ReceivedEventType
        ? ReceivedEvent
        : Type extends ReactionEventType
          ? ReactionEvent
          : MessageEvent

/** Options of a listener. */
export interface ListenOptions {
  /**
   * The `position` of the last event that you processed. The handler gets every later event, including
   * those from before this start; the service keeps events for 30 days. Without it, the handler gets
   * events from now on. On PostgreSQL it may then miss an event if its transaction stayed open while
   * others wrote a thousand later ones; with `after` it misses none.
   */
  readonly after?: number | undefined
}

/** A listener that you can stop. */
export interface Subscription {
  /**
   * Resolves once it listens, and with `subscribe` once the store knows the name. Calls of this service made
   * afterwards wait for that themselves. Of `subscribe` it fails with `validation_failed` when there are too many
   * names.
   */
  readonly ready: Promise<void>
  /**
   * Stops the listener. Once this resolves, its handler gets no more events; a running handler
   * finishes. Fails with nothing of its own.
   */
  readonly stop: () => Promise<void>
}

/** A request of `node:http`, whichever framework hands it on. */
export interface NodeRequest {
  /** Path and query. */
  url?: string | undefined
  /** Such as `POST`. */
  readonly method?: string | undefined
  /** Its connection. */
  readonly socket: {
    /** Where it came from. */
    readonly remoteAddress?: string | undefined
  }
}

/** Its response. */
export interface NodeResponse {
  /** Whether it has begun. */
  readonly headersSent: boolean
  /** Whether it is complete. */
  readonly writableEnded: boolean
}

/** What a handler serves beyond the interface. */
export interface ServedParts {
  /**
   * Serves the dashboard's pages and browser sessions too: operators sign in with `http.operatorToken`,
   * customers by a `portalLink`. With simulated phones and an operator token it also serves the emulator
   * controls. Needs the package `@messaging-service/dashboard`, which loads with the first page.
   */
  readonly dashboard: boolean
}

/** Answers web-standard requests. */
export interface WebHandler {
  /** Answers a request. */
  (request: Request): Promise<Response>
  /**
   * A handler that serves these parts too. Fails with `validation_failed`, and with `cannot_start` when the
   * package of a part is not installed; both are thrown at once.
   */
  (parts: ServedParts): (request: Request) => Promise<Response>
}

/** Answers requests of Node's own servers. */
export interface NodeHandler {
  /** Answers a request, or passes it on. */
  (request: NodeRequest, response: NodeResponse, next?: () => void): Promise<void>
  /**
   * A handler that serves these parts too. Fails with `validation_failed`, and with `cannot_start` when the
   * package of a part is not installed; both are thrown at once.
   */
  (
    parts: ServedParts,
  ): (request: NodeRequest, response: NodeResponse, next?: () => void) => Promise<void>
}

/** A link into a workspace's portal, to create. */
export interface CreatePortalLink {
  /** What the session may do. */
  readonly role: Role
  /**
   * Where the portal leads back to: an `https://` address, or with simulated phones an `http://`
   * one of this machine; null for nowhere. At most 2,048 characters.
   */
  readonly returnUrl?: string | null | undefined
  /** Seconds that the session lasts from its first use. 60 to 86,400. Default: 3,600. */
  readonly expiresIn?: number | undefined
}

/** A session of a portal, from its link on. */
export interface PortalSession {
  /** Unique in the store. */
  readonly id: number
  /** What it may do. */
  readonly role: Role
  /** Where the portal leads back to; null for nowhere. */
  readonly returnUrl: string | null
  /** Creation time of the link. */
  readonly createdAt: Date
  /** The link signs in until then, 15 minutes from its creation. */
  readonly codeExpiresAt: Date
  /** When the link was used; null before. */
  readonly usedAt: Date | null
  /** The end of the session; null until used. */
  readonly expiresAt: Date | null
  /** When the operator ended it; null while it may go on. */
  readonly revokedAt: Date | null
}

/** A new link. */
export interface PortalLink {
  /**
   * The link, shown only here. It works once. Behind its `#` no server, log or referrer sees the
   * code.
   */
  readonly url: string
  /** What it opens. */
  readonly session: PortalSession
}

/** Options of `drain`. */
export interface DrainOptions {
  /** Milliseconds after which the drain starts no more work, even when some is due. Default: 20,000. */
  readonly atMostMillis?: number | undefined
}

/**
 * What this service did during a drain. It includes this service's worker, calls and other drains, but
 * no other service.
 */
export interface Drained {
  /** Messages that left. */
  readonly sent: number
  /** Messages that failed. */
  readonly failed: number
  /** Messages that were cancelled. */
  readonly cancelled: number
  /** Messages that expired. */
  readonly expired: number
  /** Webhook and callback calls that the receiver answered with success. */
  readonly delivered: number
  /** Calls that failed; the service retries most of them later. */
  readonly notDelivered: number
  /** Whether no due work is left. */
  readonly finished: boolean
  /**
   * When work falls due next: the time of the next drain. Null when nothing waits, or when the drain
   * did not finish.
   */
  readonly nextDueAt: Date | null
}

/** The messaging service inside this process. */
export interface Messaging {
  /** Manages all workspaces. */
  readonly workspaces: WorkspacesApi
  /**
   * Acts in a workspace as your own program. The caller is trusted: no rate limits apply, and only
   * sends are refused in a disabled or demo workspace. Fails with `validation_failed`, thrown at once, when `trust` has an unknown
   * name or an invalid value. Each of its calls fails with `workspace_not_found` when no such
   * workspace exists. Where `trust` limits the caller, calls also fail with `missing_scope`,
   * `number_not_allowed`.
   */
  readonly as: (workspace: HasId, trust?: Trust) => Api
  /**
   * Acts as the holder of a version 2 key. Fails with nothing of its own. Each of its calls
   * authenticates the key again and counts as one request. It fails with `invalid_api_key`,
   * `v1_key_on_v2`, `api_key_revoked`, `api_key_expired`, `rate_limited`, `too_many_auth_failures`,
   * `account_disabled`, `demo_account`, `api_v2_not_enabled`, `missing_scope`, `number_not_allowed`.
   */
  readonly withKey: (key: string) => Api
  /**
   * Acts as the operator inside a workspace: keys, contacts, numbers, logs. Fails with
   * `validation_failed`, thrown at once, for an unknown role or option. Each of its calls fails with
   * `workspace_not_found`, `role_required`.
   */
  readonly operator: (workspace: HasId, options?: OperatorOptions) => Operator
  /**
   * Delivers events of all workspaces to a handler, after their commit, in the order of their
   * positions, each at least once. When the handler throws or rejects, the service retries the event
   * after 1, 5, 30 and 120 seconds. It then logs an error and skips the event; later events wait
   * meanwhile. Every listening process gets every event. The service does not store positions. Without
   * `after` a listener starts from now, and misses events from before. Fails with `validation_failed`,
   * `closed`, thrown at once.
   */
  readonly on: <Type extends EventType>(
    type: Type | ReadonlyArray<Type>,
    handler: (event: ServiceEvent<Type>) => unknown,
    options?: ListenOptions,
  ) => Subscription
  /**
   * As `on`, with a position that the store keeps under `name`: 1 to 100 characters. The handler gets every
   * event since the name was first used, also what happened while no process listened, at least once. Of all
   * processes and calls with that name one at a time handles events; when it ends, another continues. An event
   * comes again if its handler throws or rejects, after 1, 5, 30 and 120 seconds and then every ten minutes:
   * none is skipped, and later ones wait. A name that no process uses for 30 days is forgotten; a store keeps 100
   * names. Fails with `validation_failed`, `closed`, thrown at once.
   */
  readonly subscribe: <Type extends EventType>(
    name: string,
    type: Type | ReadonlyArray<Type>,
    handler: (event: ServiceEvent<Type>) => unknown,
  ) => Subscription
  /**
   * Declares that the store went back in time: you restored it, or a lagging standby took over. The
   * service reuses no earlier id, and holds what waits. Fails with `validation_failed`,
   * `already_restored`.
   */
  readonly restored: (how?: StoreRestored) => Promise<Epoch>
  /** Workspaces that hold messages or reminders since the restore. Fails with nothing of its own. */
  readonly held: () => Promise<ReadonlyArray<HeldCount>>
  /**
   * Does the work that is due now, even with `worker: false`: for cron jobs and programs that run for
   * one request. It starts no more work once nothing due is left, or after `atMostMillis` (default
   * 20,000). It resolves when running work has ended, at most `shutdownMillis` later. A PostgreSQL
   * that does not answer can add one second. Fails with `validation_failed`, `cannot_start` (phones
   * are simulated, and the store has numbers linked for real).
   */
  readonly drain: (options?: DrainOptions) => Promise<Drained>
  /**
   * Creates a link into the portal of a workspace: its holder signs in once, within 15 minutes, without an
   * account. A portal shows every message of its workspace, and sends from its numbers: give the link to the
   * tenant who has the workspace, never to recipients. Only this result has the `url`, which begins with
   * `http.publicUrl` and `http.basePath`. The portal needs `handler({ dashboard: true })`. Fails with `workspace_not_found`, `validation_failed`,
   * `account_disabled`, `portal_link_limit_reached`.
   */
  readonly portalLink: (workspace: HasId, link: CreatePortalLink) => Promise<PortalLink>
  /**
   * The HTTP interface: every path of versions 1 and 2, health, metrics, documentation, and with a
   * token the operator API. A closed service answers every request below the path with 503
   * `service_unavailable`. Fails with nothing of its own: the response carries the error. Given options
   * in place of a request, it returns a handler that serves more.
   */
  readonly handler: WebHandler
  /**
   * The same for servers of Node's own requests: Express, Fastify, Koa, NestJS, `node:http`. It passes
   * requests outside `http.basePath` to `next`, if there is one. Mount it before body parsers; after
   * `express.json()` it works too, but refuses forms and files that another parser has read. The
   * client's address is that of the socket, unless `http.clientAddress` tells another. Fails with nothing
   * of its own: the response carries the error. Given options in place of a request, it returns a handler
   * that serves more.
   */
  readonly nodeHandler: NodeHandler
  /**
   * Ends the service. It refuses new calls with `closed`, and releases everything. It first waits at
   * most `shutdownMillis` for running calls and requests, and until listeners have received their
   * events. It then interrupts the rest, which may still have taken effect. An interrupted call fails
   * with `closed`, a request gets 500 `internal_error`, and a drain resolves with `finished: false`.
   * It cancels upload sources and bodies. A PostgreSQL or a collector that does not answer delays it
   * by at most 3 seconds more. Waiting messages stay in the store. Every later call resolves with the
   * first. Fails with nothing of its own.
   */
  readonly close: () => Promise<void>
}
