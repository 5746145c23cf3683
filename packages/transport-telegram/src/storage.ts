/**
 * What the library keeps of an account, as keys for the vault: authorization keys at once, its own
 * state, and the people it has met, of whom the latest are kept. While an account is being logged in
 * the same is kept in memory.
 */
import type {
  Hold,
  KeyChange,
  NumberId,
  SessionVault,
  TelegramLoginView,
} from "@messaging-service/core"
import type { IPeersRepository, ITelegramStorageProvider } from "@mtcute/node"
import { Effect } from "effect"
import { endInTime } from "./Client.ts"

/** Messages that were sent and not read yet, by their recipient. */
export const sentType = "sent"

/** Whose a username was, by the name (`usernames.ts`). */
export const nameType = "name"

/** How many keys of each type a number keeps; of types that are not here there are a few. */
export const keptKeys: Readonly<Record<string, number>> = {
  peer: 10_000,
  username: 10_000,
  phone: 10_000,
  [nameType]: 10_000,
  reference: 1000,
  // How far each channel was read that the account is in.
  channel: 1000,
  [sentType]: 10_000,
}

/** Where keys are: in the vault, or in memory. */
export interface KeyPlace {
  readonly read: (type: string, id: string) => Promise<string | null>
  readonly write: (changes: ReadonlyArray<KeyChange>) => Promise<void>
  readonly clear: (type: string) => Promise<void>
}

/** For how long a phone is believed to be that account's; the library does the same with names. */
const phoneMillis = 24 * 60 * 60_000

const fromBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")
const toBytes = (text: string | null): Uint8Array | null =>
  text === null ? null : new Uint8Array(Buffer.from(text, "base64"))

/** What the library keeps by name is a few things, and one for each channel. */
const typeOf = (key: string) => (key.startsWith("updates_channel:") ? "channel" : "state")

/**
 * How far something was read. One of which the library could make no number would end the whole process:
 * what it throws then is caught nowhere.
 */
const isPlace = (key: string) => key.startsWith("updates_")
const placeBytes = 4

const peerText = (peer: IPeersRepository.PeerInfo): string =>
  JSON.stringify({ ...peer, complete: fromBytes(peer.complete) })

const peerFrom = (text: string | null): IPeersRepository.PeerInfo | null => {
  if (text === null) return null
  const kept = JSON.parse(text) as Omit<IPeersRepository.PeerInfo, "complete"> & {
    readonly complete: string
  }
  return { ...kept, complete: toBytes(kept.complete) ?? new Uint8Array() }
}

/** So many people that were written lately are remembered, and are not written again for half a day. */
const mostWritten = 1000
const writtenMillis = 12 * 60 * 60_000

/**
 * Whether what is known of a person must be written: a large account sees the same people again and again,
 * and each time would be a write to the store.
 */
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
      if (written.size > mostWritten && oldest !== undefined) written.delete(oldest)
      return true
    },
    clear: () => written.clear(),
  }
}

export const makeStorage = ({ clear, read, write }: KeyPlace): ITelegramStorageProvider => {
  const writtenPeers = makeWrittenPeers()
  const set = (type: string, id: string, value: string | null) => write([{ type, id, value }])
  const peerById = async (id: string | null) =>
    id === null ? null : peerFrom(await read("peer", id))
  /** Keys that hold for a day, of which the library makes none here. */
  const passing = new Map<string, Uint8Array>()
  return {
    driver: {},
    kv: {
      set: (key, value) => set(typeOf(key), key, fromBytes(value)),
      get: async (key) => {
        const bytes = toBytes(await read(typeOf(key), key))
        return isPlace(key) && bytes?.length !== placeBytes ? null : bytes
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
    peers: {
      store: (peer) => {
        if (!writtenPeers.shouldReplace(peer)) return
        const id = String(peer.id)
        const named = [...new Set(peer.usernames)].map((name) => ({
          type: "username",
          id: name.toLowerCase(),
          value: id,
        }))
        const phoned =
          peer.phone === undefined ? [] : [{ type: "phone", id: peer.phone, value: id }]
        return write([{ type: "peer", id, value: peerText(peer) }, ...named, ...phoned])
      },
      getById: (id) => peerById(String(id)),
      // A name or a phone may be another account's since it was written: what was last seen of the account
      // must still have it.
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
    },
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

/** The keys of a number in the vault. `wrote` is told how many keys are written. */
export const keptKeyPlace = (
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  hold: Hold,
  wrote: (keys: number) => void,
): KeyPlace => ({
  read: async (type, id) => {
    // What an older secrets key sealed, which is gone, is not there.
    const readable = Effect.catchTag(vault.keys(numberId, type, [id]), "CannotOpen", () =>
      Effect.succeed<ReadonlyMap<string, string>>(new Map()),
    )
    return (await run(hold.read(readable))).get(id) ?? null
  },
  write: (changes) => {
    wrote(changes.length)
    return run(hold.write(vault.write(numberId, null, changes)))
  },
  clear: (type) => run(hold.write(vault.trim(numberId, type, 0))),
})

/** What a session cannot do without: keys by data centre, and how far its box was read. */
const needed: Readonly<Record<string, ReadonlyArray<string>>> = {
  "auth-key": ["1", "2", "3", "4", "5"],
  state: [
    "dc_main",
    "dc_media",
    "current_user",
    "updates_pts",
    "updates_qts",
    "updates_date",
    "updates_seq",
  ],
}

/** What the vault has of that. */
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

/** Writes it once more, so that it is sealed with the secrets key of today. */
export const reseal = Effect.fnUntraced(function* reseal(
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  credentials: string,
) {
  yield* vault.write(numberId, credentials, yield* accountKeys(vault, numberId))
})

export interface KeysInMemory extends KeyPlace {
  readonly all: () => ReadonlyArray<KeyChange>
}

export const keysInMemory = (begun: ReadonlyArray<KeyChange>): KeysInMemory => {
  const kept = new Map(begun.map((key) => [`${key.type} ${key.id}`, key]))
  return {
    read: (type, id) => Promise.resolve(kept.get(`${type} ${id}`)?.value ?? null),
    write: (changes) => {
      for (const change of changes) kept.set(`${change.type} ${change.id}`, change)
      return Promise.resolve()
    },
    clear: (type) => {
      for (const [name, key] of kept) if (key.type === type) kept.delete(name)
      return Promise.resolve()
    },
    all: () => [...kept.values()].filter(({ value }) => value !== null),
  }
}

// What the vault keeps of a number beside its keys: whose account it is, or how far a login has come.
// Codes and passwords are in neither.

/** An account that is logged in. */
export interface AccountCredentials {
  readonly kind: "account"
  readonly userId: number
  /** Digits with country code. */
  readonly phone: string
  /** What its login shows for as long as it may be asked for. */
  readonly login: TelegramLoginView | null
}

/** A login that goes on, or came to nothing. */
export interface LoginCredentials {
  readonly kind: "login"
  /** Tells it from the number's other logins. */
  readonly id: string
  readonly view: TelegramLoginView
  readonly method: "qr" | "code"
  /** Null with a QR code. */
  readonly phone: string | null
  /** What the far side calls the code that it sent; null before it did. */
  readonly codeHash: string | null
  readonly keys: ReadonlyArray<KeyChange>
  /** Until when one process alone works on it, and is waited for; null without one. It may have died. */
  readonly stepUntil: number | null
  /** The far side may have let the account in without that being known here. */
  readonly mayBeIn: boolean
  /** It was given up, and stays until what it may have left at the far side is ended. */
  readonly isCancelled: boolean
  /** Tells what was written from all that was written before. */
  readonly writing?: string
}

export type Credentials = AccountCredentials | LoginCredentials

export const toText = (credentials: Credentials): string => JSON.stringify(credentials)

export const fromText = (text: string): Credentials => JSON.parse(text) as Credentials

const isSettled = ({ state }: TelegramLoginView): boolean =>
  state === "failed" || state === "expired" || state === "connected"

/** How a login stands at that time, whatever became of the process that had it. */
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

// What lies between an account and the vault, so that a message does not cost a question for each thing
// that is known already, nor a write for each step of what may be a second behind. It holds for as long
// as the account is this process's, and no longer.

/** So many of the latest keys of an account are remembered. */
const mostRemembered = 100

/**
 * How far the account's box was read. When the latest of it is lost with the process, what came since is
 * told once more.
 */
const boxState: ReadonlySet<string> = new Set([
  "updates_pts",
  "updates_qts",
  "updates_date",
  "updates_seq",
])

/** What may wait is written so soon after it changed, with what changes meanwhile, in real milliseconds. */
const soonMillis = 20

/** And so long after it was last written at the earliest. */
const laterMillis = 1000

const nameOf = ({ id, type }: Pick<KeyChange, "type" | "id">): string => `${type} ${id}`

export interface Remembering extends KeyPlace {
  /**
   * Notes a key that is written a little later, with others; what is read of it is the latest at once.
   * `value` is asked for when it is needed.
   */
  readonly later: (type: string, id: string, value: () => string | null) => void
  /** From now on nothing is written by itself; what waits is written before, if `mayWrite`. */
  readonly end: (mayWrite: boolean) => Promise<void>
}

export const remembering = (
  place: KeyPlace,
  pauses: { readonly soon: number; readonly later: number } = {
    soon: soonMillis,
    later: laterMillis,
  },
): Remembering => {
  const latest = new Map<string, string | null>()
  const remember = (name: string, value: string | null) => {
    latest.delete(name)
    latest.set(name, value)
    const [oldest] = latest.keys()
    if (latest.size > mostRemembered && oldest !== undefined) latest.delete(oldest)
  }

  /** Those of the box's state that were written once: without any, nothing could be caught up with. */
  const begun = new Set<string>()
  const mayWait = ({ id, type }: KeyChange) => type === "state" && begun.has(id)

  interface Waiting extends Pick<KeyChange, "type" | "id"> {
    readonly value: () => string | null
  }
  const waiting = new Map<string, Waiting>()
  /** What is being written: until that is done it cannot be read. */
  const underWay = new Map<string, string | null>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | null = null
  let isEnded = false
  let lastAt = -Infinity
  const writeWaiting = (): Promise<void> => {
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
      remember(nameOf(change), change.value)
      underWay.set(nameOf(change), change.value)
    }
    writing = place
      .write(changes)
      .catch(() => undefined)
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
    waiting.set(nameOf({ type, id }), { type, id, value })
    writeSoon()
  }

  return {
    later,
    read: async (type, id) => {
      const name = nameOf({ type, id })
      const waits = waiting.get(name)
      if (waits !== undefined) return waits.value()
      const known = latest.has(name) ? latest.get(name) : underWay.get(name)
      if (known !== undefined) {
        remember(name, known)
        return known
      }
      const value = await place.read(type, id)
      // It may have been written meanwhile.
      const now = latest.get(name)
      if (now !== undefined) return now
      remember(name, value)
      return value
    },
    write: async (changes) => {
      const soon: Array<KeyChange> = []
      for (const change of changes) {
        const { id, type, value } = change
        remember(nameOf(change), value)
        if (mayWait(change)) later(type, id, () => value)
        else soon.push(change)
      }
      if (soon.length === 0) return
      await place.write(soon)
      for (const { id, type } of soon) if (type === "state" && boxState.has(id)) begun.add(id)
    },
    clear: (type) => {
      for (const name of latest.keys()) if (name.startsWith(`${type} `)) latest.delete(name)
      for (const [name, change] of waiting) if (change.type === type) waiting.delete(name)
      return place.clear(type)
    },
    end: async (mayWrite) => {
      isEnded = true
      clearTimeout(timer)
      if (!mayWrite) return waiting.clear()
      if (waiting.size === 0 && writing === null) return
      await endInTime(Promise.resolve(writing).then(writeWaiting))
      waiting.clear()
    },
  }
}
