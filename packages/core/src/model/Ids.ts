/**
 * Identity and chance. Every random value of the service comes from `Ids`, so that a test or a
 * simulation owns it; in production the layer of `@messaging-service/node` draws from the system's
 * cryptographic source.
 */
import { Context, Effect, Layer, Random } from "effect"
import type { Brand } from "effect"

export type WorkspaceId = number & Brand.Brand<"WorkspaceId">
export type KeyId = number & Brand.Brand<"KeyId">
export type NumberId = number & Brand.Brand<"NumberId">
export type ChatId = number & Brand.Brand<"ChatId">
export type CampaignId = number & Brand.Brand<"CampaignId">
export type ContactId = number & Brand.Brand<"ContactId">
export type MessageId = number & Brand.Brand<"MessageId">
export type MediaId = number & Brand.Brand<"MediaId">
export type NumberCheckId = number & Brand.Brand<"NumberCheckId">
export type ReceivedMessageId = number & Brand.Brand<"ReceivedMessageId">
export type ReminderId = number & Brand.Brand<"ReminderId">
export type SignInLinkId = number & Brand.Brand<"SignInLinkId">
export type WebhookId = number & Brand.Brand<"WebhookId">

/** The id of an event: `evt_` and 24 letters and digits. */
export type EventId = string & Brand.Brand<"EventId">

/**
 * The id under which a message is handed to a transport: 20 hexadecimal capitals, stored before the
 * first attempt and the same on every repeat, so that the remote server can drop a copy.
 */
export type TransportId = string & Brand.Brand<"TransportId">

/** One attempt at linking a number: 24 letters and digits. */
export type LinkingId = string & Brand.Brand<"LinkingId">

const lettersAndDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const hexadecimal = "0123456789abcdef"

export class Ids
  extends /*#__PURE__*/ Context.Service<
    Ids,
    {
      /** `size` random letters and digits (62 symbols, 5.95 bits each). */
      alphanumeric(size: number): string
      /** `size` random lower-case hexadecimal digits. */
      hex(size: number): string
    }
  >()("core/Ids")
{
  /** Ids from Effect's `Random`: repeatable with a seed, and so for tests and simulations only. */
  static readonly layerRandom = /*#__PURE__*/ Layer.effect(
    Ids,
    /*#__PURE__*/ Effect.gen(function* () {
      const random = yield* Random.Random
      return Ids.of(fromIndexes((bound) => Math.floor(random.nextDoubleUnsafe() * bound)))
    }),
  )
}

/** Builds the service from a source of uniform integers in `[0, bound)`. */
export const fromIndexes = (next: (bound: number) => number): typeof Ids.Service => {
  const draw = (alphabet: string) => (size: number) => {
    let text = ""
    for (let i = 0; i < size; i++) text += alphabet[next(alphabet.length)]
    return text
  }
  return { alphanumeric: draw(lettersAndDigits), hex: draw(hexadecimal) }
}

/** The id of one attempt at linking a number: unguessable, and never that of another attempt. */
export const linkingId = (ids: typeof Ids.Service): LinkingId => ids.alphanumeric(24) as LinkingId

/** `req_` and 24 letters and digits; the value of `X-Request-Id`. */
export const requestId = (ids: typeof Ids.Service): string => `req_${ids.alphanumeric(24)}`

/** A whole number as that many letters and digits, which sort as the numbers do. */
const digits62 = (value: number, size: number): string => {
  let rest = Math.max(0, Math.floor(value))
  let text = ""
  while (text.length < size) {
    text = `${lettersAndDigits[rest % 62] ?? ""}${text}`
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * `evt_` and 24 letters and digits, constant across retries (contract: Events). The first 8 are the
 * millisecond, so that an index of ids grows at its end: entries at random places cost a store a whole
 * page each in its log.
 */
export const eventId = (ids: typeof Ids.Service, now: number): EventId =>
  `evt_${digits62(now, 8)}${ids.alphanumeric(16)}` as EventId

/** For the events of a change of a number, where conversations are on. */
export interface NumberEventIds {
  readonly status: EventId
  readonly pause: EventId
  /** Of messages that came while it was not linked. */
  readonly gap: EventId
}

export const numberEventIds = (ids: typeof Ids.Service, now: number): NumberEventIds => ({
  status: eventId(ids, now),
  pause: eventId(ids, now),
  gap: eventId(ids, now),
})

export const transportId = (ids: typeof Ids.Service): TransportId =>
  ids.hex(20).toUpperCase() as TransportId

/** Reads an id from a path segment: a positive safe integer in plain digits, else undefined. */
export const parseId = <Id extends number>(text: string): Id | undefined => {
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? (id as Id) : undefined
}
