/**
 * The server's state, also while its listener is down: accounts with their devices and keys, groups, the
 * senders of messages, and the test's orders.
 */
import { jidDecode } from "baileys"
import type { Connection } from "./Connection.ts"
import type { PublicKey, SignedKey } from "./deviceKeys.ts"
import type { Mailbox } from "./Mailbox.ts"
import type { ClosedChats, Orders } from "./orders.ts"
import type { Phone } from "./Phone.ts"

/** A linked device as the server knows it: never its secrets. */
export interface Device {
  readonly account: Account
  readonly id: number
  readonly clientKey: Uint8Array
  readonly registrationId: number
  readonly identity: Uint8Array
  signedKey: SignedKey
  preKeys: Array<PublicKey>
  connection: Connection | undefined
  readonly mailbox: Mailbox
  readonly readMarks: Array<ReadMark>
  /** Ids of messages that it could not read, once for each time that it asked for a copy. */
  readonly requestedCopies: Array<string>
  hasHistory: boolean
  readonly sessions: Sessions
}

/** Messages that a device has marked as read. */
export interface ReadMark {
  /** The address of the person or group. */
  readonly chat: string
  /** In a group: the author's address. */
  readonly participant: string | undefined
  readonly ids: ReadonlyArray<string>
  /** `read-self`: the author does not see it. */
  readonly type: "read" | "read-self"
}

export interface Sessions {
  open: number
  /** The maximum of connections that were logged in at once. */
  max: number
  logins: number
}

export interface Account {
  /** The phone number, digits only. */
  readonly number: string
  readonly name: string
  readonly pn: string
  readonly lid: string
  /** Whether the server tells others the account's LID. */
  readonly showsLid: boolean
  /** The device in the person's hand. */
  phone: Phone
  readonly receipts: ReadonlyArray<ReceiptType>
  /** Linking needs a passkey, which the library does not support. */
  readonly needsPasskey: boolean
  readonly standing: Standing
  readonly devices: Map<number, Device>
  lastDeviceId: number
}

/** New chats that an account may begin in a cycle. */
export interface ChatCap {
  /** Null: no cap. */
  readonly limit: number | null
  readonly used: number
  /** The cycle's start and end, in milliseconds. */
  readonly from: number
  readonly until: number
  readonly status: "NONE" | "FIRST_WARNING" | "SECOND_WARNING" | "CAPPED"
}

/** What the account may do with people it does not know. */
export interface Standing {
  closed: ClosedChats | undefined
  cap: ChatCap | undefined
  /** The numbers of people with whom it has exchanged messages. */
  readonly known: Set<string>
}

export type ReceiptType = "delivered" | "read"

export interface Group {
  readonly id: string
  readonly subject: string
  readonly addressing: "pn" | "lid"
  readonly participants: ReadonlyArray<Account>
  readonly administrators: ReadonlySet<Account>
}

/** A message that a linked device sent, with what receipts need. */
export interface Sent {
  readonly device: Device
  readonly to: string
}

export interface ServerState {
  readonly accounts: Map<string, Account>
  readonly groups: Map<string, Group>
  lastGroup: bigint
  readonly sent: Map<string, Sent>
  readonly orders: Orders
  readonly media: Map<string, Buffer>
  /** The status with which the media server answers, by path. */
  readonly endedLinks: Map<string, number>
  /** Everything that the server did not understand. */
  readonly complaints: Array<string>
  readonly asksForFewPreKeys: boolean
  readonly changed: () => void
}

export const toDigits = (number: string) => number.replaceAll(/\D/g, "")

/**
 * Brazil's mobile numbers are found with and without the ninth digit that some of them were given; the
 * account has one of the two.
 */
const toSpellings = (digits: string): ReadonlyArray<string> => {
  const [, longArea, longRest] = /^55(\d\d)9(\d{8})$/.exec(digits) ?? []
  if (longArea !== undefined) return [digits, `55${longArea}${longRest}`]
  const [, area, rest] = /^55(\d\d)([6-9]\d{7})$/.exec(digits) ?? []
  return area === undefined ? [digits] : [digits, `55${area}9${rest}`]
}

/** The account that a client means by this number, perhaps in another spelling. */
export const accountCalled = (state: ServerState, number: string): Account | undefined =>
  toSpellings(toDigits(number))
    .map((digits) => state.accounts.get(digits))
    .find((account) => account !== undefined)

/** The account at an address, by phone number or LID, whichever device it names. */
export const accountAt = (state: ServerState, jid: string): Account | undefined => {
  const decoded = jidDecode(jid)
  if (decoded === undefined) return undefined
  return decoded.server === "lid"
    ? [...state.accounts.values()].find(({ lid }) => lid === `${decoded.user}@lid`)
    : state.accounts.get(decoded.user)
}

export const toDeviceId = (jid: string) => jidDecode(jid)?.device ?? 0

/** An account's address with a device in it; the phone, device 0, is not named. */
export const withDevice = (jid: string, device: number) =>
  device === 0 ? jid : jid.replace("@", `:${device}@`)

export const toLid = (number: string) => `9${number.padStart(14, "0")}@lid`

export const nowSeconds = () => String(Math.floor(Date.now() / 1000))
