/**
 * What people write to a number, as a transport reports it, and what the store keeps of that (contract:
 * Received messages and chats). Pure.
 */
import type { EventId, ReceivedMessageId } from "./Ids.ts"
import { receivedFileName } from "./Media.ts"
import type { ReceivedFileLink } from "./Media.ts"
import type { ReceivedFile, ReceivedFileState } from "./ReceivedFile.ts"
import type { Message } from "./Message.ts"
import type { MessageJson } from "./MessageChange.ts"
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

/** What happens to a person's record once the remote reports it again: what it did not tell stays. */
export const mergedPerson = (known: Person, told: Person): Person => ({
  phone: told.phone ?? known.phone,
  lid: told.lid ?? known.lid,
  userId: told.userId ?? known.userId,
  username: told.username ?? known.username,
  name: told.name ?? known.name,
})

/** What a kind has in addition to its text. */
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

/** In which chat something happened, and who did it. */
export interface ChatContext {
  readonly mode: Mode
  /** The number's owner did it on the phone or another device. */
  readonly fromMe: boolean
  /** Null for a chat with one person. */
  readonly group: { readonly remoteId: string; readonly name: string | null } | null
  /** Who did it, or the person of the chat if the owner did; null for what the owner did in a group. */
  readonly person: Person | null
}

/** What tells a message from every other one. */
export interface Addressed extends ChatContext {
  /** The platform's id, by which a repeat is recognised. */
  readonly remoteId: string
}

/** A message that a person wrote to a number, or its owner on the phone, as the transport reports it. */
export interface IncomingMessage extends Addressed {
  readonly _tag: "Message"
  /** The address under which the remote told of it, where a read mark must name that one. */
  readonly address?: string | null
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

/**
 * A message that could not be read. Its sender is asked for a copy; one that does not come in time becomes a
 * received message of kind `unreadable`.
 */
export interface UnreadableMessage extends Addressed {
  readonly _tag: "Unreadable"
  /** The sender's time. */
  readonly sentAt: number
}

/** An edit, a revocation or a reaction. One of a message that is not stored is dropped. */
export interface IncomingChange extends ChatContext {
  readonly _tag: "Change"
  /** The platform's id of the change itself, if it has one: no copy of its repeats is asked for. */
  readonly changeId?: string
  readonly target: {
    readonly remoteId: string
    /** Whether the number wrote it; null where the platform does not tell. */
    readonly fromMe: boolean | null
  }
  /**
   * The platform checked that this may be done. Otherwise only the author of a message edits or revokes it.
   * With neither a group nor a person the message may be in any chat.
   */
  readonly isVerified: boolean
  readonly change:
    | { readonly type: "edit"; readonly text: string }
    | { readonly type: "revocation" }
    /** Null takes the reaction back. */
    | { readonly type: "reaction"; readonly emoji: string | null }
  /** The author's time. An older one than the latest of its kind is a repeat; see `changedMessage`. */
  readonly at: number
}

export const gapReasons = ["relinked", "skipped"] as const

/** Linked again: what came between is not given to a new device. Skipped: the platform said so. */
export type GapReason = (typeof gapReasons)[number]

/** The platform skipped messages, and nothing else reports them. */
export interface IncomingGap {
  readonly _tag: "Gap"
  readonly mode: Mode
  readonly reason: GapReason
  /** Nothing is missing before it. */
  readonly from: number
}

/** What a transport reports of a number's chats, in the order in which the platform told it. */
export type Incoming = IncomingMessage | UnreadableMessage | IncomingChange | IncomingGap

/** With what its event is made of. */
export interface NewReceived<One extends Incoming = Incoming> {
  readonly incoming: One
  readonly eventId: EventId
  /** Makes the link of a file that the event shows. Default: none. */
  readonly link?: ReceivedFileLink | undefined
  /** A message of this service, as events show it. */
  readonly toMessageJson: (message: Message) => MessageJson
}

/** What happened to something that a transport told. */
export interface ReceivedOutcome {
  /** The stored message; null where there is none. */
  readonly id: ReceivedMessageId | null
  /**
   * `stored`: a new message. `recovered`: it takes the place of one that could not be read. `waiting`: for a
   * copy. `changed`: what it was about. `told`: of a gap. `repeat`: nothing, it is known already. `dropped`:
   * conversations are off, its group is not kept, the number was removed, or what it is about is not stored.
   */
  readonly became: "stored" | "recovered" | "waiting" | "changed" | "told" | "repeat" | "dropped"
  /** The state of its file, of a message that was stored or recovered with one. */
  readonly file?: ReceivedFileState
}

/** How long a message that cannot be read waits for a copy. */
export const copyWaitMillis = 10 * 60_000

/** What happens to it when no copy came. */
export const withoutCopy = ({ _tag, ...addressed }: UnreadableMessage): IncomingMessage => ({
  ...addressed,
  _tag: "Message",
  kind: "unreadable",
  text: "",
  content: null,
  file: null,
  quote: null,
})

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

const fitPlace = ({ group, person }: ChatContext): Pick<ChatContext, "group" | "person"> => ({
  group: group && {
    remoteId: fit(group.remoteId, maximumNameLength),
    name: fitOrNull(group.name),
  },
  person: person && fitPerson(person),
})

/** A long text is cut, and `content.truncated` says so. */
export const fitText = (
  text: string,
  content: ReceivedContent | null,
): Pick<IncomingMessage, "text" | "content"> => {
  const fitted = fit(text, maximumTextLength)
  const isCut = fitted.length < text.toWellFormed().replaceAll("\u0000", "").length
  return { text: fitted, content: isCut ? { ...content, truncated: true } : content }
}

const keptMessage = (incoming: IncomingMessage): IncomingMessage => {
  const { content, file, quote } = incoming
  return {
    ...incoming,
    ...fitPlace(incoming),
    ...fitText(incoming.text, content && fitContent(content)),
    remoteId: fit(incoming.remoteId, maximumNameLength),
    address: fitOrNull(incoming.address ?? null),
    file: file && {
      ...file,
      mimeType: fitOrNull(file.mimeType),
      fileName: file.fileName === null ? null : receivedFileName(file.fileName),
      sha256: fitOrNull(file.sha256),
    },
    quote: quote && {
      remoteId: fitOrNull(quote.remoteId),
      text: fit(quote.text, maximumQuoteLength),
    },
  }
}

const maximumEmojiLength = 32

const keptChange = (incoming: IncomingChange): IncomingChange => {
  const { change, target } = incoming
  const { emoji = null } = change.type === "reaction" ? change : {}
  return {
    ...incoming,
    ...fitPlace(incoming),
    ...(incoming.changeId !== undefined && { changeId: fit(incoming.changeId, maximumNameLength) }),
    target: { ...target, remoteId: fit(target.remoteId, maximumNameLength) },
    // An empty one takes it back.
    change:
      change.type === "reaction"
        ? { ...change, emoji: emoji === null ? null : fit(emoji, maximumEmojiLength) || null }
        : change,
  }
}

/** What is kept of it. */
export const keptIncoming = (incoming: Incoming): Incoming => {
  switch (incoming._tag) {
    case "Message":
      return keptMessage(incoming)
    case "Change":
      return keptChange(incoming)
    case "Unreadable":
      return {
        ...incoming,
        ...fitPlace(incoming),
        remoteId: fit(incoming.remoteId, maximumNameLength),
      }
    case "Gap":
      return incoming
  }
}

/** Whether a workspace keeps what happens there. */
export const isKept = (
  { group }: Pick<ChatContext, "group">,
  settings: { readonly groups: boolean },
): boolean => group === null || settings.groups

/**
 * What tells it from every other message of its number, one text for each address under which its author is
 * known: one that is there already makes it a repeat (contract: Received messages and chats). `person` as it is known by
 * now; of what the owner wrote the chat alone tells it apart.
 */
export const receivedMarks = (
  { fromMe, group, mode, remoteId }: Omit<Addressed, "person">,
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
