/**
 * What the library keeps of a device: credentials, and Signal keys by type and id, as texts for the
 * vault. A link that is being made keeps them in memory; once the phone has taken the code they
 * replace what the number had.
 *
 * What grows is bounded, by how long ago a key was last written (see `keptKeys`). A session that was
 * dropped is made again from the recipient's pre-keys with the next message.
 */
import { makeHold } from "@messaging-service/core"
import type { KeyChange, NumberId, SessionVault } from "@messaging-service/core"
import { BufferJSON, initAuthCreds, proto } from "baileys"
import type {
  AuthenticationCreds,
  AuthenticationState,
  SignalDataSet,
  SignalDataTypeMap,
} from "baileys"
import { Effect } from "effect"
import { aloud } from "./Connection.ts"

// The keys that a connection read and wrote last, kept beside the store: a text to a person who was
// written to before asks for the same few keys again and again. Only the worker that holds the
// number writes them, so they change here or nowhere; a connection begins with none.

/** Some 200 kB for a number that writes to many at once; an idle one has a few. */
const most = 100

/** Hundreds are made at once and hardly any is read again. */
const passing = "pre-key"

type Read = (type: string, ids: ReadonlyArray<string>) => Promise<ReadonlyMap<string, string>>

const latestKeys = (readStored: Read) => {
  /** The latest last; null for what the store has not. */
  const kept = new Map<string, string | null>()
  let writes = 0

  const keep = (type: string, id: string, value: string | null) => {
    if (type === passing) return
    const place = `${type} ${id}`
    kept.delete(place)
    kept.set(place, value)
    for (const oldest of kept.keys()) {
      if (kept.size <= most) return
      kept.delete(oldest)
    }
  }

  const read: Read = async (type, ids) => {
    const found = new Map<string, string>()
    const take = (id: string, value: string | null, isCurrent: boolean) => {
      if (isCurrent) keep(type, id, value)
      if (value !== null) found.set(id, value)
    }
    const others: Array<string> = []
    for (const id of ids) {
      const value = kept.get(`${type} ${id}`)
      if (value === undefined) others.push(id)
      else take(id, value, true)
    }
    if (others.length === 0) return found
    const before = writes
    const stored = await readStored(type, others)
    // What was written meanwhile may be newer than what was read.
    for (const id of others) take(id, stored.get(id) ?? null, writes === before)
    return found
  }

  /** Takes note of what the store has now. */
  const written = (changes: ReadonlyArray<KeyChange>): void => {
    writes++
    for (const { id, type, value } of changes) keep(type, id, value)
  }

  return { read, written }
}

type KeyType = keyof SignalDataTypeMap

/** Messages with media as they were sent, for recipients that could not read theirs and ask again. */
export const sentType = "sent-message"

/** How many keys of each type a number keeps; of types that are not here there are a few. */
export const keptKeys: Readonly<Partial<Record<KeyType | typeof sentType, number>>> = {
  // 812 are made at the start, and a few more whenever the far side has handed out most of them.
  "pre-key": 2000,
  // One for each device of each recipient.
  session: 20_000,
  "identity-key": 20_000,
  "device-list": 20_000,
  // Two for each recipient: there and back.
  "lid-mapping": 40_000,
  tctoken: 20_000,
  // One for each group that is sent to, and one for each member who writes in a group.
  "sender-key": 20_000,
  "sender-key-memory": 2000,
  "app-state-sync-key": 100,
  "app-state-sync-version": 100,
  [sentType]: 1000,
}

const toText = (value: unknown): string => JSON.stringify(value, BufferJSON.replacer)

const parse = (text: string): unknown => JSON.parse(text, BufferJSON.reviver)

/** A small buffer is a part of 64 kB, which stay for as long as one of their parts. */
const withOwnMemory = (value: unknown): unknown => {
  if (!Buffer.isBuffer(value)) return value
  const own = Buffer.allocUnsafeSlow(value.length)
  value.copy(own)
  return own
}

/** Credentials from their text. They live as long as a connection, of which there are many. */
export const fromText = (text: string): KeptCredentials =>
  JSON.parse(text, (name, value) =>
    withOwnMemory(BufferJSON.reviver(name, value)),
  ) as KeptCredentials

const toKey = (type: KeyType, text: string): unknown =>
  type === "app-state-sync-key"
    ? proto.Message.AppStateSyncKeyData.fromObject(parse(text) as Record<string, unknown>)
    : parse(text)

const changesOf = (data: SignalDataSet): ReadonlyArray<KeyChange> =>
  Object.entries(data).flatMap(([type, ofType]) =>
    Object.entries(ofType ?? {}).map(([id, value]) => ({
      type,
      id,
      value: value === null || value === undefined ? null : toText(value),
    })),
  )

export const credentialsText = toText

/** Marked until the core has taken the link, so that another process knows what to do about it. */
type KeptCredentials = AuthenticationCreds & { isUnconfirmed?: true }

/** The link was made, and it is not known whether the core has taken it. */
export const isUnconfirmed = (creds: KeptCredentials): boolean => creds.isUnconfirmed === true

export const confirm = (creds: KeptCredentials): void => {
  delete creds.isUnconfirmed
}

/** A device is linked once the phone's account has signed for it; `registered` tells nothing. */
export const isLinked = (creds: AuthenticationCreds): boolean =>
  creds.me !== undefined && creds.account !== undefined

/** The key store over any way to read and write texts. */
const keyStore = (
  read: (type: string, ids: ReadonlyArray<string>) => Promise<ReadonlyMap<string, string>>,
  write: (changes: ReadonlyArray<KeyChange>) => Promise<void>,
): AuthenticationState["keys"] => ({
  get: async <T extends KeyType>(type: T, ids: Array<string>) => {
    const found = await read(type, ids)
    return Object.fromEntries(
      [...found].map(([id, text]) => [id, toKey(type, text) as SignalDataTypeMap[T]]),
    )
  },
  set: async (data) => {
    const changes = changesOf(data)
    if (changes.length > 0) await write(changes)
  },
})

/** The device of a linked number. */
interface KeptDevice {
  readonly auth: AuthenticationState
  /** Writes the credentials as they stand. */
  readonly saveCredentials: () => Promise<void>
  /** From now on nothing is written any more, whatever the library still does. */
  readonly letGo: () => void
}

/**
 * The number's device as the vault keeps it; null when there is none. `run` runs a write or read of
 * the vault for the library.
 */
export const openDevice = (
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  isOwned: () => boolean,
) =>
  Effect.map(vault.credentials(numberId), (text): KeptDevice | null => {
    if (text === null) return null
    const creds = fromText(text)
    const hold = makeHold(isOwned)
    // The library takes a key that cannot be read for one that is not there, and then leaves a device
    // of the recipient out, or refuses the whole message.
    const latest = latestKeys((type, ids) =>
      aloud(() => run(hold.read(vault.keys(numberId, type, ids)))),
    )
    /** A write that has to wait says what the credentials are by then: it may come behind a later one. */
    const write = (withCredentials: boolean, changes: ReadonlyArray<KeyChange>): Promise<void> => {
      const once = Effect.suspend(() =>
        vault.write(numberId, withCredentials ? toText(creds) : null, changes),
      )
      return aloud(() => run(hold.write(once)))
    }
    return {
      auth: {
        creds,
        keys: keyStore(latest.read, async (changes) => {
          // The credentials say which pre-keys were made: after a crash none is made again under its id.
          const counts = changes.some(({ type }) => type === "pre-key")
          await write(counts, changes)
          latest.written(changes)
        }),
      },
      saveCredentials: () => write(true, []),
      letGo: hold.letGo,
    }
  })

/** A device that is not linked yet. */
export interface NewDevice {
  readonly auth: AuthenticationState
  /** All keys that it has by now. */
  readonly keys: () => ReadonlyArray<KeyChange>
}

export const newDevice = (): NewDevice => {
  const kept = new Map<string, KeyChange>()
  const creds: KeptCredentials = { ...initAuthCreds(), isUnconfirmed: true }
  const read = (type: string, ids: ReadonlyArray<string>) =>
    Promise.resolve(
      new Map(
        ids.flatMap((id) => {
          const value = kept.get(`${type} ${id}`)?.value ?? null
          return value === null ? [] : [[id, value] as const]
        }),
      ),
    )
  return {
    auth: {
      creds,
      keys: keyStore(read, (changes) => {
        for (const change of changes) kept.set(`${change.type} ${change.id}`, change)
        return Promise.resolve()
      }),
    },
    keys: () => [...kept.values()].filter(({ value }) => value !== null),
  }
}
