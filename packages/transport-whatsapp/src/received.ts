/**
 * What people write is stored in the commit of the Signal keys that opened it, before its receipt leaves:
 * the same ciphertext does not open twice. Each message is one more key in the library's transaction.
 *
 * Messages are handled one after the other in the order of their arrival, so that commits keep it.
 */
import { setImmediate } from "node:timers/promises"
import { isBacklogFull } from "@messaging-service/core"
import type { Addressed, Incoming } from "@messaging-service/core"
import { encodeWAMessage, proto, unpadRandomMax16 } from "baileys"
import type {
  BinaryNode,
  SignalDataSet,
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
  UserFacingSocketConfig,
} from "baileys"
import {
  isAboutAnother,
  isNeverStored,
  isWithoutContent,
  toCopies,
  toIncoming,
  toRevokedOfOther,
  toUnreadable,
} from "./incoming.ts"
import type { Own } from "./incoming.ts"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

// Messages in the library's transactions

const keyType = "received-message"

const asKeys = ({ attrs }: BinaryNode, received: ReadonlyArray<Incoming>): SignalDataSet => {
  const entries = received.map((incoming, index) => [`${attrs["id"]} ${index}`, incoming])
  return { [keyType]: Object.fromEntries(entries) } as SignalDataSet
}

/** What a transaction of the library stores: keys, and messages that they opened. */
export const splitReceived = (
  data: SignalDataSet,
): { readonly keys: SignalDataSet; readonly received: ReadonlyArray<Incoming> } => {
  const { [keyType]: received = {}, ...keys } = data as SignalDataSet & {
    readonly [keyType]?: Readonly<Record<string, Incoming>>
  }
  return { keys, received: Object.values(received) }
}

// What did not open

/** Where messages are stored. Nothing of it settles while the store is away, or once the number has moved. */
export interface Inbox {
  /** Whether no copy is needed. */
  readonly needsNoCopy: (message: Addressed) => Promise<boolean>
  /** Commits what came without keys; whether it is kept. */
  readonly receive: (incoming: Incoming) => Promise<boolean>
  /** Waits for the turn of a message that came. */
  readonly takeTurn: () => Promise<void>
  /** Whether the number's workspace has conversations. */
  readonly isOn: () => Promise<boolean>
}

/** Of a number that is not linked yet. */
export const noInbox: Inbox = {
  needsNoCopy: () => Promise.resolve(false),
  receive: () => Promise.resolve(false),
  takeTurn: () => Promise.resolve(),
  isOn: () => Promise.resolve(false),
}

/** What the phone, or the number's owner, is waited for: at most so many keep their addresses. */
const maxAwaited = 1000

export interface ReceivingOptions {
  readonly inbox: Inbox
  /** The addresses of the number. */
  readonly own: () => Own
  readonly isAdministrator: (group: string, addresses: ReadonlyArray<string>) => Promise<boolean>
}

/** One connection's messages, between the library's two sides: its events and its encryption. */
export interface Receiving extends ReceivingOptions {
  readonly stanzas: WeakMap<Uint8Array, BinaryNode>
  /** Those that did not open; their waits are stored already where there are any. */
  readonly unread: WeakSet<BinaryNode>
  /** The latest messages with a requested copy, by id. */
  readonly awaited: Map<string, BinaryNode>
}

export const makeReceiving = (options: ReceivingOptions): Receiving => ({
  ...options,
  stanzas: new WeakMap(),
  unread: new WeakSet(),
  awaited: new Map(),
})

const awaitCopy = ({ awaited }: Receiving, stanza: BinaryNode): void => {
  const { id = "" } = stanza.attrs
  const [oldest] = awaited.keys()
  if (awaited.size >= maxAwaited && oldest !== undefined) awaited.delete(oldest)
  awaited.set(id, stanza)
}

/** Throws when it does not decode: then it counts as not opened. */
const decoded = (plain: Uint8Array): proto.Message => proto.Message.decode(unpadRandomMax16(plain))

/** An administrator of a group revokes what others wrote. */
const verified = async (
  { inbox, isAdministrator, own }: Receiving,
  stanza: BinaryNode,
  opened: proto.Message,
  incoming: Incoming,
): Promise<Incoming> => {
  if (incoming._tag !== "Change" || incoming.group === null) return incoming
  const revoked = toRevokedOfOther(incoming, opened, own())
  // No copy is needed of what is not stored.
  if (revoked === null || !(await inbox.needsNoCopy(revoked))) return incoming
  const { participant, participant_lid, participant_pn } = stanza.attrs
  const addresses = [participant, participant_pn, participant_lid].filter(
    (address) => address !== undefined,
  )
  const isVerified = await isAdministrator(incoming.group.remoteId, addresses)
  return { ...incoming, isVerified }
}

const toReceived = async (
  receiving: Receiving,
  stanza: BinaryNode,
  plain: Uint8Array,
): Promise<ReadonlyArray<Incoming>> => {
  const { awaited, own } = receiving
  const opened = decoded(plain)
  const incoming = toIncoming(stanza, opened, own())
  return incoming === null
    ? toCopies(stanza, opened, own(), awaited)
    : [await verified(receiving, stanza, opened, incoming)]
}

/**
 * What the library is to make of a stanza that did not open. What is stored already, and what is never stored,
 * counts as empty: its receipt leaves, and its sender is not asked again. Anything else waits, in a commit, for
 * the copy that the library then asks for.
 */
const unopened = async (
  receiving: Receiving,
  stanza: BinaryNode,
  cause: unknown,
): Promise<Uint8Array> => {
  const { inbox, own, unread } = receiving
  if (isNeverStored(stanza)) return encodeWAMessage({})
  const unreadable = toUnreadable(stanza, own())
  if (unreadable === null) throw cause
  if (await inbox.needsNoCopy(unreadable)) return encodeWAMessage({})
  const isKept = isAboutAnother(stanza) ? await inbox.isOn() : await inbox.receive(unreadable)
  if (!isKept) throw cause
  unread.add(stanza)
  awaitCopy(receiving, stanza)
  // With its own error the library may refuse the stanza without asking for a copy.
  throw new Error("the message did not open", { cause })
}

/**
 * Stores messages together with the keys that opened them.
 *
 * Every transaction begins here, so that commits stay outside of libsignal's turns: a commit may never end.
 */
export const committing =
  (receiving: Receiving) =>
  (make: MakeRepository): MakeRepository =>
  (auth, ...rest) => {
    const repository = make(auth, ...rest)
    // The library passes its own keys.
    const keys = auth.keys as SignalKeyStoreWithTransaction

    const decrypt = async (
      ciphertext: Uint8Array,
      lock: string,
      open: () => Promise<Uint8Array>,
    ): Promise<Uint8Array> => {
      const stanza = receiving.stanzas.get(ciphertext)
      if (stanza === undefined) return keys.transaction(open, lock)
      try {
        return await keys.transaction(async () => {
          const plain = await open()
          const received = await toReceived(receiving, stanza, plain)
          if (received.length > 0) await keys.set(asKeys(stanza, received))
          return plain
        }, lock)
      } catch (error) {
        return unopened(receiving, stanza, error)
      }
    }

    const wrapped: Partial<SignalRepositoryWithLIDStore> = {
      decryptMessage: (message) =>
        decrypt(message.ciphertext, message.jid, () => repository.decryptMessage(message)),
      decryptGroupMessage: (message) =>
        decrypt(message.msg, message.group, () => repository.decryptGroupMessage(message)),
      encryptMessage: (message) =>
        keys.transaction(() => repository.encryptMessage(message), message.jid),
      injectE2ESession: (session) =>
        keys.transaction(() => repository.injectE2ESession(session), session.jid),
    }
    return new Proxy(repository, {
      get: (target, name, receiver) =>
        Reflect.get(wrapped, name) ?? Reflect.get(target, name, receiver),
    })
  }

/** Without it the library handles the stanza at once, and says when it is done. */
const asLive = (stanza: BinaryNode): BinaryNode => {
  const { offline, ...attrs } = stanza.attrs
  return offline === undefined ? stanza : { ...stanza, attrs }
}

type Hear = (stanza: BinaryNode) => Promise<void>

interface Reading {
  readonly takeTurn: Inbox["takeTurn"]
  readonly isOpen: () => boolean
  readonly pause: () => void
  readonly resume: () => void
  readonly acknowledge: Hear
}

/** The library reads it as a message that says nothing. */
const asEmpty = (stanza: BinaryNode): BinaryNode => ({
  ...stanza,
  content: [{ tag: "plaintext", attrs: {}, content: new Uint8Array() }],
})

/** Commits that a message without content waits for it; whether the library is to learn of it. */
const isAwaited = async (receiving: Receiving, stanza: BinaryNode): Promise<boolean> => {
  const { inbox, own } = receiving
  const unreadable = toUnreadable(stanza, own())
  if (unreadable === null) return true
  if (await inbox.needsNoCopy(unreadable)) return false
  awaitCopy(receiving, stanza)
  if (!isAboutAnother(stanza)) await inbox.receive(unreadable)
  return true
}

/**
 * Hands a stanza to the library. One that did not open is not answered by an error, once that is stored:
 * WhatsApp may keep everything back that comes after it. The library reads the tag when it answers.
 */
const handOver = async (
  receiving: Receiving,
  stanza: BinaryNode,
  hear: Hear,
  { acknowledge, isOpen }: Reading,
): Promise<void> => {
  if (isWithoutContent(stanza)) {
    return hear((await isAwaited(receiving, stanza)) ? asLive(stanza) : asEmpty(asLive(stanza)))
  }
  let isAnswered = true
  await hear({
    ...asLive(stanza),
    get tag(): string {
      if (!receiving.unread.delete(stanza)) return stanza.tag
      isAnswered = false
      throw new Error("a message that waits for its copy is not refused")
    },
  })
  if (!isAnswered && isOpen()) await acknowledge(stanza)
}

// Arrivals

const ciphertextsIn = ({ content }: BinaryNode): ReadonlyArray<Uint8Array> =>
  Array.isArray(content)
    ? content.flatMap((child) => (child.content instanceof Uint8Array ? [child.content] : []))
    : []

/** Runs work in the order of the calls. */
export const makeTurns = () => {
  let before = Promise.resolve()
  return (work: () => Promise<void>): Promise<void> => {
    const own = before.then(work)
    before = own.catch(() => undefined)
    return own
  }
}

/** Hands messages to the library in the order of their arrival, each once the one before is handled. */
export const makeArrivals = (receiving: Receiving, reading: Reading) => {
  const inTurn = makeTurns()
  const backlog = { messages: 0, bytes: 0 }
  let isPaused = false

  /** With a full backlog the connection is read no further. */
  const count = (messages: 1 | -1, size: number) => {
    backlog.messages += messages
    backlog.bytes += messages * size
    const isFull = isBacklogFull(backlog)
    if (isFull === isPaused) return
    isPaused = isFull
    if (isFull) reading.pause()
    else reading.resume()
  }

  return async (stanza: BinaryNode, hear: Hear): Promise<void> => {
    const ciphertexts = ciphertextsIn(stanza)
    const size = ciphertexts.reduce((sum, { length }) => sum + length, 0)
    for (const ciphertext of ciphertexts) receiving.stanzas.set(ciphertext, stanza)
    count(1, size)
    try {
      await inTurn(async () => {
        await reading.takeTurn()
        // What a lost connection left comes again.
        if (!reading.isOpen()) return
        await handOver(receiving, stanza, hear, reading)
        // Many that wait must not keep the process from everything else.
        await setImmediate()
      })
    } finally {
      count(-1, size)
    }
  }
}
