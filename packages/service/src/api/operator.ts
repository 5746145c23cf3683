/** Workspaces, and what operators do inside them. */
import type { HasId, Listing, Mode, Moment, PageOptions, Platform, Scope } from "./common.ts"
import type { Message } from "./messages.ts"
import type { SendingNumber } from "./numbers.ts"
import type { ReminderRun } from "./reminders.ts"
import type { Delivery, MessageEventType, QueuedEvent, Webhook } from "./webhooks.ts"

/** How to log in: by a code that Telegram sends, or by a QR code that the account's own app scans. */
export interface BeginTelegramLogin {
  /** `code` or `qr`. */
  readonly method: "qr" | "code"
  /** The account's phone, E.164 with a leading +; required with `code`, unused with `qr`. */
  readonly phone?: string | undefined
}

/** `code_sent` and `password_needed` wait for you; `connected`, `failed` and `expired` are the end. */
export type TelegramLoginState =
  | "showing_qr"
  | "code_sent"
  | "password_needed"
  | "connected"
  | "failed"
  | "expired"

/** The state of a login. */
export interface TelegramLogin {
  /** Where it is. */
  readonly state: TelegramLoginState
  /** What a QR code is to show to the account's own app: a `tg://` link; else null. */
  readonly qrUrl: string | null
  /** When there is another link; null without one. */
  readonly qrExpiresAt: Date | null
  /** Where Telegram sent the code; null when it sent none. */
  readonly codeSentTo: "app" | "sms" | "call" | "email" | null
  /** When the login as a whole is over: ten minutes after it began. */
  readonly expiresAt: Date
  /** Why it failed; else null. */
  readonly error: string | null
}

/**
 * Logins of a workspace's Telegram accounts, where `transport.live.telegram` names an application. One that is
 * `connected` is sent from as soon as a worker has connected it.
 */
export interface TelegramLoginsApi {
  /** Begins to log a number of the platform `telegram` in. Fails with `number_not_found`, `invalid_phone`, `already_connected`, `connect_in_progress`, `telegram_not_configured`, `validation_failed`. */
  readonly begin: (numberId: number, command: BeginTelegramLogin) => Promise<TelegramLogin>
  /** The state of the login. Fails with `number_not_found`, `login_not_found`. */
  readonly get: (numberId: number) => Promise<TelegramLogin>
  /** Gives the code that Telegram sent, which is kept nowhere. Fails with `number_not_found`, `login_not_found`, `validation_failed`, and with `invalid_code` for a wrong one; another may be given then. */
  readonly giveCode: (numberId: number, code: string) => Promise<TelegramLogin>
  /** Gives the account's password, which is kept nowhere. Fails with `number_not_found`, `login_not_found`, `validation_failed`, and with `invalid_password` for a wrong one; another may be given then. */
  readonly givePassword: (numberId: number, password: string) => Promise<TelegramLogin>
  /** Gives the login up. Fails with `number_not_found`, `login_not_found`. */
  readonly cancel: (numberId: number) => Promise<void>
}

/** What a workspace may use. */
export interface Plan {
  /** 1 to 100 characters. */
  readonly name: string
  /** Messages that may still be accepted; null for unlimited. */
  readonly messagesRemaining: number | null
  /** Whether reminders are included. */
  readonly reminders: boolean
  /** Whether its callers may link numbers. */
  readonly qrCodeApi: boolean
  /** Numbers that it may hold; null for unlimited. */
  readonly maxNumbers: number | null
  /** Bytes of uploaded files. */
  readonly mediaStorageBytes: number
}

/** What owns keys, numbers, contacts and messages: one of your customers, teams or programs. */
export interface Workspace {
  /** Unique in the store. */
  readonly id: number
  /** For people; several workspaces may have the same. */
  readonly name: string
  /** A demo workspace cannot use the API with keys. */
  readonly demo: boolean
  /** True: its keys are refused. */
  readonly accountDisabled: boolean
  /** Whether version 2 keys work. */
  readonly apiV2Enabled: boolean
  /** Null: it has no active plan, and nothing that a plan allows. */
  readonly plan: Plan | null
  /** Days after their end that its messages are erased; null for the service's own `retentionDays` alone. The lower holds. */
  readonly retentionDays: number | null
  /** When it was made. */
  readonly createdAt: Date
}

/** A workspace to make. */
export interface CreateWorkspace {
  /** 1 to 100 characters. */
  readonly name: string
  /** False when left out. */
  readonly demo?: boolean | undefined
  /** True when left out. */
  readonly apiV2Enabled?: boolean | undefined
  /** Unlimited when left out; null for no active plan. */
  readonly plan?: Plan | null | undefined
}

/** What to change of a workspace: only what is named changes. */
export interface ChangeWorkspace {
  /** 1 to 100 characters. */
  readonly name?: string | undefined
  /** A demo workspace cannot use the API with keys. */
  readonly demo?: boolean | undefined
  /** True: its keys are refused. */
  readonly accountDisabled?: boolean | undefined
  /** Whether version 2 keys work. */
  readonly apiV2Enabled?: boolean | undefined
  /** Replaces the plan as a whole; null takes it away. */
  readonly plan?: Plan | null | undefined
  /** 1 to 3,650 days after their end its messages are erased; null for the service's own `retentionDays` alone. The lower holds. */
  readonly retentionDays?: number | null | undefined
}

/** A number to add. */
export interface CreateNumber {
  /** What it belongs to. */
  readonly platform: Platform
  /** E.164 with a leading +. */
  readonly phone: string
  /** A name for people, at most 100 characters. */
  readonly label?: string | undefined
  /** `connected` when left out; with live transports a number is made `disconnected` and then linked. */
  readonly status?: "connected" | "disconnected" | undefined
}

/** A number that a workspace is to have. */
export interface EnsureNumber extends Omit<CreateNumber, "platform"> {
  /** `whatsapp` when left out. */
  readonly platform?: Platform | undefined
}

/** What a workspace is to have; what it has beside that stays. */
export interface EnsureWorkspace extends Omit<CreateWorkspace, "name"> {
  /** Numbers that it is to have. */
  readonly numbers?: ReadonlyArray<EnsureNumber> | undefined
}

/** All workspaces of the store. */
export interface WorkspacesApi {
  /**
   * The workspace of that name; made when there is none. For the start of a program: any number of
   * processes may call it at once, and any number of times. Numbers that it does not have yet (by
   * platform and phone) are added. Numbers that it has beside them, and plan, labels and the like of a
   * workspace that was there, stay as they are: `wanted` does not change them. Of several workspaces
   * with that name it is the oldest. Fails with `validation_failed`,
   * `invalid_phone`, with the number in `field` (`numbers[1].phone`), and makes nothing then.
   */
  readonly ensure: (name: string, wanted?: EnsureWorkspace) => Promise<Workspace>
  /** Makes a workspace, also when there is one of that name. Fails with `validation_failed`. */
  readonly create: (command: CreateWorkspace) => Promise<Workspace>
  /** The workspace as it is now. Fails with `workspace_not_found`. */
  readonly get: (id: number) => Promise<Workspace>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Workspace>
  /** Changes what is named. Fails with `workspace_not_found`, `validation_failed`. */
  readonly update: (workspace: HasId, change: ChangeWorkspace) => Promise<Workspace>
  /** Deletes it: its keys stop, and its waiting messages are cancelled. Fails with `workspace_not_found`. */
  readonly remove: (workspace: HasId) => Promise<void>
}

/** A key to make. */
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
  /** 1 to 50 characters, not blank. */
  readonly name: string
  /** `live` when left out. */
  readonly mode?: Mode | undefined
  /** Everything when left out. */
  readonly scopes?: "all" | ReadonlyArray<Scope> | undefined
  /** The only numbers that it may use; null or left out: all, later ones included. */
  readonly numberIds?: ReadonlyArray<number> | null | undefined
  /** When it stops working: after 30, 90 or 365 days; null or left out: never. */
  readonly expiresIn?: "30d" | "90d" | "1y" | null | undefined
}

/** A key, without its text. */
export interface Key {
  /** Unique in the store. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** The version of the HTTP interface that it is for. */
  readonly version: 1 | 2
  /** For people. */
  readonly name: string
  /** A test key sends nothing. */
  readonly mode: Mode
  /** What it may do. */
  readonly scopes: ReadonlyArray<Scope>
  /** The only numbers that it may use; null for all. */
  readonly numberIds: ReadonlyArray<number> | null
  /** Null for never. */
  readonly expiresAt: Date | null
  /** Its last four characters. */
  readonly last4: string
  /** When it was made. */
  readonly createdAt: Date
  /** Null before its first use. */
  readonly lastUsedAt: Date | null
  /** The address of its last use over HTTP; null before the first. */
  readonly lastUsedIp: string | null
  /** Null while it works. */
  readonly revokedAt: Date | null
}

/** A key that was just made. */
export interface NewKey extends Key {
  /** The whole text; shown only now. */
  readonly key: string
}

/** A name with exactly one of a phone and a Telegram username. */
export interface CreateContact {
  /** 1 to 100 characters. */
  readonly name: string
  /** E.164 with a leading +. */
  readonly phone?: string | undefined
  /** `@name`, a `t.me/name` link, or `tg:` and a user id. */
  readonly username?: string | undefined
}

/** A saved contact. */
export interface Contact {
  /** The `contactId` of recipients. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** For people. */
  readonly name: string
  /** E.164 with a leading +; null when there is a username. */
  readonly phone: string | null
  /** As it was given; null when there is a phone. */
  readonly username: string | null
  /** When it was saved. */
  readonly createdAt: Date
}

/** How fast a number may send; null for no limit of that kind. */
export interface Pacing {
  /** The rest after a message, at least, in milliseconds. */
  readonly minIntervalMillis: number | null
  /** How much longer that rest may be, drawn again for each, in milliseconds. */
  readonly jitterMillis: number | null
  /** Messages in a minute, at most. */
  readonly perMinute: number | null
  /** Messages in an hour, at most. */
  readonly perHour: number | null
  /** Recipients that the number never wrote to before, in any 24 hours, at most. */
  readonly newRecipientsPerDay: number | null
}

/** What to change of a number: only what is named changes. */
export interface ChangeNumber {
  /** A name for people, at most 100 characters. */
  readonly label?: string | undefined
  /** What is left out stays; null takes that limit away. */
  readonly pacing?: ChangePacing | undefined
  /** What its connection goes through: an http, https, socks5 … URL; null for nothing. Never shown again. */
  readonly proxyUrl?: string | null | undefined
}

/** What to change of a pacing: only what is named changes, and null takes a limit away. */
export interface ChangePacing {
  /** The rest after a message, at least, in milliseconds, up to a day. */
  readonly minIntervalMillis?: number | null | undefined
  /** How much longer that rest may be, in milliseconds, up to a day. */
  readonly jitterMillis?: number | null | undefined
  /** Messages in a minute, at most. */
  readonly perMinute?: number | null | undefined
  /** Messages in an hour, at most. */
  readonly perHour?: number | null | undefined
  /** Recipients that the number never wrote to before, in any 24 hours, at most. */
  readonly newRecipientsPerDay?: number | null | undefined
}

/** A number with what operators set for it. */
export interface OperatedNumber extends SendingNumber {
  /** How fast it may send. */
  readonly pacing: Pacing
  /** Where its proxy is; null without one. */
  readonly proxy: {
    /** Its host. */
    readonly host: string
    /** Its port. */
    readonly port: number
  } | null
}

/** Why a number is not connected, or sends nothing although it is. */
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

/** The state of a number's connection. One of these fields always says why a message of the number waits. */
export interface NumberConnection {
  /** Id of the number. */
  readonly id: number
  /** `waiting`: between two tries to connect. */
  readonly state: "connected" | "connecting" | "waiting" | "disconnected"
  /** Null when it is connected and sends. */
  readonly reason: ConnectionReason | null
  /** Since when it is in that state. */
  readonly since: Date
  /** When the far side (WhatsApp or Telegram) was last heard; null when it never was. */
  readonly lastSeenAt: Date | null
  /** When its pause ends by itself; null without a pause, and with one that lasts until `resume`. */
  readonly pausedUntil: Date | null
  /** How often the connection was opened again. */
  readonly reconnects: number
  /** Messages that wait, scheduled ones included. */
  readonly waiting: number
  /** When the next of them may leave; null when that is not known. */
  readonly nextSendAt: Date | null
  /** Messages that left in the last 24 hours. */
  readonly sent24h: number
  /** The name of the process that holds its connection; null when none does. */
  readonly worker: string | null
}

/** Until when a number is paused. */
export interface PauseNumber {
  /** In the future; null or left out: until it is resumed. */
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
  /** What it reported. */
  readonly type: MessageEventType | "qr-generated" | "connected" | "disconnected"
  /** Where it was sent. */
  readonly url: string
}

/** The role in the workspace that the operator acts in; `owner` may do everything. */
export type Role = "owner" | "administrator" | "member"

/** Keys of a workspace. */
export interface KeysApi {
  /** Makes a key and shows its text, this once. Fails with `validation_failed`, `key_limit_reached`, `number_not_found`, `role_required`. */
  readonly create: (command: CreateKey) => Promise<NewKey>
  /** Oldest first, revoked ones included. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Key>>
  /** Stops a key at once. Fails with `key_not_found`. */
  readonly revoke: (id: number) => Promise<void>
}

/** Contacts of a workspace. */
export interface ContactsApi {
  /** Saves a contact. Fails with `validation_failed`, `invalid_phone`, `invalid_username`. */
  readonly create: (command: CreateContact) => Promise<Contact>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Contact>
  /** Deletes a contact. Fails with `contact_not_found`. */
  readonly remove: (id: number) => Promise<void>
}

/** Numbers of a workspace. */
export interface OperatedNumbersApi {
  /**
   * Adds a number. Fails with `validation_failed`, `invalid_phone`, and with `number_exists` where one of
   * the workspace's, connected or not, has the phone on that platform (`details.numberId`).
   */
  readonly create: (command: CreateNumber) => Promise<SendingNumber>
  /** Oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<SendingNumber>>
  /** Changes what is named. Fails with `number_not_found`, `validation_failed`. */
  readonly update: (id: number, change: ChangeNumber) => Promise<OperatedNumber>
  /** Removes a number; its waiting messages are cancelled, each with its event. Fails with `number_not_found`. */
  readonly remove: (id: number) => Promise<void>
  /** The state of its connection. Fails with `number_not_found`. */
  readonly connection: (id: number) => Promise<NumberConnection>
  /** Pauses a number: its messages wait, and may expire. Fails with `number_not_found`, `validation_failed`, `invalid_datetime`, `time_in_past`. */
  readonly pause: (id: number, pause?: PauseNumber) => Promise<NumberConnection>
  /** Ends every pause, whatever it was for. Fails with `number_not_found`. */
  readonly resume: (id: number) => Promise<NumberConnection>
  /** Logs its device out at the far side and wipes its credentials. Waiting messages go on waiting. Fails with `number_not_found`. */
  readonly logOut: (id: number) => Promise<SendingNumber>
}

/** Webhook endpoints of a workspace, of both modes. */
export interface OperatedWebhooksApi {
  /** Stopped ones included, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Webhook>>
  /** Every call, newest first; kept for 30 days. Fails with `webhook_not_found`, `validation_failed`, `invalid_cursor`. */
  readonly deliveries: (id: number, query?: PageOptions) => Listing<Delivery>
  /** Lets a stopped endpoint run again. Fails with `webhook_not_found`, `webhook_limit_reached`. */
  readonly resume: (id: number) => Promise<Webhook>
  /** Delivers an event once more, on a new schedule. Fails with `webhook_not_found`, `validation_failed`, `event_not_found`, `webhook_stopped`. */
  readonly redeliver: (id: number, event: RedeliverEvent) => Promise<QueuedEvent>
}

/** Which event. */
export interface RedeliverEvent {
  /** Id of an event that was sent to this endpoint. */
  readonly eventId: string
}

/** Callbacks of version 1 of the HTTP interface. */
export interface CallbacksApi {
  /** Every call, newest first; kept for 30 days. Fails with `validation_failed`, `invalid_cursor`. */
  readonly deliveries: (query?: PageOptions) => Listing<CallbackDelivery>
  /** 64 hexadecimal characters that sign callbacks. Fails with nothing of its own. */
  readonly secret: () => Promise<string>
  /** A new secret; the old one stops working at once. Fails with nothing of its own. */
  readonly rotateSecret: () => Promise<string>
}

/** How a store went back in time. */
export interface StoreRestored {
  /** The highest id of any kind that is known outside; 0 when left out. */
  readonly above?: number | undefined
  /** True: begin another epoch although this one has accepted messages. */
  readonly again?: boolean | undefined
}

/** What began with a restore. */
export interface Epoch {
  /** Grows with each restore; 1 before the first. */
  readonly epoch: number
  /** Messages and reminders that are held. */
  readonly held: number
}

/** How much of a workspace is held since the store went back in time. */
export interface HeldCount {
  /** Of which workspace. */
  readonly workspaceId: number
  /** Messages, of both modes. */
  readonly messages: number
  /** Reminders that were due when the store was restored. */
  readonly reminders: number
}

/** Which held messages and reminders; an empty one finds all. */
export interface HeldFilter {
  /** Id of the sending number. */
  readonly from?: number | undefined
  /** Created then or later. */
  readonly since?: Moment | undefined
  /** Created before. */
  readonly until?: Moment | undefined
}

/** Which of what is held: exactly one of these. */
export interface SelectHeld {
  /** Held messages, 1 to 1,000. */
  readonly ids?: ReadonlyArray<number> | undefined
  /** Held messages and reminders. */
  readonly filter?: HeldFilter | undefined
}

/** What a call did; at most 1,000 of them. */
export interface DecidedHeld {
  /** Messages and reminders. */
  readonly count: number
  /** Whether the selection has more. */
  readonly more: boolean
}

/** What a workspace holds since the store went back in time. */
export interface HeldApi {
  /** Held messages, newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<Message>
  /** Lets messages leave, in the order in which they fell due; reminders go on with their next run. Fails with `validation_failed`, `invalid_datetime`. */
  readonly release: (selection: SelectHeld) => Promise<DecidedHeld>
  /** Cancels messages, each with its event; reminders go on with their next run. Fails with `validation_failed`, `invalid_datetime`. */
  readonly cancel: (selection: SelectHeld) => Promise<DecidedHeld>
}

/** What operators do inside one workspace. */
export interface Operator {
  /** The workspace. */
  readonly workspaceId: number
  /** Its keys. */
  readonly keys: KeysApi
  /** Its contacts. */
  readonly contacts: ContactsApi
  /** Its numbers. */
  readonly numbers: OperatedNumbersApi
  /** Logging its Telegram accounts in. */
  readonly telegramLogins: TelegramLoginsApi
  /** Its webhook endpoints. */
  readonly webhooks: OperatedWebhooksApi
  /** Its version 1 callbacks. */
  readonly callbacks: CallbacksApi
  /** The log of a reminder's runs, newest first. Fails with `reminder_not_found`, `validation_failed`, `invalid_cursor`. */
  readonly reminderRuns: (id: number, query?: PageOptions) => Listing<LoggedReminderRun>
  /** What is held since the store went back in time. */
  readonly held: HeldApi
  /** Cancels a waiting message, of either mode. Fails with `message_not_found`, `not_cancellable`. */
  readonly cancelMessage: (message: HasId) => Promise<Message>
}
