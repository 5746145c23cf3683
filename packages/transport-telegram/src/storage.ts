/**
 * The vault keys of an account: authorization keys, the library's state, and the people it met last. A
 * login keeps the same in memory. `writeBehind` caches keys and delays writes that may be a second late.
 */
import type {
  SessionAccess,
  Incoming,
  KeyChange,
  NumberId,
  SessionVault,
  TelegramLoginView,
} from "@messaging-service/core"
import type { IPeersRepository, ITelegramStorageProvider } from "@mtcute/node"
import { Effect } from "effect"
import { endInTime } from "./Client.ts"

/** The latest sent messages by recipient. */
export const sentType = "sent"

/** Older ones, by recipient and hundreds of ids: people may quote them. */
export const archiveType = "sent-before"

/** As many as a workspace has chats at most. */
const maxChats = 100_000

/** Owners of usernames, by name. */
export const nameType = "name"

/** How many keys of each type a number keeps; other types have a few. */
export const storedKeys: Readonly<Record<string, number>> = {
  peer: 10_000,
  username: 10_000,
  phone: 10_000,
  [nameType]: 10_000,
  reference: 1000,
  // How far the account has read each of its channels.
  channel: 1000,
  [sentType]: maxChats,
  [archiveType]: maxChats,
}

export interface KeyStorage {
  readonly read: (type: string, id: string) => Promise<string | null>
  /** `received`: what people wrote, in the commit of the keys. */
  readonly write: (
    changes: ReadonlyArray<KeyChange>,
    received?: ReadonlyArray<Incoming>,
  ) => Promise<void>
  readonly clear: (type: string) => Promise<void>
}

/** How far the account's box and its channels were read. */
export interface BoxStorage {
  /** Collects a change for the next save. */
  readonly set: (change: KeyChange) => Promise<void> | void
  /** The library calls it at the end of each turn, and waits for it. */
  readonly save: () => Promise<void>
}

/** How long a phone counts as the account's, as the library does with names. */
const phoneMillis = 24 * 60 * 60_000

const fromBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")
const toBytes = (text: string | null): Uint8Array | null =>
  text === null ? null : new Uint8Array(Buffer.from(text, "base64"))

const typeOf = (key: string) => (key.startsWith("updates_channel:") ? "channel" : "state")

/**
 * Keys of how far something was read. A malformed value would end the process: the library catches
 * its own parse error nowhere.
 */
const isPosition = (key: string) => key.startsWith("updates_")

/** The date of the state. */
export const dateKey = "updates_date"
const placeBytes = 4

/** The number that such a key has. */
export const toPosition = (value: string): number => Buffer.from(value, "base64").readInt32LE(0)

const peerText = (peer: IPeersRepository.PeerInfo): string =>
  JSON.stringify({ ...peer, complete: fromBytes(peer.complete) })

const peerFrom = (text: string | null): IPeersRepository.PeerInfo | null => {
  if (text === null) return null
  const stored = JSON.parse(text) as Omit<IPeersRepository.PeerInfo, "complete"> & {
    readonly complete: string
  }
  return { ...stored, complete: toBytes(stored.complete) ?? new Uint8Array() }
}

/** Skips writing unchanged people for half a day, for the latest so many. */
const maxWritten = 1000
const writtenMillis = 12 * 60 * 60_000

/** Saves a write each time a large account sees the same person again. */
const makeWrittenPeers = () => {
  const written = new Map<number, { readonly as: string; readonly at: number }>()
  return {
    shouldReplace: ({
      accessHash,
      id,
      isMin,
      phone,
      updated,
      usernames,
    }: IPeersRepository.PeerInfo) => {
      const as = [accessHash, isMin, phone, ...usernames].join(" ")
      const before = written.get(id)
      if (before?.as === as && updated - before.at < writtenMillis) return false
      written.delete(id)
      written.set(id, { as, at: updated })
      const [oldest] = written.keys()
      if (written.size > maxWritten && oldest !== undefined) written.delete(oldest)
      return true
    },
    clear: () => written.clear(),
  }
}

/** The people that the account has met. */
const makePeers = ({ clear, read, write }: KeyStorage): IPeersRepository => {
  const writtenPeers = makeWrittenPeers()
  const peerById = async (id: string | null) =>
    id === null ? null : peerFrom(await read("peer", id))
  return {
    store: (peer) => {
      if (!writtenPeers.shouldReplace(peer)) return
      const id = String(peer.id)
      const named = [...new Set(peer.usernames)].map((name) => ({
        type: "username",
        id: name.toLowerCase(),
        value: id,
      }))
      const phoned = peer.phone === undefined ? [] : [{ type: "phone", id: peer.phone, value: id }]
      return write([{ type: "peer", id, value: peerText(peer) }, ...named, ...phoned])
    },
    getById: (id) => peerById(String(id)),
    // Names and phones change hands: the account must still have it.
    getByUsername: async (name) => {
      const peer = await peerById(await read("username", name.toLowerCase()))
      const isItsOwn = (each: string) => each.toLowerCase() === name.toLowerCase()
      return peer?.usernames.some(isItsOwn) === true ? peer : null
    },
    getByPhone: async (phone) => {
      const peer = await peerById(await read("phone", phone))
      const isFresh = peer !== null && Date.now() - peer.updated < phoneMillis
      return isFresh && peer.phone === phone ? peer : null
    },
    deleteAll: async () => {
      writtenPeers.clear()
      for (const type of ["peer", "username", "phone"]) await clear(type)
    },
  }
}

/** A login reads no box. */
const writeThrough = ({ write }: KeyStorage): BoxStorage => ({
  set: (change) => write([change]),
  save: () => Promise.resolve(),
})

export const makeStorage = (
  keyStorage: KeyStorage,
  box: BoxStorage = writeThrough(keyStorage),
): ITelegramStorageProvider => {
  const { clear, read, write } = keyStorage
  const set = (type: string, id: string, value: string | null) => write([{ type, id, value }])
  /** Keys that expire after a day; the library makes none of them here. */
  const passing = new Map<string, Uint8Array>()
  return {
    driver: { save: box.save },
    kv: {
      set: (key, value) => {
        const change = { type: typeOf(key), id: key, value: fromBytes(value) }
        return isPosition(key) ? box.set(change) : write([change])
      },
      get: async (key) => {
        const bytes = toBytes(await read(typeOf(key), key))
        return isPosition(key) && bytes?.length !== placeBytes ? null : bytes
      },
      delete: (key) => set(typeOf(key), key, null),
      deleteAll: async () => {
        for (const type of ["state", "channel"]) await clear(type)
      },
    },
    authKeys: {
      set: (dc, key) => set("auth-key", String(dc), key === null ? null : fromBytes(key)),
      get: async (dc) => toBytes(await read("auth-key", String(dc))),
      setTemp: (dc, index, key) => {
        if (key === null) passing.delete(`${dc} ${index}`)
        else passing.set(`${dc} ${index}`, key)
      },
      getTemp: (dc, index) => passing.get(`${dc} ${index}`) ?? null,
      deleteByDc: (dc) => set("auth-key", String(dc), null),
      deleteAll: () => clear("auth-key"),
    },
    peers: makePeers(keyStorage),
    refMessages: {
      store: (peerId, chatId, messageId) =>
        set("reference", String(peerId), JSON.stringify([chatId, messageId])),
      getByPeer: async (peerId) => {
        const text = await read("reference", String(peerId))
        return text === null ? null : (JSON.parse(text) as [number, number])
      },
      // References are found by the person, and outlive messages that were deleted.
      delete: () => undefined,
      deleteByPeer: (peerId) => set("reference", String(peerId), null),
      deleteAll: () => clear("reference"),
    },
  }
}

/** The number's keys in the vault. `wrote` receives how many keys each write has. */
export const vaultKeyStorage = (
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  access: SessionAccess,
  wrote: (keys: number) => void,
): KeyStorage => ({
  read: async (type, id) => {
    // A key that an older secrets key sealed counts as missing.
    const readable = Effect.catchTag(vault.keys(numberId, type, [id]), "CannotOpen", () =>
      Effect.succeed<ReadonlyMap<string, string>>(new Map()),
    )
    return (await run(access.read(readable))).get(id) ?? null
  },
  write: (changes, received = []) => {
    wrote(changes.length)
    const written = vault.write(numberId, null, changes, received)
    return run(received.length === 0 ? access.write(written) : access.commit(written))
  },
  clear: (type) => run(access.write(vault.trim(numberId, type, 0))),
})

/**
 * Keys for the library. A read that fails once the connection is over never settles: where the library
 * connects, it drops a promise with the failure, which would end the process.
 */
export const neverFailing = (keyStorage: KeyStorage): KeyStorage => ({
  ...keyStorage,
  read: (type, id) => keyStorage.read(type, id).catch(() => new Promise<never>(() => undefined)),
})

/** What a session needs: keys by data centre, and how far its box was read. */
const needed: Readonly<Record<string, ReadonlyArray<string>>> = {
  "auth-key": ["1", "2", "3", "4", "5"],
  state: [
    "dc_main",
    "dc_media",
    "current_user",
    "updates_pts",
    "updates_qts",
    dateKey,
    "updates_seq",
  ],
}

export const accountKeys = Effect.fnUntraced(function* accountKeys(
  vault: typeof SessionVault.Service,
  numberId: NumberId,
) {
  const found: Array<KeyChange> = []
  for (const [type, ids] of Object.entries(needed)) {
    for (const [id, value] of yield* vault.keys(numberId, type, ids))
      found.push({ type, id, value })
  }
  return found
})

/** Seals the account with the current secrets key. */
export const reseal = Effect.fnUntraced(function* reseal(
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  credentials: string,
) {
  yield* vault.write(numberId, credentials, yield* accountKeys(vault, numberId))
})

export interface KeysInMemory extends KeyStorage {
  readonly all: () => ReadonlyArray<KeyChange>
}

export const keysInMemory = (started: ReadonlyArray<KeyChange>): KeysInMemory => {
  const stored = new Map(started.map((key) => [`${key.type} ${key.id}`, key]))
  return {
    read: (type, id) => Promise.resolve(stored.get(`${type} ${id}`)?.value ?? null),
    write: (changes) => {
      for (const change of changes) stored.set(`${change.type} ${change.id}`, change)
      return Promise.resolve()
    },
    clear: (type) => {
      for (const [name, key] of stored) if (key.type === type) stored.delete(name)
      return Promise.resolve()
    },
    all: () => [...stored.values()].filter(({ value }) => value !== null),
  }
}

// Credentials: an account, or a login in progress. Codes and passwords are in neither.

export interface AccountCredentials {
  readonly kind: "account"
  readonly userId: number
  /** Digits with country code. */
  readonly phone: string
  /** The finished login's view, while callers may ask for it. */
  readonly login: TelegramLoginView | null
}

/** A login in progress, or one that failed. */
export interface LoginCredentials {
  readonly kind: "login"
  readonly id: string
  readonly view: TelegramLoginView
  readonly method: "qr" | "code"
  /** Null with a QR code. */
  readonly phone: string | null
  /** Telegram's name of the code that it sent; null before. */
  readonly codeHash: string | null
  readonly keys: ReadonlyArray<KeyChange>
  /** Until when one process owns the login, which may have died; null without one. */
  readonly stepUntil: number | null
  /** Telegram may have let the account in; the answer is unknown. */
  readonly mayBeIn: boolean
  /** Cancelled; stays until its possible session at Telegram has ended. */
  readonly isCancelled: boolean
  /** Makes each write differ from all before. */
  readonly writing?: string
}

export type Credentials = AccountCredentials | LoginCredentials

export const toText = (credentials: Credentials): string => JSON.stringify(credentials)

export const fromText = (text: string): Credentials => JSON.parse(text) as Credentials

const isSettled = ({ state }: TelegramLoginView): boolean =>
  state === "failed" || state === "expired" || state === "connected"

/** The login's view at that time, whatever became of the process that had it. */
export const viewAt = (
  { codeHash, stepUntil, view }: LoginCredentials,
  now: number,
): TelegramLoginView => {
  if (isSettled(view)) return view
  if (view.expiresAt <= now) return { ...view, state: "expired", qr: null }
  const isUnderWay = stepUntil !== null && stepUntil > now
  if (view.state === "code_sent" && codeHash === null && !isUnderWay) {
    return { ...view, state: "failed", error: "connection_lost" }
  }
  return view.qr !== null && view.qr.expiresAt <= now ? { ...view, qr: null } : view
}

/** Whether another login may take its place. */
export const hasEnded = (login: LoginCredentials, now: number): boolean =>
  login.isCancelled || isSettled(viewAt(login, now))

// Write-behind: saves a read for each known key, and a write for each step that may be a second late.
// It holds only while this process owns the account.

/** Cached keys of one account. */
const maxRemembered = 100

/** The delay of a write after a change, in real milliseconds. */
const soonMillis = 20

/** The least time between two delayed writes. */
const laterMillis = 1000

const toName = ({ id, type }: Pick<KeyChange, "type" | "id">): string => `${type} ${id}`

interface Pauses {
  readonly soon: number
  readonly later: number
}

export interface WriteBehind extends KeyStorage {
  /** Writes the key a little later, with others; reads see it at once. Calls `value` when needed. */
  readonly later: (type: string, id: string, value: () => string | null) => void
  /** Writes all of these now; settles once they are stored. */
  readonly storeNow: () => Promise<void>
  /** Collects a change of the box's state for the next save; reads see it at once. */
  readonly setState: (change: KeyChange) => void
  /**
   * Stores the collected state with what `take` returns, which came before it, in one commit, and settles
   * once that is made. Without any of that the state may be a second late: Telegram tells again what came
   * after the stored one, but never what came before it.
   */
  readonly save: (take: () => Promise<ReadonlyArray<Incoming>>) => Promise<void>
  /** Stops delayed writes; writes what waits first, if `mayWrite`. */
  readonly end: (mayWrite: boolean) => Promise<void>
}

/** The latest keys of an account, by name; the latest last. */
const makeLatest = () => {
  const latest = new Map<string, string | null>()
  return {
    has: (name: string) => latest.has(name),
    get: (name: string) => latest.get(name),
    remember: (name: string, value: string | null) => {
      latest.delete(name)
      latest.set(name, value)
      const [oldest] = latest.keys()
      if (latest.size > maxRemembered && oldest !== undefined) latest.delete(oldest)
    },
    clear: (type: string) => {
      for (const name of latest.keys()) if (name.startsWith(`${type} `)) latest.delete(name)
    },
  }
}

type Latest = ReturnType<typeof makeLatest>

interface Waiting extends Pick<KeyChange, "type" | "id"> {
  readonly value: () => string | null
}

const never = () => new Promise<never>(() => undefined)

/** Collects changes and writes them together, a little later. */
const makeDelayedWrites = (keyStorage: KeyStorage, latest: Latest, pauses: Pauses) => {
  const waiting = new Map<string, Waiting>()
  /** Changes in a running write: the store may not have them yet. */
  const underWay = new Map<string, string | null>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | null = null
  let isEnded = false
  let lastAt = -Infinity

  const writeWaiting = (received: ReadonlyArray<Incoming> = []): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return Promise.resolve()
    lastAt = performance.now()
    const changes = [...waiting.values()].map(({ id, type, value }): KeyChange => ({
      type,
      id,
      value: value(),
    }))
    waiting.clear()
    for (const change of changes) {
      latest.remember(toName(change), change.value)
      underWay.set(toName(change), change.value)
    }
    writing = keyStorage
      .write(changes, received)
      .catch(() => (received.length === 0 ? undefined : never()))
      .finally(() => {
        underWay.clear()
        writing = null
        writeSoon()
      })
    return writing
  }

  const writeSoon = () => {
    if (isEnded || writing !== null || waiting.size === 0) return
    const left = pauses.later - (performance.now() - lastAt)
    timer ??= setTimeout(() => void writeWaiting(), Math.max(pauses.soon, left))
  }

  const later = (type: string, id: string, value: () => string | null) => {
    waiting.set(toName({ type, id }), { type, id, value })
    writeSoon()
  }

  return {
    later,
    /** Writes the changes now, with all that waits. Writes stay in order: a state never goes back. */
    writeNow: async (changes: ReadonlyArray<KeyChange>, received: ReadonlyArray<Incoming>) => {
      for (let running = writing; running !== null; running = writing) await running
      if (isEnded) return never()
      for (const { id, type, value } of changes) {
        waiting.set(toName({ type, id }), { type, id, value: () => value })
      }
      return writeWaiting(received)
    },
    getWaiting: (name: string) => waiting.get(name),
    findUnderWay: (name: string) => underWay.get(name),
    clear: (type: string) => {
      for (const [name, change] of waiting) if (change.type === type) waiting.delete(name)
    },
    end: async (mayWrite: boolean) => {
      isEnded = true
      clearTimeout(timer)
      if (!mayWrite) return waiting.clear()
      if (waiting.size === 0 && writing === null) return
      await endInTime(Promise.resolve(writing).then(() => writeWaiting()))
      waiting.clear()
    },
  }
}

type DelayedWrites = ReturnType<typeof makeDelayedWrites>

/** The state of the box since the latest save. */
const makeBoxState = ({ later, writeNow }: Pick<DelayedWrites, "later" | "writeNow">) => {
  const collected = new Map<string, KeyChange>()
  /** Parts with a first write: they may wait, because the store has a base. */
  const started = new Set<string>()
  const mayWait = ({ id, type }: KeyChange) => type !== "state" || started.has(id)
  let last: Promise<void> = Promise.resolve()

  const commit = async (take: () => Promise<ReadonlyArray<Incoming>>) => {
    const changes = [...collected.values()]
    collected.clear()
    // Taken in the same step: what comes from here on belongs to the next state.
    const received = await take()
    if (received.length === 0 && changes.every(mayWait)) {
      for (const { id, type, value } of changes) later(type, id, () => value)
      return
    }
    await writeNow(changes, received)
    for (const { id, type } of changes) if (type === "state") started.add(id)
  }

  return {
    set: (change: KeyChange) => void collected.set(toName(change), change),
    get: (name: string) => collected.get(name),
    clear: (type: string) => {
      for (const [name, change] of collected) if (change.type === type) collected.delete(name)
    },
    save: (take: () => Promise<ReadonlyArray<Incoming>>): Promise<void> => {
      // The library may save in the middle of a turn: the state comes at its end.
      if (collected.size > 0) last = last.then(() => commit(take)).catch(never)
      return last
    },
  }
}

export const writeBehind = (
  keyStorage: KeyStorage,
  pauses: Pauses = { soon: soonMillis, later: laterMillis },
): WriteBehind => {
  const latest = makeLatest()
  const delayed = makeDelayedWrites(keyStorage, latest, pauses)
  const boxState = makeBoxState(delayed)

  return {
    later: delayed.later,
    storeNow: () => delayed.writeNow([], []),
    setState: boxState.set,
    save: boxState.save,
    read: async (type, id) => {
      const name = toName({ type, id })
      const collected = boxState.get(name)
      if (collected !== undefined) return collected.value
      const waits = delayed.getWaiting(name)
      if (waits !== undefined) return waits.value()
      const known = latest.has(name) ? latest.get(name) : delayed.findUnderWay(name)
      if (known !== undefined) {
        latest.remember(name, known)
        return known
      }
      const value = await keyStorage.read(type, id)
      // A concurrent write is newer than this read.
      const now = latest.get(name)
      if (now !== undefined) return now
      latest.remember(name, value)
      return value
    },
    write: (changes) => {
      for (const change of changes) latest.remember(toName(change), change.value)
      return keyStorage.write(changes)
    },
    clear: (type) => {
      latest.clear(type)
      delayed.clear(type)
      boxState.clear(type)
      return keyStorage.clear(type)
    },
    end: delayed.end,
  }
}
