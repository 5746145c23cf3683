/** Workspaces, and what operators do inside them. */
import type { CampaignsApi } from "./campaigns.ts"
import type { HasId, Listing, Mode, Moment, PageOptions, Platform, Scope } from "./common.ts"
import type { Message, Timeline } from "./messages.ts"
import type { SendingNumber } from "./numbers.ts"
import type { ReminderRun } from "./reminders.ts"
import type { Delivery, MessageEventType, QueuedEvent, Webhook } from "./webhooks.ts"

/** How to log in: with a code that Telegram sends, or a QR code that the account's own app scans. */
export interface BeginTelegramLogin {
  /** `qr`: the account's own app scans a code. `code`: Telegram sends one to the phone. */
  readonly method: "qr" | "code"
  /** Required with `code`: E.164 with a leading +. Unused with `qr`. */
  readonly phone?: string | undefined
}

/** `code_sent` and `password_needed` wait for you; `connected`, `failed` and `expired` are final. */
export type TelegramLoginState =
  | "showing_qr"
  | "code_sent"
  | "password_needed"
  | "connected"
  | "failed"
  | "expired"

/** The state of a login. */
export interface TelegramLogin {
  /** Current step. */
  readonly state: TelegramLoginState
  /** Content of the QR code for the account's own app: a `tg://` link; else null. */
  readonly qrUrl: string | null
  /** When another link replaces it; null without one. */
  readonly qrExpiresAt: Date | null
  /** Where Telegram sent the code; null when it sent none. */
  readonly codeSentTo: "app" | "sms" | "call" | "email" | null
  /** When the login expires: ten minutes after it began. */
  readonly expiresAt: Date
  /** Why it failed; else null. */
  readonly error: string | null
}

/**
 * Logins of a workspace's Telegram accounts, where `transport.live.telegram` names an application. A
 * `connected` account sends as soon as a worker has connected it.
 */
export interface TelegramLoginsApi {
  /**
   * Starts the login of a `telegram` number. Fails with `number_not_found`, `invalid_phone`,
   * `already_connected`, `connect_in_progress`, `telegram_not_configured`, `validation_failed`.
   */
  readonly begin: (numberId: number, command: BeginTelegramLogin) => Promise<TelegramLogin>
  /** The state of the login. Fails with `number_not_found`, `login_not_found`. */
  readonly get: (numberId: number) => Promise<TelegramLogin>
  /**
   * Submits the code that Telegram sent; the service does not store it. Fails with `number_not_found`,
   * `login_not_found`, `validation_failed`, and with `invalid_code` for a wrong one; you may then
   * submit another.
   */
  readonly giveCode: (numberId: number, code: string) => Promise<TelegramLogin>
  /**
   * Submits the account's password; the service does not store it. Fails with `number_not_found`,
   * `login_not_found`, `validation_failed`, and with `invalid_password` for a wrong one; you may then
   * submit another.
   */
  readonly givePassword: (numberId: number, password: string) => Promise<TelegramLogin>
  /** Cancels the login. Fails with `number_not_found`, `login_not_found`. */
  readonly cancel: (numberId: number) => Promise<void>
}

/** What a workspace may use. */
export interface Plan {
  /** 1 to 100 characters. */
  readonly name: string
  /** Messages that the plan still accepts; null for unlimited. */
  readonly messagesRemaining: number | null
  /** Whether the plan includes reminders. */
  readonly reminders: boolean
  /** Whether its callers may link numbers. */
  readonly qrCodeApi: boolean
  /** Maximum of numbers; null for unlimited. */
  readonly maxNumbers: number | null
  /** Bytes of uploaded files. */
  readonly mediaStorageBytes: number
}

/** What owns keys, numbers, contacts and messages: one of your customers, teams or programs. */
export interface Workspace {
  /** Unique in the store. */
  readonly id: number
  /** Display name; several workspaces may share one. */
  readonly name: string
  /** A demo workspace cannot use the API with keys. */
  readonly demo: boolean
  /** True: the service refuses its keys. */
  readonly accountDisabled: boolean
  /** Whether version 2 keys work. */
  readonly apiV2Enabled: boolean
  /** Null: no active plan, so nothing that a plan allows. */
  readonly plan: Plan | null
  /**
   * Days from the end of a message to its erasure; null for the service's own setting alone. The
   * lower value applies.
   */
  readonly retentionDays: number | null
  /** Creation time. */
  readonly createdAt: Date
}

/** A workspace to create. */
export interface CreateWorkspace {
  /** Not blank. 1 to 100 characters. */
  readonly name: string
  /** A demo workspace cannot use the API with keys. Default: false. */
  readonly demo?: boolean | undefined
  /** Whether version 2 keys work. Default: true. */
  readonly apiV2Enabled?: boolean | undefined
  /** Default: unlimited. Null: no active plan. */
  readonly plan?: Plan | null | undefined
}

/** Changes to a workspace. Omitted fields stay. */
export interface ChangeWorkspace {
  /** Not blank. 1 to 100 characters. */
  readonly name?: string | undefined
  /** A demo workspace cannot use the API with keys. */
  readonly demo?: boolean | undefined
  /** True: the service refuses its keys. */
  readonly accountDisabled?: boolean | undefined
  /** Whether version 2 keys work. */
  readonly apiV2Enabled?: boolean | undefined
  /** Replaces the whole plan; null removes it. */
  readonly plan?: Plan | null | undefined
  /**
   * Days from the end of a message to its erasure; null for the service's own setting alone. The
   * lower value applies. 1 to 3,650.
   */
  readonly retentionDays?: number | null | undefined
}

/** A number to add. */
export interface CreateNumber {
  /** The number's platform. */
  readonly platform: Platform
  /** E.164 with a leading +; spaces and dashes are taken out. */
  readonly phone: string
  /** Display name. At most 100 characters. */
  readonly label?: string | undefined
  /**
   * Default: `connected`; with live transports `disconnected`, which alone is possible there. Link
   * it afterwards.
   */
  readonly status?: "connected" | "disconnected" | undefined
}

/** A number that `ensure` adds when it is missing. */
export interface EnsureNumber extends Omit<CreateNumber, "platform"> {
  /** Default: `whatsapp`. */
  readonly platform?: Platform | undefined
}

/** A workspace that `ensure` creates when it is missing. */
export interface EnsureWorkspace extends Omit<CreateWorkspace, "name"> {
  /** Numbers that it must have. */
  readonly numbers?: ReadonlyArray<EnsureNumber> | undefined
}

/** All workspaces of the store. */
export interface WorkspacesApi {
  /**
   * Returns the workspace with that name, and creates it when there is none. Call it when your program
   * starts: any number of processes may call it at once, and repeatedly. It adds the numbers that the
   * workspace lacks (by platform and phone). It leaves other numbers as they are, and does not change
   * plan, labels and the like of an existing workspace. Of several workspaces with that name it takes
   * the oldest. Fails with `validation_failed`, `invalid_phone`, with the number in `field`
   * (`numbers[1].phone`), and with `number_limit_reached` when its plan has no room for the numbers. It
   * then creates nothing.
   */
  readonly ensure: (name: string, requested?: EnsureWorkspace) => Promise<Workspace>
  /** Creates a workspace, even when another one has that name. Fails with `validation_failed`. */
  readonly create: (command: CreateWorkspace) => Promise<Workspace>
  /** The workspace as it is now. Fails with `workspace_not_found`. */
  readonly get: (id: number) => Promise<Workspace>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Workspace>
  /** Changes the given fields. Fails with `workspace_not_found`, `validation_failed`. */
  readonly update: (workspace: HasId, change: ChangeWorkspace) => Promise<Workspace>
  /**
   * Deletes the workspace: its keys stop, and its waiting messages become cancelled. Fails with
   * `workspace_not_found`.
   */
  readonly remove: (workspace: HasId) => Promise<void>
}

/** A key to create. */
export type CreateKey = CreateKeyV1 | CreateKeyV2

/** A key for a client of version 1 of the HTTP interface. */
export interface CreateKeyV1 {
  /** Always 1. */
  readonly version: 1
}

/** A key for clients of version 2 of the HTTP interface. */
export interface CreateKeyV2 {
  /** Always 2. */
  readonly version: 2
  /** Not blank. 1 to 50 characters. */
  readonly name: string
  /** A test key validates everything and sends nothing. Default: `live`. */
  readonly mode?: Mode | undefined
  /** What the key may do. Default: all. */
  readonly scopes?: "all" | ReadonlyArray<Scope> | undefined
  /** The only numbers that the key may use; null for all, later ones included. */
  readonly numberIds?: ReadonlyArray<number> | null | undefined
  /** 30, 90 or 365 days; null for never. */
  readonly expiresIn?: "30d" | "90d" | "1y" | null | undefined
}

/** A key, without its text. */
export interface Key {
  /** Unique in the store. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** The version of the HTTP interface that accepts it. */
  readonly version: 1 | 2
  /** Display name. */
  readonly name: string
  /** A test key sends nothing. */
  readonly mode: Mode
  /** Operations that the key allows. */
  readonly scopes: ReadonlyArray<Scope>
  /** The only numbers that the key may use; null for all. */
  readonly numberIds: ReadonlyArray<number> | null
  /** Null for never. */
  readonly expiresAt: Date | null
  /** Last four characters of the key. */
  readonly last4: string
  /** Creation time. */
  readonly createdAt: Date
  /** Null before its first use. */
  readonly lastUsedAt: Date | null
  /** Client address of its last use over HTTP; null before the first. */
  readonly lastUsedIp: string | null
  /** Null while it works. */
  readonly revokedAt: Date | null
}

/** A new key. */
export interface NewKey extends Key {
  /** The whole key, shown only here. */
  readonly key: string
}

/** A name with exactly one of a phone and a Telegram username. */
export interface CreateContact {
  /** Not blank. 1 to 100 characters. */
  readonly name: string
  /** E.164 with a leading +; spaces and dashes are taken out. */
  readonly phone?: string | undefined
  /** A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id. */
  readonly username?: string | undefined
}

/** A saved contact. */
export interface Contact {
  /** The `contactId` of recipients. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** Display name. */
  readonly name: string
  /** E.164 with a leading +; null when there is a username. */
  readonly phone: string | null
  /** As it was given; null when there is a phone. */
  readonly username: string | null
  /** Creation time. */
  readonly createdAt: Date
}

/** Pacing of a number; null for no limit of that kind. */
export interface Pacing {
  /** Minimum rest after a message, in milliseconds, up to a day. */
  readonly minIntervalMillis: number | null
  /** Maximum random extra rest after each message, in milliseconds, up to a day. */
  readonly jitterMillis: number | null
  /** Maximum of messages per minute. */
  readonly perMinute: number | null
  /** Maximum of messages per hour. */
  readonly perHour: number | null
  /** Maximum of first-time recipients in any 24 hours. */
  readonly newRecipientsPerDay: number | null
}

/** Changes to a number. Omitted fields stay. */
export interface ChangeNumber {
  /** Display name, at most 100 characters. */
  readonly label?: string | undefined
  /** Omitted limits stay; null removes a limit. */
  readonly pacing?: ChangePacing | undefined
  /**
   * URL of the connection's proxy (http, https, socks5 …); null for none. Never shown again:
   * answers tell host and port.
   */
  readonly proxyUrl?: string | null | undefined
}

/** Changes to a pacing. Omitted limits stay; null removes a limit. */
export type ChangePacing = { readonly [Name in keyof Pacing]?: Pacing[Name] | undefined }

/** A number with its operator settings. */
export interface OperatedNumber extends SendingNumber {
  /** Pacing. */
  readonly pacing: Pacing
  /** Address of its proxy; null without one. */
  readonly proxy: {
    /** Its host. */
    readonly host: string
    /** Its port. */
    readonly port: number
  } | null
}

/** Why a number is disconnected, or connected but not sending. */
export type ConnectionReason =
  | "logged_out"
  | "replaced"
  | "banned"
  | "restricted"
  | "client_outdated"
  | "passkey_required"
  | "link_expired"
  | "connection_lost"
  | "not_linked"
  | "paused"
  | "account_disabled"

/**
 * State of a number's connection. One of these fields always says why a message of the number waits.
 */
export interface NumberConnection {
  /** Id of the number. */
  readonly id: number
  /** `waiting`: between two connection attempts. */
  readonly state: "connected" | "connecting" | "waiting" | "disconnected"
  /**
   * Why it is not connected, or sends nothing while connected; null when it is connected and sends.
   */
  readonly reason: ConnectionReason | null
  /** When that state began. */
  readonly since: Date
  /** When the remote server last sent anything; null when it never did. */
  readonly lastSeenAt: Date | null
  /** When its pause ends; null without a pause, and for one that lasts until it is resumed. */
  readonly pausedUntil: Date | null
  /** Number of reconnects. */
  readonly reconnects: number
  /** Waiting messages, scheduled ones included. */
  readonly waiting: number
  /** When the next of them may leave; null when unknown. */
  readonly nextSendAt: Date | null
  /** Messages that left in the last 24 hours. */
  readonly sent24h: number
  /** The process that holds its connection; null without one. */
  readonly worker: string | null
}

/** Duration of a pause. */
export interface PauseNumber {
  /** When the pause ends by itself, in the future; null: when it is resumed. */
  readonly until?: Moment | null | undefined
}

/** A line of a reminder's log. */
export interface LoggedReminderRun extends ReminderRun {
  /** Unique in the log. */
  readonly id: number
  /** When it ran. */
  readonly ranAt: Date
}

/** One call of a version 1 callback. */
export interface CallbackDelivery extends Omit<Delivery, "type"> {
  /** The state that it reported. */
  readonly type: MessageEventType | "qr-generated" | "connected" | "disconnected"
  /** Where it was sent; members see it without its query. */
  readonly url: string
}

/** The operator's role in the workspace; `owner` may do everything. */
export type Role = "owner" | "administrator" | "member"

/** Keys of a workspace. */
export interface KeysApi {
  /**
   * Creates a key and shows its text, this once. Fails with `validation_failed`, `key_limit_reached`,
   * `number_not_found`, `role_required`.
   */
  readonly create: (command: CreateKey) => Promise<NewKey>
  /** Oldest first, revoked ones included. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Key>>
  /** Stops a key at once. Fails with `key_not_found`. */
  readonly revoke: (id: number) => Promise<void>
}

/** Contacts of a workspace. */
export interface ContactsApi {
  /** Saves a contact. Fails with `validation_failed`, `invalid_phone`, `invalid_username`, `contact_exists`. */
  readonly create: (command: CreateContact) => Promise<Contact>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Contact>
  /** Deletes a contact. Fails with `contact_not_found`. */
  readonly remove: (id: number) => Promise<void>
}

/** Numbers of a workspace. */
export interface OperatedNumbersApi {
  /**
   * Adds a number. Fails with `validation_failed`, `invalid_phone`, and with `number_exists` when a
   * number of the workspace, connected or not, has the phone on that platform (`details.numberId`);
   * with `number_limit_reached` when the plan has no room.
   */
  readonly create: (command: CreateNumber) => Promise<SendingNumber>
  /** Oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<SendingNumber>>
  /** Changes the given fields. Fails with `number_not_found`, `validation_failed`. */
  readonly update: (id: number, change: ChangeNumber) => Promise<OperatedNumber>
  /**
   * Removes a number. Its waiting messages become cancelled, each with its event. Fails with
   * `number_not_found`.
   */
  readonly remove: (id: number) => Promise<void>
  /** The state of its connection. Fails with `number_not_found`. */
  readonly connection: (id: number) => Promise<NumberConnection>
  /** Pauses a number: its messages wait, and may expire. Fails with `number_not_found`, `validation_failed`, `invalid_datetime`, `time_in_past`. */
  readonly pause: (id: number, pause?: PauseNumber) => Promise<NumberConnection>
  /** Ends every pause, whatever its reason. Fails with `number_not_found`. */
  readonly resume: (id: number) => Promise<NumberConnection>
  /**
   * Logs its device out at the remote server and erases its credentials. Waiting messages keep
   * waiting. Fails with `number_not_found`.
   */
  readonly logOut: (id: number) => Promise<SendingNumber>
}

/** Webhook endpoints of a workspace, of both modes. */
export interface OperatedWebhooksApi {
  /** All endpoints, stopped ones included, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Webhook>>
  /**
   * Every call, newest first; the service keeps them for 30 days. Fails with `webhook_not_found`,
   * `validation_failed`, `invalid_cursor`.
   */
  readonly deliveries: (id: number, query?: PageOptions) => Listing<Delivery>
  /** Restarts a stopped endpoint. Fails with `webhook_not_found`, `webhook_limit_reached`. */
  readonly resume: (id: number) => Promise<Webhook>
  /**
   * Delivers an event again, with new retries. Fails with `webhook_not_found`, `validation_failed`,
   * `event_not_found`, `webhook_stopped`.
   */
  readonly redeliver: (id: number, event: RedeliverEvent) => Promise<QueuedEvent>
}

/** Selects an event. */
export interface RedeliverEvent {
  /** Id of an event that was sent to this endpoint. */
  readonly eventId: string
}

/** Callbacks of version 1 of the HTTP interface. */
export interface CallbacksApi {
  /**
   * Every call, newest first; the service keeps them for 30 days. Fails with `validation_failed`,
   * `invalid_cursor`.
   */
  readonly deliveries: (query?: PageOptions) => Listing<CallbackDelivery>
  /** Secret that signs callbacks: 64 hexadecimal characters. Fails with nothing of its own. */
  readonly secret: () => Promise<string>
  /** Creates a new secret; the old one stops working at once. Fails with nothing of its own. */
  readonly rotateSecret: () => Promise<string>
}

/** How a store went back in time. */
export interface StoreRestored {
  /** Highest id of any kind that is known outside. Default: 0. */
  readonly above?: number | undefined
  /** Begin another epoch although this one has accepted messages. */
  readonly again?: boolean | undefined
}

/** The epoch that a restore began. */
export interface Epoch {
  /** Increases with each restore; 1 before the first. */
  readonly epoch: number
  /** Number of held messages and reminders. */
  readonly held: number
}

/** Held messages and reminders of a workspace, since the store went back in time. */
export interface HeldCount {
  /** The workspace. */
  readonly workspaceId: number
  /** Number of messages, of both modes. */
  readonly messages: number
  /** Number of reminders that were due at the restore. */
  readonly reminders: number
  /** Number of campaigns that ask for the row to go on from when they are resumed. */
  readonly campaigns: number
}

/** Filters held messages and reminders; an empty filter matches all. */
export interface HeldFilter {
  /** Id of the sending number. */
  readonly from?: number | undefined
  /** Created at that time or later. */
  readonly since?: Moment | undefined
  /** Created before that time. */
  readonly until?: Moment | undefined
}

/** Selects held messages and reminders: exactly one of these. */
export interface SelectHeld {
  /** Held messages; either these or `filter`. 1 to 1,000. */
  readonly ids?: ReadonlyArray<number> | undefined
  /** Held messages and reminders; `{}` for all. */
  readonly filter?: HeldFilter | undefined
}

/** Result of a call, which handles at most 1,000 messages and reminders. */
export interface DecidedHeld {
  /** Number of messages and reminders. */
  readonly count: number
  /** Whether the selection matches more. */
  readonly more: boolean
}

/** Messages and reminders that a workspace holds since the store went back in time. */
export interface HeldApi {
  /** Held messages, newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Message>
  /**
   * Releases messages in the order of their due times; reminders continue with their next run. Fails
   * with `validation_failed`, `invalid_datetime`.
   */
  readonly release: (selection: SelectHeld) => Promise<DecidedHeld>
  /**
   * Cancels messages, each with its event; reminders continue with their next run. Fails with
   * `validation_failed`, `invalid_datetime`.
   */
  readonly cancel: (selection: SelectHeld) => Promise<DecidedHeld>
}

/** Filters waiting messages; at least one field. */
export interface CancelFilter {
  /** Default: both. */
  readonly status?: "queued" | "scheduled" | undefined
  /** Id of the sending number. */
  readonly from?: number | undefined
  /** The recipient's phone, E.164 with a leading +. */
  readonly to?: string | undefined
  /** Created at that time or later. */
  readonly since?: Moment | undefined
  /** Created before that time. */
  readonly until?: Moment | undefined
}

/** Selects messages to cancel: exactly one of `ids` and `filter`. */
export interface SelectWaiting {
  /** Messages of either mode; either these or `filter`. 1 to 1,000. */
  readonly ids?: ReadonlyArray<number> | undefined
  /** Waiting messages, the first by id. */
  readonly filter?: CancelFilter | undefined
  /** Of `filter`. Default: `live`. */
  readonly mode?: Mode | undefined
}

/** Result of a call, which cancels at most 1,000 messages. */
export interface CancelledMessages {
  /** Number of messages that it cancelled. */
  readonly cancelled: number
  /** Sent, ended or unknown by now, or still being sent after 5 seconds. */
  readonly notCancellable: number
  /** True when the filter leaves others: ask again. */
  readonly more: boolean
}

/** Settings of conversations; what is left out takes its default. */
export interface SetConversations {
  /** Store what is written in groups too. Default: false. */
  readonly groups?: boolean | undefined
  /** Days that received messages are kept. 1 to 365. Default: 30. */
  readonly retentionDays?: number | undefined
  /**
   * `on_arrival`: files are fetched at once. `on_demand`: when their link is called. `off`: never.
   * Default: `on_arrival`.
   */
  readonly media?: "on_arrival" | "on_demand" | "off" | undefined
  /** A larger file is not fetched. Default: 16 MiB. */
  readonly maxFileBytes?: number | undefined
  /**
   * Room for all received files together; not part of the plan's media storage. Default: 5 GiB.
   */
  readonly maxStorageBytes?: number | undefined
  /** Messages to new people wait while WhatsApp lets the number open no chats. Default: false. */
  readonly holdNewChats?: boolean | undefined
}

/** Settings of conversations, and what is kept under them. */
export interface ConversationSettings {
  /** Whether what is written in groups is stored too. */
  readonly groups: boolean
  /** Days that received messages are kept. */
  readonly retentionDays: number
  /** When received files are fetched. */
  readonly media: "on_arrival" | "on_demand" | "off"
  /** A larger file is not fetched. */
  readonly maxFileBytes: number
  /** Room for all received files together. */
  readonly maxStorageBytes: number
  /** Whether messages to new people wait while WhatsApp lets the number open no chats. */
  readonly holdNewChats: boolean
  /** When they were turned on. */
  readonly since: Date
  /** What is kept of what people wrote. */
  readonly stored: {
    /** Received messages. */
    readonly messages: number
    /** Of received files. */
    readonly bytes: number
    /** When the oldest was received; null when there are none. */
    readonly oldestAt: Date | null
  }
}

/**
 * Conversations of a workspace: while they are on, it stores and reports what people write to its numbers.
 * Its keys and webhook endpoints may then name more scopes and events.
 */
export interface ConversationsApi {
  /** The settings, and what is kept under them. Fails with `conversations_not_enabled`. */
  readonly get: () => Promise<ConversationSettings>
  /** Turns them on, or replaces all settings. Fails with `validation_failed`. */
  readonly set: (settings?: SetConversations) => Promise<ConversationSettings>
  /** Turns them off, and erases what was received. Fails with `conversations_not_enabled`. */
  readonly remove: () => Promise<void>
}

/** Operator actions inside one workspace. */
export interface Operator {
  /** The workspace. */
  readonly workspaceId: number
  /** Its keys. */
  readonly keys: KeysApi
  /** Its contacts. */
  readonly contacts: ContactsApi
  /** Its numbers. */
  readonly numbers: OperatedNumbersApi
  /** Logins of its Telegram accounts. */
  readonly telegramLogins: TelegramLoginsApi
  /** Its webhook endpoints. */
  readonly webhooks: OperatedWebhooksApi
  /** Its version 1 callbacks. */
  readonly callbacks: CallbacksApi
  /** The log of a reminder's runs, newest first. Fails with `reminder_not_found`, `validation_failed`, `invalid_cursor`. */
  readonly reminderRuns: (id: number, query?: PageOptions) => Listing<LoggedReminderRun>
  /** One message for each of many rows. */
  readonly campaigns: CampaignsApi
  /** Whether it stores and reports what people write, and its settings. */
  readonly conversations: ConversationsApi
  /** Messages and reminders that it holds since the store went back in time. */
  readonly held: HeldApi
  /** Cancels a waiting message of either mode. Fails with `message_not_found`, `not_cancellable`. */
  readonly cancelMessage: (message: HasId) => Promise<Message>
  /**
   * Cancels waiting messages, the first 1,000 by id, each with its event. Waits for those that are being sent, at
   * most 5 seconds in total. Fails with `validation_failed`, `invalid_phone`, `invalid_datetime`.
   */
  readonly cancelMessages: (selection: SelectWaiting) => Promise<CancelledMessages>
  /**
   * Everything that happened to a message of either mode, and why it still waits. Fails with
   * `message_not_found`.
   */
  readonly timeline: (message: HasId) => Promise<Timeline>
}
