/**
 * The transport ports: what a WhatsApp or Telegram adapter must do, and the truth it must tell. An
 * attempt ends with the far side's word or with not knowing; a call that merely returned is not
 * "sent". Ticks and connection changes are handed over until they are stored.
 */
import { Context } from "effect"
import type { Effect, Stream } from "effect"
import type { NumberId, TransportId } from "../Ids.ts"
import type { MediaType } from "../media/contentType.ts"
import type { MediaFilesError } from "../media/MediaFiles.ts"
import type { MessageError } from "../message/Message.ts"
import type { ConnectionReport } from "../number/Connection.ts"
import type { ConnectionReason, NumberStatus } from "../number/SendingNumber.ts"
import type { Phone } from "../recipient/Phone.ts"
import type { Target } from "../recipient/Recipient.ts"

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
