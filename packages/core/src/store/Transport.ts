/**
 * The transport ports: what WhatsApp and Telegram adapters must do and report. An attempt ends with
 * the remote's answer or as unknown; a call that merely returned is not "sent". Ticks and
 * connection changes are offered until stored.
 */
import { Clock, Context, Data, Deferred, Effect, Latch } from "effect"
import type { Stream } from "effect"
import type { Quote } from "../model/Answer.ts"
import type { ChatId, NumberId, ReceivedMessageId, TransportId, WorkspaceId } from "../model/Ids.ts"
import type { MediaFilesError, MediaType } from "../model/Media.ts"
import type { MessageError } from "../model/Message.ts"
import type { PairingCode } from "../model/Linking.ts"
import type { ConnectionReport } from "./NumberStore.ts"
import type { ConnectionReason, LoginMethod, NumberStatus } from "../model/SendingNumber.ts"
import type { Person } from "../model/Incoming.ts"
import type { Restrictions } from "../model/Restrictions.ts"
import type { Phone, Target } from "../model/Recipient.ts"

export interface OutgoingMedia {
  readonly type: MediaType
  readonly fileName: string
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly content: Stream.Stream<Uint8Array, MediaFilesError>
}

export interface OutgoingMessage {
  readonly numberId: NumberId
  /** The same in every repeat. */
  readonly transportId: TransportId
  readonly to: Target
  readonly text: string
  readonly media: OutgoingMedia | null
  /** What it quotes. Null or absent: nothing. */
  readonly quote?: Quote | null
  /**
   * An earlier attempt may have reached the remote. Its resolved details stay, such as the account
   * behind a username: otherwise two people might get the message.
   */
  readonly mayHaveLeft?: boolean
  /**
   * The adapter must not hand it over after this time (epoch milliseconds of service time). An
   * adapter that waited for a connection or upload answers `Postponed`. Null or absent: no expiry.
   */
  readonly expiresAt?: number | null
}

/**
 * The adapter's outcome for a message that expired while it waited: nothing was sent, and the core
 * ends it. Null: send it.
 */
export const outcomeOnceExpired = (
  { expiresAt = null }: Pick<OutgoingMessage, "expiresAt">,
  now: number,
): SendOutcome | null =>
  expiresAt === null || now < expiresAt ? null : { _tag: "Postponed", afterMillis: 0 }

export type SendOutcome =
  /** The remote acknowledged it. */
  | { readonly _tag: "Accepted" }
  /**
   * The remote or the adapter refused it for good; it will never be shown. `againstNumber`: because
   * of the sending number, such as a restricted account, not of message or recipient. Several in a
   * row pause the number.
   */
  | {
      readonly _tag: "Refused"
      readonly error: MessageError
      readonly againstNumber: boolean
      /** Because the recipient is new, and the number may open no new chats. */
      readonly refusesNewChat?: boolean
    }
  /** Nothing was sent; the lane rests for `afterMillis` (a flood wait). */
  | { readonly _tag: "Postponed"; readonly afterMillis: number }
  /** The number was not connected; nothing was sent. */
  | { readonly _tag: "NotConnected" }
  /** It may have left: the connection broke, or no acknowledgement came. */
  | { readonly _tag: "Unknown" }

/** A chat that was read, for the remote to know. */
export interface ReadMark {
  readonly numberId: NumberId
  readonly chatId: ChatId
  /** The furthest message that was read. */
  readonly upTo: ReceivedMessageId
  /** The remote's id of the group; null for a chat with one person. */
  readonly group: string | null
  /** Null in a group. */
  readonly person: Person | null
  /** Messages of others that the remote does not know as read, the furthest first, at most 100 and never none. */
  readonly messages: ReadonlyArray<{
    readonly remoteId: string
    /** See `Incoming.address`. */
    readonly address: string | null
  }>
}

export type ReadMarkOutcome =
  /** The remote heard it, or never will. */
  | { readonly _tag: "Marked" }
  /** The remote asks for a pause of `afterMillis`. */
  | { readonly _tag: "Postponed"; readonly afterMillis: number }
  | { readonly _tag: "NotConnected" }
  /** The remote did not answer, or the connection broke. */
  | { readonly _tag: "Unknown" }

export type TransportEvent =
  /** May repeat, skip and arrive out of order. */
  | {
      readonly _tag: "Tick"
      /** The number that heard it; it concerns only this number's messages. */
      readonly numberId: NumberId
      readonly transportId: TransportId
      readonly status: "delivered" | "read"
    }
  | {
      readonly _tag: "ConnectionChanged"
      readonly numberId: NumberId
      readonly status: Exclude<NumberStatus, "connecting">
      /** Digits with country code, if the link revealed it. */
      readonly phone: string | null
      /** Why it is disconnected; null when connected or unknown. */
      readonly reason: ConnectionReason | null
    }
  /** What the platform lets the number do with new chats; stored where conversations are on. */
  | {
      readonly _tag: "RestrictionsChanged"
      readonly numberId: NumberId
      readonly restrictions: Restrictions
    }

/** Takes an event into the service. Done once stored; it waits for the store. */
export type TakeEvent = (event: TransportEvent) => Effect.Effect<void>

/** A file that a person sent to a number. */
export interface FileRequest {
  readonly numberId: NumberId
  readonly workspaceId: WorkspaceId
  /** What the transport told of it (`Incoming.fileSource`). */
  readonly source: string
  /** As the message says; null where it does not. */
  readonly size: number | null
  /** Hexadecimal, as the message says; null where it does not. */
  readonly sha256: string | null
  /** No more is read. */
  readonly maximumBytes: number
}

/** No file, or not now. `later`: it may be there at another time, such as once the number is connected. */
export class FileUnavailable extends Data.TaggedError("FileUnavailable")<{
  readonly reason: "gone" | "refused" | "too_large" | "later"
}> {
  override get message() {
    return `file of a message: ${this.reason}`
  }
}

export interface Transport {
  /** Whether the remote shows one copy per transport id, so that repeats are safe. */
  readonly dropsCopies: boolean
  /** One attempt. Never fails: errors are outcomes. May be interrupted at any point. */
  send(message: OutgoingMessage): Effect.Effect<SendOutcome>
  /**
   * Keeps connections open and hands over their events until interrupted. It acknowledges an event
   * to the remote only once taken.
   */
  listen(take: TakeEvent): Effect.Effect<never>
  /**
   * Tells the remote that a chat was read. A repeat does no harm. Never fails: errors are outcomes. May be
   * interrupted at any point. Without it marks reach no remote.
   */
  markRead?(mark: ReadMark): Effect.Effect<ReadMarkOutcome>
  /**
   * The bytes of a file, unsealed. Fails at the end, too, when they are not what the message says. May be
   * interrupted at any point. Absent where the transport fetches none.
   */
  fetchFile?(request: FileRequest): Stream.Stream<Uint8Array, FileUnavailable>
  /**
   * States of this process's connections, for transports that have them. The worker stores them for
   * every process.
   */
  readonly connections?: Effect.Effect<ReadonlyArray<ConnectionReport>>
}

export type PhonesOutcome =
  /** The remote answered for each phone; these are registered. */
  | { readonly _tag: "Checked"; readonly registered: ReadonlySet<Phone> }
  /** The remote asks for a pause of `afterMillis`. */
  | { readonly _tag: "Postponed"; readonly afterMillis: number }
  | { readonly _tag: "NotConnected" }
  /** The remote did not answer, or the connection broke. */
  | { readonly _tag: "Unknown" }

/** Asks WhatsApp which phones it knows, through one of its numbers; part of its adapter. */
export class PhoneDirectory extends Context.Service<
  PhoneDirectory,
  {
    /** One query. Never fails: errors are outcomes. May be interrupted at any point. */
    checkPhones(numberId: NumberId, phones: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome>
  }
>()("core/PhoneDirectory") {}

export class WhatsAppTransport extends Context.Service<WhatsAppTransport, Transport>()(
  "core/WhatsAppTransport",
) {}

export class TelegramTransport extends Context.Service<TelegramTransport, Transport>()(
  "core/TelegramTransport",
) {}

// A number that this process keeps connected, and its state.

/** Why a number is not connected, by its remote or the network. */
export type ClosedReason = Extract<
  ConnectionReason,
  "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "connection_lost"
>

/** The state of a number's connection. */
export interface LiveStatus extends Omit<ConnectionReport, "numberId"> {
  readonly reason: ClosedReason | null
}

/** The minimum of an open connection; transports add what sending needs. */
export interface LiveConnection {
  /** Done once it ends; a new connection is another value. */
  readonly over: Deferred.Deferred<void>
  /** When the remote last said anything, in service time; null before. */
  readonly lastWordAt: () => number | null
}

export interface LiveNumber<Open extends LiveConnection> {
  readonly numberId: NumberId
  status: LiveStatus
  open: Open | null
  /** Done when it is next open, or given up. */
  turn: Deferred.Deferred<Open | ClosedReason>
  /**
   * Whether its status is reported: only after the core accepted the link, and until the number
   * leaves.
   */
  isReported: boolean
  /** Opens when the core lists the open number as disconnected and needs another report. */
  readonly contradicted: Latch.Latch
  /** Open while its workspace has conversations, as of the latest look; `notConversing` while not. */
  readonly conversing: Latch.Latch
  readonly notConversing: Latch.Latch
  /** Its session is to be logged out. */
  leaves: boolean
  /** A pause was seen to keep it away. */
  isSuspended: boolean
  /** The core knows that it was given up. */
  isAbandoned: boolean
  /** The proxy in use or about to be; undefined before the first connection. */
  proxyUrl: string | null | undefined
  /** The stored, sealed proxy that `proxyUrl` was last compared with; undefined before. */
  proxy: string | null | undefined
  /** Since when it is not open, in service time; null while open. */
  lostAt: number | null
  /** When its keys were last trimmed, in service time; null before. */
  trimmedAt: number | null
  /** Keys written since the last trim. */
  wroteSince: number
}

/** A number before its connection opens. */
export const newLiveNumber = <Open extends LiveConnection>(
  numberId: NumberId,
  isReported: boolean,
): Effect.Effect<LiveNumber<Open>> =>
  Effect.map(Clock.currentTimeMillis, (since) => ({
    numberId,
    status: { state: "connecting", reason: null, since, lastSeenAt: null, reconnects: 0 },
    open: null,
    turn: Deferred.makeUnsafe(),
    isReported,
    contradicted: Latch.makeUnsafe(false),
    conversing: Latch.makeUnsafe(false),
    notConversing: Latch.makeUnsafe(true),
    leaves: false,
    isSuspended: false,
    isAbandoned: false,
    proxyUrl: undefined,
    proxy: undefined,
    lostAt: null,
    trimmedAt: null,
    wroteSince: 0,
  }))

/** The connection's state and the remote's last word. */
export const getStatus = <Open extends LiveConnection>({
  open,
  status,
}: LiveNumber<Open>): LiveStatus =>
  open === null ? status : { ...status, lastSeenAt: open.lastWordAt() }

/** What the list of sessions says; so no number costs a question. */
export const noteConversations = (
  live: Pick<LiveNumber<never>, "conversing" | "notConversing"> | undefined,
  hasConversations: boolean,
): Effect.Effect<unknown> => {
  if (live === undefined) return Effect.void
  const { conversing, notConversing } = live
  return hasConversations
    ? Effect.andThen(notConversing.close, conversing.open)
    : Effect.andThen(conversing.close, notConversing.open)
}

/** Changes its status; a new state starts now. */
export const changeStatus = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
  to: Partial<LiveStatus>,
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const isNew = to.state !== undefined && to.state !== live.status.state
    live.status = { ...live.status, ...(isNew ? { since: now } : {}), ...to }
  })

/** Records the end of the open connection, and wakes all that wait for it. */
export const closeConnection = <Open extends LiveConnection>(live: LiveNumber<Open>): void => {
  const { open } = live
  if (open === null) return
  live.status = getStatus(live)
  live.open = null
  // Who waited for an opening that was interrupted waits for the next one.
  if (Deferred.isDoneUnsafe(live.turn)) live.turn = Deferred.makeUnsafe()
  // Last: waiters continue at once and must not find the closed connection.
  Deferred.doneUnsafe(open.over, Effect.void)
}

/** The open connection, waiting while it opens; or why there is none. */
export const settled = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
): Effect.Effect<Open | ClosedReason> =>
  Effect.suspend((): Effect.Effect<Open | ClosedReason> => {
    // A connection may end before that is recorded.
    if (live.open !== null && Deferred.isDoneUnsafe(live.open.over)) closeConnection(live)
    return live.open === null ? Deferred.await(live.turn) : Effect.succeed(live.open)
  })

/** The longest pause while the remote does not answer; it may be back at any time. */
const longestSilentMillis = 15_000

interface ReconnectPauses {
  readonly next: (isRefused: boolean, drawn: number) => number
  /** The next pauses are short again. */
  readonly reset: () => void
}

/**
 * The pauses before reconnecting, in milliseconds. They double with each failure of the same kind;
 * the upper half is random, so that numbers lost together do not return together. Only a remote that
 * refuses is left alone for `longest`. `drawn`: in [0, 1).
 */
export const makeReconnectPauses = ({
  first,
  longest,
}: {
  readonly first: number
  readonly longest: number
}): ReconnectPauses => {
  let [refusals, silences] = [0, 0]
  return {
    next: (isRefused, drawn) => {
      const failures = isRefused ? refusals++ : silences++
      const bound = isRefused ? longest : Math.min(longest, longestSilentMillis)
      const whole = Math.min(bound, first * 2 ** Math.min(failures, 30))
      return Math.round(whole / 2 + (drawn * whole) / 2)
    },
    reset: () => {
      ;[refusals, silences] = [0, 0]
    },
  }
}

// The port that links numbers to phones, WhatsApp only (contract: Connecting a number). The worker
// of an attempt holds the connection while it reads the stream, and stores its events for every
// process to show.

export interface LinkingRequest {
  readonly numberId: NumberId
  readonly method: LoginMethod
  /** Digits with country code, for the pairing code; null with a QR code. */
  readonly phone: string | null
}

export type LinkingEvent =
  /** The QR code to scan from now on. */
  | {
      readonly _tag: "QrShown"
      readonly text: string
      /** When another code replaces it, or the connection ends. */
      readonly expiresAt: number
    }
  /** The pairing code to type from now on. */
  | { readonly _tag: "PairingCodeShown"; readonly pairingCode: PairingCode }
  /** The phone took the code; linking continues. */
  | { readonly _tag: "Taken" }
  /** The link is made and its credentials stored: the number can send. */
  | {
      readonly _tag: "Linked"
      /** Digits with country code. */
      readonly phone: string
    }
  /** It cannot be linked, such as an account that requires more than a code. */
  | { readonly _tag: "Failed"; readonly reason: string }

export class NumberLinking extends Context.Service<
  NumberLinking,
  {
    /**
     * One connection for linking. If it ends without `Linked` or `Failed`, the remote has no more
     * codes or the connection broke; a new stream continues. Interruption closes it. Never fails:
     * errors are events.
     */
    link(request: LinkingRequest): Stream.Stream<LinkingEvent>
  }
>()("core/NumberLinking") {}

// The port that logs Telegram accounts in (contract: Telegram login). The session store keeps an
// open login sealed, so that any process may continue it; codes and passwords are never stored. The
// number's owner connects it afterwards.

/** How long a login lasts in total. */
export const telegramLoginMillis = 10 * 60 * 1000

export const telegramLoginStates = [
  "showing_qr",
  "code_sent",
  "password_needed",
  "connected",
  "failed",
  "expired",
] as const

export type TelegramLoginState = (typeof telegramLoginStates)[number]

/** How the login code was delivered. */
export const codeWays = ["app", "sms", "call", "email"] as const

/** The state of a login. */
export interface TelegramLoginView {
  readonly state: TelegramLoginState
  /** The QR code for the account's own app, and its expiry. */
  readonly qr: { readonly url: string; readonly expiresAt: number } | null
  readonly codeSentTo: (typeof codeWays)[number] | null
  /** When the whole login expires. */
  readonly expiresAt: number
  /** Why it failed. */
  readonly error: string | null
}

export type TelegramLoginRequest =
  | { readonly method: "qr" }
  | { readonly method: "code"; readonly phone: Phone }

/** The state after a code or password. `wrong`: another try is allowed; null: no login. */
export type AfterSecret = TelegramLoginView | "wrong" | null

/** Logs accounts in at the remote. Never fails: errors are states of the login. */
export interface TelegramLoginPort {
  /** Whether an application is configured; without one the remote refuses every login. */
  readonly isConfigured: boolean
  /**
   * Starts a login in place of an earlier one. Null while one is open, or when the number has an
   * account. `isShutOut`: the remote has shut that account out, so the login replaces it.
   */
  begin(
    numberId: NumberId,
    request: TelegramLoginRequest,
    isShutOut?: boolean,
  ): Effect.Effect<TelegramLoginView | null>
  /** Null if there is none. */
  look(numberId: NumberId): Effect.Effect<TelegramLoginView | null>
  giveCode(numberId: NumberId, code: string): Effect.Effect<AfterSecret>
  givePassword(numberId: NumberId, password: string): Effect.Effect<AfterSecret>
  /** Cancels an open login; whether there was one. */
  cancel(numberId: NumberId): Effect.Effect<boolean>
}

/** Without an adapter no account can log in. */
export const TelegramLogin = Context.Reference<TelegramLoginPort>("core/TelegramLogin", {
  defaultValue: () => ({
    isConfigured: false,
    begin: () => Effect.succeed(null),
    look: () => Effect.succeed(null),
    giveCode: () => Effect.succeed(null),
    givePassword: () => Effect.succeed(null),
    cancel: () => Effect.succeed(false),
  }),
})
