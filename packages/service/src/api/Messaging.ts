/** The opened service: what `open` gives, and what each caller can do with it. */
import type { HasId, Mode, Scope } from "./common.ts"
import type { MediaApi, Message, MessagesApi } from "./messages.ts"
import type { NumberChecksApi, NumbersApi } from "./numbers.ts"
import type { Epoch, HeldCount, Operator, Role, StoreRestored, WorkspacesApi } from "./operator.ts"
import type { RemindersApi } from "./reminders.ts"
import type { MessageEventType, WebhooksApi } from "./webhooks.ts"

/** What a caller is, may do, and has left. */
export interface Account {
  /** Whose it is. */
  readonly workspace: {
    /** Its id. */
    readonly id: number
    /** Its name. */
    readonly name: string
  }
  /** The key that the caller has; null for a trusted one. */
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
  /** What it may do. */
  readonly scopes: ReadonlyArray<Scope>
  /** The only numbers that it may use; null for all. */
  readonly numberIds: ReadonlyArray<number> | null
  /** Name of the workspace's plan; null when it has none. */
  readonly plan: string | null
  /** What may be asked of the service. */
  readonly limits: {
    /** Requests with one key in a minute; trusted callers are not counted. */
    readonly requestsPerMinute: number
    /** Requests with one key in a day; trusted callers are not counted. */
    readonly requestsPerDay: number
    /** Messages that one number sends in any 24 hours. */
    readonly messagesPerNumberPerDay: number
    /** Messages that the plan still accepts; null for unlimited. */
    readonly messagesRemaining: number | null
  }
}

/** Everything that one caller does in one workspace. */
export interface Api {
  /** What this caller is, may do, and has left. Fails with nothing of its own. */
  readonly account: () => Promise<Account>
  /** Sending, reading and cancelling messages. */
  readonly messages: MessagesApi
  /** Messages that are sent again and again. */
  readonly reminders: RemindersApi
  /** The numbers that it sends from. */
  readonly numbers: NumbersApi
  /** Which phones WhatsApp knows. */
  readonly numberChecks: NumberChecksApi
  /** Uploaded files. */
  readonly media: MediaApi
  /** Addresses that receive events. */
  readonly webhooks: WebhooksApi
}

/** What your program vouches for of a trusted caller; all that is left out is allowed. */
export interface Trust {
  /** `live` when left out. */
  readonly mode?: Mode | undefined
  /** What it may do; everything when left out. */
  readonly scopes?: ReadonlyArray<Scope> | undefined
  /** The only numbers that it may use; all when left out or null. */
  readonly numberIds?: ReadonlyArray<number> | null | undefined
}

/** For whom the operator acts. */
export interface OperatorOptions {
  /** `owner`, who may do everything, when left out. */
  readonly role?: Role | undefined
}

/** Told once a message has left, failed, expired or was cancelled, and that is stored. */
export interface MessageEvent {
  /** `evt_` and 24 characters; the same as webhooks say. */
  readonly id: string
  /** What happened. */
  readonly type: MessageEventType
  /** Grows from event to event. Keep the latest, and give it as `after` when you listen again. */
  readonly position: number
  /** When it happened. */
  readonly createdAt: Date
  /** The message as it was then; its times in whole seconds. */
  readonly message: Message
}

/** How to listen. */
export interface ListenOptions {
  /** The `position` of the last event that you dealt with. The handler gets every later one, also those from before this start; events are kept for 30 days. When left out, it gets events from now on; on PostgreSQL one whose transaction stayed open while a thousand later events were written may be missed then, and is never missed with `after`. */
  readonly after?: number | undefined
}

/** A listener that can be taken away. */
export interface Subscription {
  /** Resolves once it listens. Calls of this service made after `on` wait for that by themselves. */
  readonly ready: Promise<void>
  /** Stops it: once this resolves its handler gets no more events. One that is running goes on to its end. Fails with nothing of its own. */
  readonly stop: () => Promise<void>
}

/** How to work off what is due. */
export interface DrainOptions {
  /** Milliseconds after which it takes up nothing more, although something due is left; 20,000 when left out. */
  readonly atMostMillis?: number | undefined
}

/** What this service did while it drained. What its worker, its calls and other drains of it did meanwhile counts too; what other services did does not. */
export interface Drained {
  /** Messages that left. */
  readonly sent: number
  /** Messages that failed. */
  readonly failed: number
  /** Messages that were cancelled. */
  readonly cancelled: number
  /** Messages that expired. */
  readonly expired: number
  /** Calls of webhooks and callbacks that were answered with success. */
  readonly delivered: number
  /** Calls that failed; most are tried again later. */
  readonly notDelivered: number
  /** Whether nothing that was due is left. */
  readonly finished: boolean
  /** When something falls due next: the time of the next drain; null when nothing waits, or it did not finish. */
  readonly nextDueAt: Date | null
}

/** The messaging service inside this process. */
export interface Messaging {
  /** All workspaces. */
  readonly workspaces: WorkspacesApi
  /**
   * What your own program does in a workspace. It is trusted: rates are not counted, and a disabled
   * workspace is not refused. Fails with `validation_failed`, thrown at once, when `trust` names something
   * that is not known, or a value that it cannot have. Every call of it fails with `workspace_not_found`
   * when there is no such workspace, and where `trust` limits it with `missing_scope`, `number_not_allowed`.
   */
  readonly as: (workspace: HasId, trust?: Trust) => Api
  /**
   * What the holder of a version 2 key does. Fails with nothing of its own. Every call of it admits the
   * key anew and counts as one request; it fails with `invalid_api_key`, `v1_key_on_v2`, `api_key_revoked`, `api_key_expired`,
   * `rate_limited`, `too_many_auth_failures`, `account_disabled`, `demo_account`,
   * `api_v2_not_enabled`, `missing_scope`, `number_not_allowed`.
   */
  readonly withKey: (key: string) => Api
  /** What the operator does inside a workspace: keys, contacts, numbers, logs. Fails with `validation_failed`, thrown at once, for an unknown role or option. Every call of it fails with `workspace_not_found`, `role_required`. */
  readonly operator: (workspace: HasId, options?: OperatorOptions) => Operator
  /**
   * Tells events of all workspaces, after their commit, one after the other in the order of their
   * positions, each at least once. A handler that throws or rejects is told the same event again after
   * 1, 5, 30 and 120 seconds, and then passed over with an error in the log; later events wait. Every
   * process that listens hears every event. Positions are not kept by the service: without `after` a
   * listener begins anew with each start, and misses what happened while no process listened. Fails with
   * `validation_failed`, `closed`, thrown at once.
   */
  readonly on: (
    type: MessageEventType | ReadonlyArray<MessageEventType>,
    handler: (event: MessageEvent) => unknown,
    options?: ListenOptions,
  ) => Subscription
  /**
   * Says that the store went back in time: it was restored, or a standby that lagged took over. Ids that
   * were given before are not given again, and what waits is held. Fails with `validation_failed`, `already_restored`.
   */
  readonly restored: (how?: StoreRestored) => Promise<Epoch>
  /** Each workspace of which anything is held since then. Fails with nothing of its own. */
  readonly held: () => Promise<ReadonlyArray<HeldCount>>
  /**
   * Works off what is due now, with `worker: false` too: for cron jobs and programs that run for one
   * request. Resolves when nothing due is left, or after `atMostMillis` (20,000 when left out), and then
   * once what is under way has ended, at most `shutdownMillis` later (a second more beside a PostgreSQL that does not answer). Fails with `validation_failed`,
   * `cannot_start` (phones are simulated, and numbers of the store are linked for real).
   */
  readonly drain: (options?: DrainOptions) => Promise<Drained>
  /** The HTTP interface: every path of versions 1 and 2, health, metrics, documentation, and with a token the operator API. Once the service is closed every request below the path is answered 503 `service_unavailable`. Fails with nothing of its own: what goes wrong is in the answer. */
  readonly handler: (request: Request) => Promise<Response>
  /**
   * Ends the service. It takes no more calls (they fail with `closed`), waits at most `shutdownMillis` for
   * what is under way (requests too) and until listeners have heard of it, and lets go of everything.
   * What takes longer is broken off, and may have been done all the same: a call fails with `closed`, a
   * request is answered 500 `internal_error`; sources of uploads and bodies are cancelled; a drain
   * resolves with `finished: false`. A PostgreSQL or a collector that does not answer holds it up for 3 seconds more at most. What waits stays in the store. Every later call resolves with the first. Fails with nothing of its own.
   */
  readonly close: () => Promise<void>
}
