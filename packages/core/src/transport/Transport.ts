/**
 * The transport ports: what a WhatsApp or Telegram adapter must do, and the truth it must tell. An
 * attempt ends with the far side's word or with not knowing; a call that merely returned is not
 * "sent". Ticks and connection changes are handed over until they are stored.
 */
import { Clock, Context, Deferred, Effect, Latch } from "effect"
import type { Stream } from "effect"
import type { NumberId, TransportId } from "../Ids.ts"
import type { MediaFilesError, MediaType } from "../media/Media.ts"
import type { MessageError } from "../message/Message.ts"
import type { PairingCode } from "../number/Linking.ts"
import type { ConnectionReport } from "../number/NumberStore.ts"
import type { ConnectionReason, LoginMethod, NumberStatus } from "../number/SendingNumber.ts"
import type { Phone, Target } from "../recipient/Recipient.ts"

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
  /** The same on every repeat. */
  readonly transportId: TransportId
  readonly to: Target
  readonly text: string
  readonly media: OutgoingMedia | null
  /**
   * An attempt before this one may have reached the far side. What was settled for it stays, such as the
   * account that a name stood for: otherwise two people might get the message.
   */
  readonly mayHaveLeft?: boolean
  /**
   * After that, in epoch milliseconds of service time, it is not handed over any more: an adapter that had to
   * wait, for a connection or an upload, answers `Postponed`. Null or left out: it does not expire.
   */
  readonly expiresAt?: number | null
}

/**
 * What an adapter answers right before it hands over a message that has expired while it waited: nothing was
 * sent, and the core ends it. Null: it may be handed over.
 */
export const outcomeOnceExpired = (
  { expiresAt = null }: Pick<OutgoingMessage, "expiresAt">,
  now: number,
): SendOutcome | null =>
  expiresAt === null || now < expiresAt ? null : { _tag: "Postponed", afterMillis: 0 }

export type SendOutcome =
  /** The far side acknowledged it. */
  | { readonly _tag: "Accepted" }
  /**
   * The far side, or the adapter before it, refused it for good: it was not and will not be shown.
   * `againstNumber`: the far side refused because of the number that sends, such as an account that is
   * restricted, and not because of the message or its recipient. Several in a row pause the number.
   */
  | {
      readonly _tag: "Refused"
      readonly error: MessageError
      readonly againstNumber: boolean
    }
  /** Not now: nothing was sent; the number's lane rests for `afterMillis` (a flood wait). */
  | { readonly _tag: "Postponed"; readonly afterMillis: number }
  /** The number turned out not to be connected; nothing was sent. */
  | { readonly _tag: "NotConnected" }
  /** It may or may not have left: the connection broke, or no acknowledgement came. */
  | { readonly _tag: "Unknown" }

export type TransportEvent =
  /** May repeat, skip and come out of order. */
  | {
      readonly _tag: "Tick"
      /** Whose connection heard it: it speaks of no other number's messages. */
      readonly numberId: NumberId
      readonly transportId: TransportId
      readonly status: "delivered" | "read"
    }
  | {
      readonly _tag: "ConnectionChanged"
      readonly numberId: NumberId
      readonly status: Exclude<NumberStatus, "connecting">
      /** Digits with country code, when the link revealed it. */
      readonly phone: string | null
      /** Why it is disconnected; null when it is connected, or when that is not known. */
      readonly reason: ConnectionReason | null
    }

/** Takes an event into the service. Done once it is stored: a store that does not answer is waited for. */
export type TakeEvent = (event: TransportEvent) => Effect.Effect<void>

export interface Transport {
  /** Whether the far side shows one copy for one transport id, so that a repeat is safe. */
  readonly dropsCopies: boolean
  /** One attempt. Never fails: what went wrong is an outcome. May be interrupted at any point. */
  send(message: OutgoingMessage): Effect.Effect<SendOutcome>
  /**
   * Keeps connections open, and hands over what they say by themselves, until interrupted. The far
   * side hears that something has come only once it was taken.
   */
  listen(take: TakeEvent): Effect.Effect<never>
  /**
   * How the connections stand that this process keeps, for transports that have connections of their
   * own. The worker writes it down where every process can read it.
   */
  readonly connections?: Effect.Effect<ReadonlyArray<ConnectionReport>>
}

export type PhonesOutcome =
  /** The far side told for each; those that it knows. */
  | { readonly _tag: "Checked"; readonly registered: ReadonlySet<Phone> }
  /** Not now: the far side asks for a pause of `afterMillis`. */
  | { readonly _tag: "Postponed"; readonly afterMillis: number }
  /** The number turned out not to be connected. */
  | { readonly _tag: "NotConnected" }
  /** The far side did not tell, or the connection broke. */
  | { readonly _tag: "Unknown" }

/** Asking WhatsApp which phones it knows, from one of its numbers; part of its adapter. */
export class PhoneDirectory extends Context.Service<
  PhoneDirectory,
  {
    /** One question. Never fails: what went wrong is an outcome. May be interrupted at any point. */
    checkPhones(numberId: NumberId, phones: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome>
  }
>()("core/PhoneDirectory") {}

export class WhatsAppTransport extends Context.Service<WhatsAppTransport, Transport>()(
  "core/WhatsAppTransport",
) {}

export class TelegramTransport extends Context.Service<TelegramTransport, Transport>()(
  "core/TelegramTransport",
) {}

// A number whose connection this process keeps: how it stands, and what is known of it besides.

/** Why a number is not connected, as its far side or the network has it. */
export type ClosedReason = Extract<
  ConnectionReason,
  "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "connection_lost"
>

/** What is known of a number's connection. */
export interface LiveStatus extends Omit<ConnectionReport, "numberId"> {
  readonly reason: ClosedReason | null
}

/** What an open connection is at least; a transport adds what sending over it needs. */
export interface LiveConnection {
  /** Done once it is over; a new connection is another value. */
  readonly over: Deferred.Deferred<void>
  /** When the far side last said anything, in service time; null before it did. */
  readonly lastWordAt: () => number | null
}

export interface LiveNumber<Open extends LiveConnection> {
  readonly numberId: NumberId
  status: LiveStatus
  open: Open | null
  /** Done when it is next open, or given up. */
  turn: Deferred.Deferred<Open | ClosedReason>
  /** Whether the core is told of its status: not before it has taken the link, nor once the number leaves. */
  told: boolean
  /** Opened where the core has an open number as disconnected, and is to be told once more. */
  readonly contradicted: Latch.Latch
  /** Its session is to be logged out. */
  leaves: boolean
  /** It was seen to be kept away by a pause. */
  isKeptAway: boolean
  /** The core knows that it was given up. */
  isGivenUp: boolean
  /** What its connection goes through, or is about to; undefined before it is first opened. */
  proxyUrl: string | null | undefined
  /** The kept proxy, which is sealed, that `proxyUrl` was last compared with; undefined before that. */
  proxy: string | null | undefined
  /** Since when it has not been open, in service time; null while it is. */
  lostAt: number | null
  /** When its keys were last trimmed, in service time; null before that. */
  trimmedAt: number | null
  /** How many keys were written since. */
  wroteSince: number
}

/** A number whose connection is about to be opened. */
export const newLiveNumber = <Open extends LiveConnection>(
  numberId: NumberId,
  told: boolean,
): Effect.Effect<LiveNumber<Open>> =>
  Effect.map(Clock.currentTimeMillis, (since) => ({
    numberId,
    status: { state: "connecting", reason: null, since, lastSeenAt: null, reconnects: 0 },
    open: null,
    turn: Deferred.makeUnsafe(),
    told,
    contradicted: Latch.makeUnsafe(false),
    leaves: false,
    isKeptAway: false,
    isGivenUp: false,
    proxyUrl: undefined,
    proxy: undefined,
    lostAt: null,
    trimmedAt: null,
    wroteSince: 0,
  }))

/** How its connection stands, up to the far side's last word. */
export const statusOf = <Open extends LiveConnection>({
  open,
  status,
}: LiveNumber<Open>): LiveStatus =>
  open === null ? status : { ...status, lastSeenAt: open.lastWordAt() }

/** Changes its status; a state that is new begins now. */
export const changeStatus = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
  to: Partial<LiveStatus>,
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const isNew = to.state !== undefined && to.state !== live.status.state
    live.status = { ...live.status, ...(isNew ? { since: now } : {}), ...to }
  })

/** Notes that the number's open connection is over, and wakes all that wait for its end. */
export const closeConnection = <Open extends LiveConnection>(live: LiveNumber<Open>): void => {
  const { open } = live
  if (open === null) return
  live.status = statusOf(live)
  live.open = null
  live.turn = Deferred.makeUnsafe()
  // What waits for this goes on at once, and must not find the closed connection: so it comes last.
  Deferred.doneUnsafe(open.over, Effect.void)
}

/** Its open connection, waited for while it is being opened; or why there is none. */
export const settled = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
): Effect.Effect<Open | ClosedReason> =>
  Effect.suspend((): Effect.Effect<Open | ClosedReason> => {
    // A connection may be over before its end was noted.
    if (live.open !== null && Deferred.isDoneUnsafe(live.open.over)) closeConnection(live)
    return live.open === null ? Deferred.await(live.turn) : Effect.succeed(live.open)
  })

/**
 * The pause before the next connection: doubling with each failure in a row, of which the upper half is
 * drawn, so that numbers that were lost together do not come back together. `drawn`: from 0 up to 1.
 */
export const reconnectPauseMillis = (
  failures: number,
  drawn: number,
  { first, longest }: { readonly first: number; readonly longest: number },
): number => {
  const whole = Math.min(longest, first * 2 ** Math.min(failures, 30))
  return Math.round(whole / 2 + (drawn * whole) / 2)
}

// The port through which numbers are linked to phones. Only WhatsApp numbers are connected here
// (contract: Connecting a number). The worker that runs an attempt holds its connection for as long
// as the stream is read; what the stream says is stored by the worker, so that every process can
// show it.

export interface LinkingRequest {
  readonly numberId: NumberId
  readonly method: LoginMethod
  /** Digits with country code: for whom the pairing code is; null with a QR code. */
  readonly phone: string | null
}

export type LinkingEvent =
  /** The QR code to be scanned from now on. */
  | { readonly _tag: "QrShown"; readonly text: string }
  /** The pairing code to be typed from now on. */
  | { readonly _tag: "PairingCodeShown"; readonly pairingCode: PairingCode }
  /** The phone has taken the code; linking goes on. */
  | { readonly _tag: "Taken" }
  /** The link is made, and its credentials are kept: the number can send. */
  | {
      readonly _tag: "Linked"
      /** Digits with country code. */
      readonly phone: string
    }
  /** It cannot be linked at all, such as an account that asks for more than a code. */
  | { readonly _tag: "Failed"; readonly reason: string }

export class NumberLinking extends Context.Service<
  NumberLinking,
  {
    /**
     * One connection's worth of linking. Its end without `Linked` or `Failed` means that the far side
     * has no further codes to give or that the connection broke: a new stream goes on where it left
     * off. Interrupting it gives the connection up. Never fails: what went wrong is an event.
     */
    link(request: LinkingRequest): Stream.Stream<LinkingEvent>
  }
>()("core/NumberLinking") {}

// The port through which Telegram accounts are logged in (contract: Telegram login). A login is kept with
// what the number has, sealed, so that any process may go on with it; its codes and passwords are kept
// nowhere. Once it is through, the worker that has the number connects it.

/** How long a login lasts in all. */
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

/** How a login code reached its person. */
export const codeWays = ["app", "sms", "call", "email"] as const

/** How a login stands. */
export interface TelegramLoginView {
  readonly state: TelegramLoginState
  /** What a QR code shows to the account's own app, and until when. */
  readonly qr: { readonly url: string; readonly expiresAt: number } | null
  readonly codeSentTo: (typeof codeWays)[number] | null
  /** When the login as a whole is over. */
  readonly expiresAt: number
  /** Why it failed. */
  readonly error: string | null
}

export type TelegramLoginRequest =
  | { readonly method: "qr" }
  | { readonly method: "code"; readonly phone: Phone }

/** How it stands after a code or a password; `wrong`: it may be given again; null: there is no login. */
export type AfterSecret = TelegramLoginView | "wrong" | null

/** Logging accounts in at the far side. Never fails: what went wrong is how the login stands. */
export interface TelegramLoginPort {
  /** Whether there is an application, without which the far side lets no account in. */
  readonly isConfigured: boolean
  /**
   * Begins in place of what there was; null while one goes on, or the number has an account. `isShutOut`:
   * the remote server has shut that account out, so the login takes its place.
   */
  begin(
    numberId: NumberId,
    request: TelegramLoginRequest,
    isShutOut?: boolean,
  ): Effect.Effect<TelegramLoginView | null>
  /** Null where there is none. */
  look(numberId: NumberId): Effect.Effect<TelegramLoginView | null>
  giveCode(numberId: NumberId, code: string): Effect.Effect<AfterSecret>
  givePassword(numberId: NumberId, password: string): Effect.Effect<AfterSecret>
  /** Gives a login up that goes on; whether there was one. */
  cancel(numberId: NumberId): Effect.Effect<boolean>
}

/** Without an adapter no account can be logged in. */
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
