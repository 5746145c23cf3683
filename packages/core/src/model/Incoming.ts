/**
 * What people write to a number, as a transport tells of it, and what the store keeps of that (contract:
 * Received messages and chats). Pure.
 */
import type { EventId } from "./Ids.ts"
import type { ReceivedFileLink } from "./Media.ts"
import type { Mode } from "./Workspace.ts"

export const receivedKinds = [
  "text",
  "image",
  "video",
  "audio",
  "voice",
  "document",
  "sticker",
  "location",
  "contact",
  "poll",
  "unsupported",
  "unreadable",
] as const

export type ReceivedKind = (typeof receivedKinds)[number]

/** Under which addresses a person is known; null for what is not. */
export interface Person {
  /** E.164 with a leading +. */
  readonly phone: string | null
  /** WhatsApp's other name of an account, in digits. */
  readonly lid: string | null
  /** Telegram's id of an account, in digits. */
  readonly userId: string | null
  /** Without @. */
  readonly username: string | null
  /** What the person calls itself; nothing is decided by it. */
  readonly name: string | null
}

export const unknownPerson: Person = {
  phone: null,
  lid: null,
  userId: null,
  username: null,
  name: null,
}

/** The addresses that identify a person, in the order of look-up. A username may pass to another person. */
export const personAddresses = ["phone", "lid", "userId"] as const satisfies ReadonlyArray<
  keyof Person
>

/** What becomes of a person's record once the remote tells of it again: what it did not tell stays. */
export const mergedPerson = (known: Person, told: Person): Person => ({
  phone: told.phone ?? known.phone,
  lid: told.lid ?? known.lid,
  userId: told.userId ?? known.userId,
  username: told.username ?? known.username,
  name: told.name ?? known.name,
})

/** What a kind has beside its text. */
export type ReceivedContent =
  | {
      readonly latitude: number
      readonly longitude: number
      readonly name: string | null
      readonly address: string | null
    }
  | {
      readonly contacts: ReadonlyArray<{
        readonly name: string
        readonly phones: ReadonlyArray<string>
      }>
    }
  | { readonly question: string; readonly options: ReadonlyArray<string> }
  /** The platform's name of what has no kind here. */
  | { readonly type: string }
  | Record<never, never>

/** A file of a received message, as the message itself describes it. */
export interface ReceivedFile {
  readonly mimeType: string | null
  /** Bytes. */
  readonly size: number | null
  readonly fileName: string | null
  /** Of sound and moving pictures. */
  readonly seconds: number | null
  /** Hexadecimal. */
  readonly sha256: string | null
}

/** A message that a person wrote to a number, or its owner on the phone, as the transport reports it. */
export interface Incoming {
  /** The platform's id, by which a repeat is recognised. */
  readonly remoteId: string
  /** The address under which the remote told of it, where a read mark must name that one. */
  readonly address?: string | null
  readonly mode: Mode
  /** The number's owner wrote it on the phone or another device. */
  readonly fromMe: boolean
  /** Null for a chat with one person. */
  readonly group: { readonly remoteId: string; readonly name: string | null } | null
  /** Who wrote it, or to whom the owner did; null for what the owner wrote in a group. */
  readonly person: Person | null
  readonly kind: ReceivedKind
  readonly text: string
  readonly content: ReceivedContent | null
  readonly file: ReceivedFile | null
  /**
   * What fetching the file needs, as the transport reads it: a store gets it sealed. Absent where the message
   * does not tell.
   */
  readonly fileSource?: string | null
  /** The message that it quotes. */
  readonly quote: { readonly remoteId: string | null; readonly text: string } | null
  /** The sender's time. */
  readonly sentAt: number
}

/** With the id of the event that it causes. */
export interface NewReceived {
  readonly incoming: Incoming
  readonly eventId: EventId
  /** Makes the link that the event shows. Default: none. */
  readonly link?: ReceivedFileLink
}

const maximumTextLength = 65_536
const maximumQuoteLength = 200
const maximumNameLength = 200

/** At most so many code points, well-formed and without NUL, as stores keep texts. */
const fit = (text: string, most: number): string => {
  const clean = text.toWellFormed().replaceAll("\u0000", "")
  // A code point has one or two units.
  return clean.length <= most
    ? clean
    : Array.from(clean.slice(0, 2 * most))
        .slice(0, most)
        .join("")
}

const fitOrNull = (text: string | null): string | null =>
  text === null ? null : fit(text, maximumNameLength)

const fitPerson = (person: Person): Person => ({
  phone: fitOrNull(person.phone),
  lid: fitOrNull(person.lid),
  userId: fitOrNull(person.userId),
  username: fitOrNull(person.username),
  name: fitOrNull(person.name),
})

const fitContent = (content: ReceivedContent): ReceivedContent => {
  const fitted = (value: unknown): unknown => {
    if (typeof value === "string") return fit(value, 1000)
    if (Array.isArray(value)) return value.slice(0, 100).map(fitted)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fitted(one)]))
  }
  return fitted(content) as ReceivedContent
}

/** What is kept of it: long texts are cut, and `content.truncated` says so. */
export const keptIncoming = (incoming: Incoming): Incoming => {
  const { content, file, group, person, quote } = incoming
  const text = fit(incoming.text, maximumTextLength)
  const isCut = text.length < incoming.text.toWellFormed().replaceAll("\u0000", "").length
  const fitted = content && fitContent(content)
  return {
    ...incoming,
    remoteId: fit(incoming.remoteId, maximumNameLength),
    address: fitOrNull(incoming.address ?? null),
    group: group && {
      remoteId: fit(group.remoteId, maximumNameLength),
      name: fitOrNull(group.name),
    },
    person: person && fitPerson(person),
    text,
    content: isCut ? { ...fitted, truncated: true } : fitted,
    file: file && {
      ...file,
      mimeType: fitOrNull(file.mimeType),
      fileName: fitOrNull(file.fileName),
      sha256: fitOrNull(file.sha256),
    },
    quote: quote && {
      remoteId: fitOrNull(quote.remoteId),
      text: fit(quote.text, maximumQuoteLength),
    },
  }
}

/** Whether a workspace keeps it. */
export const isKept = (
  { group }: Pick<Incoming, "group">,
  settings: { readonly groups: boolean },
): boolean => group === null || settings.groups

/**
 * What tells it from every other message of its number, one text for each address under which its author is
 * known: one that is there already makes it a repeat (contract: Received messages and chats). `person` as it is known by
 * now; of what the owner wrote the chat alone tells it apart.
 */
export const receivedMarks = (
  { fromMe, group, mode, remoteId }: Pick<Incoming, "fromMe" | "group" | "mode" | "remoteId">,
  person: Person | null,
): ReadonlyArray<string> => {
  const chat = group === null ? [mode, fromMe] : [mode, fromMe, group.remoteId]
  const addresses = personAddresses.flatMap((name) => {
    const address = person?.[name] ?? null
    return address === null ? [] : [[name, address]]
  })
  return addresses.length === 0 || (fromMe && group !== null)
    ? [JSON.stringify([...chat, remoteId])]
    : addresses.map((address) => JSON.stringify([...chat, ...address, remoteId]))
}
