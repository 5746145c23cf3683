/** The people behind the server, the keys of their clients, and their messages. */
import type { tl } from "@mtcute/node"
import { Long } from "@mtcute/node"
import type { Connection } from "./Connection.ts"
import { longFrom, sha256 } from "./envelope.ts"
import type { Orders } from "./orders.ts"
import type { Verifier } from "./passwords.ts"

/** How a login code reaches its person. */
export type CodeWay = "app" | "sms" | "call" | "email"

/** A message on a person's phone. */
export interface DisplayedMessage {
  /** The sender's phone, and the phone that shows it. */
  readonly from: string
  readonly to: string
  readonly text: string
  readonly entities: ReadonlyArray<tl.TypeMessageEntity>
  readonly media: {
    readonly kind: "photo" | "document"
    /** Pictures have none. */
    readonly fileName: string | null
    readonly mimeType: string
    readonly size: number
    readonly sha256: string
  } | null
  /** The id that the sending client drew. */
  readonly randomId: string
}

/** An event in a person's message box. */
export interface BoxEvent {
  readonly pts: number
  readonly update: tl.TypeUpdate
  readonly user: Person
}

export interface Person {
  readonly id: number
  /** Digits with country code. */
  readonly phone: string
  username: string | null
  readonly dcId: number
  readonly code: string
  /** How login codes are sent: first, and at each repeat. */
  readonly codeWays: ReadonlyArray<CodeWay>
  readonly verifier: Verifier | null
  /** Whether phones find the account. */
  readonly isFoundByPhone: boolean
  isBanned: boolean
  readonly displayed: Array<DisplayedMessage>
  readonly events: Array<BoxEvent>
  lastMessageId: number
  /** By the id that the client drew: the id of the created message. */
  readonly sent: Map<string, number>
  /** By the other's id: the latest message to them. */
  readonly lastTo: Map<number, number>
  /** Parts of unsent files. */
  readonly uploads: Map<string, Map<number, Uint8Array>>
}

/** An authorization key, which is one client of one data centre. */
export interface AuthKey {
  readonly id: string
  readonly bytes: Uint8Array
  readonly dcId: number
  /** Used salts, the latest last. */
  salts: ReadonlyArray<Long>
  person: Person | null
  /** The person whose password is still missing. */
  awaited: Person | null
  /** Why it is worthless, in the server's words. */
  ended: string | null
  /** Whether it has named its client and layer. */
  isIntroduced: boolean
  readonly sessions: Map<string, Session>
  /** The maximum of sessions that received updates at once. */
  max: number
  /** The connections that received updates: their number, and the latest. */
  started: number
  latest: Connection | null
  /** How often its connections asked to be closed after a silence. */
  pings: number
  /** How often an earlier one of them spoke while the latest was open. */
  mixed: number
}

/** A client's state across its connections; it has one at a time at most. */
export interface Session {
  readonly id: Long
  readonly key: AuthKey
  connection: Connection | null
  /** How many messages were sent that the client acknowledges. */
  sent: number
  /** It has called a method that subscribes it to updates. */
  hearsUpdates: boolean
  readonly requests: Map<string, "working" | "answered">
}

/** A login by code in progress. */
export interface CodeSent {
  readonly hash: string
  readonly person: Person | null
  repeats: number
}

export interface LoginToken {
  readonly keyId: string
  readonly dcId: number
  /** The person who has scanned it. */
  by: Person | null
}

export interface ServerState {
  readonly apiId: number
  readonly apiHash: string
  /** By digits. */
  readonly people: Map<string, Person>
  /** The id of the latest person. */
  lastId: number
  readonly keys: Map<string, AuthKey>
  readonly codes: Map<string, CodeSent>
  /** By the token in base64url. */
  readonly tokens: Map<string, LoginToken>
  readonly orders: Orders
  /** Ports of the data centres, by their ids. */
  readonly ports: Map<number, number>
  /** The messages on all phones, in order of arrival. */
  readonly sent: Array<DisplayedMessage>
  readonly complaints: Array<string>
  /** The length of a second of a ping's `disconnect_delay`, in real milliseconds. */
  readonly disconnectSecondMillis: number
  /** Withheld answers. */
  readonly pending: Array<() => void>
  /** Whether contacts may be imported; otherwise clients must retry later. */
  takesContacts: boolean
  readonly changed: () => void
}

/** The answer to a call is an error. */
export class Refused extends Error {
  readonly code: number
  readonly text: string
  constructor(code: number, text: string) {
    super(text)
    this.code = code
    this.text = text
  }
}

export const toDigits = (phone: string): string => phone.replaceAll(/\D/g, "")

export const secondsNow = (): number => Math.floor(Date.now() / 1000)

/** An id is valid only together with this hash, which differs for each viewer. */
const accessHash = (viewer: Person | null, id: number): Long =>
  longFrom(sha256(Buffer.from(`${viewer?.id ?? 0} sees ${id}`)))

export const userFor = (viewer: Person | null, person: Person): tl.RawUser => ({
  _: "user",
  id: person.id,
  accessHash: accessHash(viewer, person.id),
  firstName: `Person ${person.id}`,
  ...(person.username === null ? {} : { username: person.username }),
  ...(person.isFoundByPhone || viewer === person ? { phone: person.phone } : {}),
  ...(viewer === person ? { self: true } : {}),
})

export const toPeer = ({ id }: Person): tl.RawPeerUser => ({ _: "peerUser", userId: id })

const personById = ({ people }: ServerState, id: number): Person | undefined =>
  [...people.values()].find((person) => person.id === id)

/** The person with that id and hash, for that viewer. */
export const personSeen = (
  state: ServerState,
  viewer: Person,
  { accessHash: hash, userId }: { readonly userId: number; readonly accessHash: Long },
): Person | undefined => {
  const person = personById(state, userId)
  return person !== undefined && accessHash(viewer, userId).eq(hash) ? person : undefined
}

/** The state of an empty box. */
export const firstPts = 1

/** The next event of a person's box; the person's other clients receive it. */
export const addEvent = (
  person: Person,
  user: Person,
  update: (pts: number) => tl.TypeUpdate,
): BoxEvent => {
  const pts = (person.events.at(-1)?.pts ?? firstPts) + 1
  const event = { pts, user, update: update(pts) }
  person.events.push(event)
  return event
}

/** Calls with the person's keys fail with 401 and this text from now on. */
export const endSessions = (state: ServerState, person: Person | null, text: string): void => {
  for (const key of state.keys.values()) if (key.person === person) key.ended = text
  state.changed()
}
