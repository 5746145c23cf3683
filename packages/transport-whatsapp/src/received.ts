/**
 * What people write is stored in the commit of the Signal keys that opened it, before its receipt leaves:
 * the same ciphertext does not open twice. Each message is one more key in the library's transaction.
 *
 * Messages are handled one after the other in the order of their arrival, so that commits keep it.
 */
import { setImmediate } from "node:timers/promises"
import type { Incoming } from "@messaging-service/core"
import { encodeWAMessage, proto, unpadRandomMax16 } from "baileys"
import type {
  AuthenticationCreds,
  BinaryNode,
  SignalDataSet,
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
  UserFacingSocketConfig,
} from "baileys"
import { isNeverStored, toAddressed, toIncoming } from "./incoming.ts"
import type { Addressed, Own } from "./incoming.ts"

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

// Messages in the library's transactions

const keyType = "received-message"

const asKey = (incoming: Incoming): SignalDataSet =>
  ({ [keyType]: { [incoming.remoteId]: incoming } }) as SignalDataSet

/** What a transaction of the library stores: keys, and messages that they opened. */
export const splitReceived = (
  data: SignalDataSet,
): { readonly keys: SignalDataSet; readonly received: ReadonlyArray<Incoming> } => {
  const { [keyType]: received = {}, ...keys } = data as SignalDataSet & {
    readonly [keyType]?: Readonly<Record<string, Incoming>>
  }
  return { keys, received: Object.values(received) }
}

/** Whether a message is stored. */
export type IsReceived = (incoming: Addressed) => Promise<boolean>

/** Null also for what does not decode: the library finds that out by itself, and asks for a copy. */
const incomingIn = (stanza: BinaryNode, plain: Uint8Array, own: Own): Incoming | null => {
  let message: proto.Message
  try {
    message = proto.Message.decode(unpadRandomMax16(plain))
  } catch {
    return null
  }
  return toIncoming(stanza, message, own)
}

/**
 * Stores messages together with the keys that opened them. What does not open because it is stored
 * already, and what is never stored, counts as empty: its receipt leaves, and its sender is not asked again.
 *
 * Every transaction begins here, so that commits stay outside of libsignal's turns: a commit may never end.
 */
export const committing =
  (stanzas: WeakMap<Uint8Array, BinaryNode>, isReceived: IsReceived) =>
  (make: MakeRepository): MakeRepository =>
  (auth, ...rest) => {
    const repository = make(auth, ...rest)
    // The library passes its own keys, and all credentials.
    const keys = auth.keys as SignalKeyStoreWithTransaction
    const own = (): Own => (auth.creds as Partial<AuthenticationCreds>).me ?? {}

    const isNothingNew = async (stanza: BinaryNode): Promise<boolean> => {
      if (isNeverStored(stanza)) return true
      const addressed = toAddressed(stanza, own())
      return addressed !== null && (await isReceived(addressed))
    }

    const decrypt = async (
      ciphertext: Uint8Array,
      lock: string,
      open: () => Promise<Uint8Array>,
    ): Promise<Uint8Array> => {
      const stanza = stanzas.get(ciphertext)
      try {
        return await keys.transaction(async () => {
          const plain = await open()
          const incoming = stanza === undefined ? null : incomingIn(stanza, plain, own())
          if (incoming !== null) await keys.set(asKey(incoming))
          return plain
        }, lock)
      } catch (error) {
        if (stanza === undefined || !(await isNothingNew(stanza))) throw error
        return encodeWAMessage({})
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

// Arrivals

/** What came and is not handled; above either bound the connection is read no further. */
const maxWaiting = 1000
const maxWaitingBytes = 8 * 1024 * 1024

interface Reading {
  /** Waits for a message's turn. */
  readonly takeTurn: () => Promise<void>
  readonly isOpen: () => boolean
  readonly pause: () => void
  readonly resume: () => void
}

const ciphertextsIn = ({ content }: BinaryNode): ReadonlyArray<Uint8Array> =>
  Array.isArray(content)
    ? content.flatMap((child) => (child.content instanceof Uint8Array ? [child.content] : []))
    : []

/** Without it the library handles the stanza at once, and says when it is done. */
const asLive = (stanza: BinaryNode): BinaryNode => {
  const { offline, ...attrs } = stanza.attrs
  return offline === undefined ? stanza : { ...stanza, attrs }
}

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
export const makeArrivals = ({ isOpen, pause, resume, takeTurn }: Reading) => {
  const stanzas = new WeakMap<Uint8Array, BinaryNode>()
  const inTurn = makeTurns()
  let waiting = 0
  let bytes = 0
  let isPaused = false

  const count = (messages: 1 | -1, size: number) => {
    waiting += messages
    bytes += messages * size
    const isFull = waiting >= maxWaiting || bytes >= maxWaitingBytes
    if (isFull === isPaused) return
    isPaused = isFull
    if (isFull) pause()
    else resume()
  }

  const arrived = async (
    stanza: BinaryNode,
    hear: (stanza: BinaryNode) => Promise<void>,
  ): Promise<void> => {
    const ciphertexts = ciphertextsIn(stanza)
    const size = ciphertexts.reduce((sum, { length }) => sum + length, 0)
    for (const ciphertext of ciphertexts) stanzas.set(ciphertext, stanza)
    count(1, size)
    try {
      await inTurn(async () => {
        await takeTurn()
        // What a lost connection left comes again.
        if (!isOpen()) return
        await hear(asLive(stanza))
        // Many that wait must not keep the process from everything else.
        await setImmediate()
      })
    } finally {
      count(-1, size)
    }
  }

  return { stanzas, arrived }
}
