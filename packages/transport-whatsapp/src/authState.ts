/**
 * A device's credentials and Signal keys, as texts in the vault. A new device keeps them in memory until
 * the phone accepts the code.
 *
 * `keptKeys` bounds each type to the keys written last. The next message makes a dropped session again
 * from the recipient's pre-keys.
 */
import { makeSessionAccess } from "@messaging-service/core"
import type { Incoming, KeyChange, NumberId, SessionVault } from "@messaging-service/core"
import { BufferJSON, initAuthCreds, proto } from "baileys"
import type {
  AuthenticationCreds,
  AuthenticationState,
  SignalDataSet,
  SignalDataTypeMap,
} from "baileys"
import { Effect } from "effect"
import { aloud } from "./Connection.ts"
import { splitReceived } from "./received.ts"
import type { Inbox } from "./received.ts"

// Key cache: texts to a known recipient need the same few keys. Only the owning worker writes them.

/** About 200 kB for a busy number. */
const max = 100

/** Not cached: made by the hundred and hardly ever read. */
const passing = "pre-key"

type Read = (type: string, ids: ReadonlyArray<string>) => Promise<ReadonlyMap<string, string>>

const latestKeys = (readStored: Read) => {
  /** The latest last; null for a key that the store lacks. */
  const retained = new Map<string, string | null>()
  let writes = 0

  const keep = (type: string, id: string, value: string | null) => {
    if (type === passing) return
    const path = `${type} ${id}`
    retained.delete(path)
    retained.set(path, value)
    for (const oldest of retained.keys()) {
      if (retained.size <= max) return
      retained.delete(oldest)
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
      const value = retained.get(`${type} ${id}`)
      if (value === undefined) others.push(id)
      else take(id, value, true)
    }
    if (others.length === 0) return found
    const before = writes
    const stored = await readStored(type, others)
    // A concurrent write may be newer than this read.
    for (const id of others) take(id, stored.get(id) ?? null, writes === before)
    return found
  }

  const written = (changes: ReadonlyArray<KeyChange>): void => {
    writes++
    for (const { id, type, value } of changes) keep(type, id, value)
  }

  return { read, written }
}

type KeyType = keyof SignalDataTypeMap

/** Sent media messages, for retry receipts. */
export const sentType = "sent-message"

/** How many keys of each type a number keeps; other types have a few. */
export const keptKeys: Readonly<Partial<Record<KeyType | typeof sentType, number>>> = {
  // The library makes 812 at the start, and more when WhatsApp has handed most of them out.
  "pre-key": 2000,
  // One for each device of each recipient.
  session: 20_000,
  "identity-key": 20_000,
  "device-list": 20_000,
  // Two for each recipient.
  "lid-mapping": 40_000,
  tctoken: 20_000,
  // One for each group, and one for each member who writes in one.
  "sender-key": 20_000,
  "sender-key-memory": 2000,
  "app-state-sync-key": 100,
  "app-state-sync-version": 100,
  [sentType]: 1000,
}

const toText = (value: unknown): string => JSON.stringify(value, BufferJSON.replacer)

const parse = (text: string): unknown => JSON.parse(text, BufferJSON.reviver)

/** Copies a small buffer, which would keep its pool of 64 kB alive. */
const withOwnMemory = (value: unknown): unknown => {
  if (!Buffer.isBuffer(value)) return value
  const own = Buffer.allocUnsafeSlow(value.length)
  value.copy(own)
  return own
}

export const fromText = (text: string): StoredCredentials =>
  JSON.parse(text, (name, value) =>
    withOwnMemory(BufferJSON.reviver(name, value)),
  ) as StoredCredentials

const toKey = (type: KeyType, text: string): unknown =>
  type === "app-state-sync-key"
    ? proto.Message.AppStateSyncKeyData.fromObject(parse(text) as Record<string, unknown>)
    : parse(text)

const getChanges = (data: SignalDataSet): ReadonlyArray<KeyChange> =>
  Object.entries(data).flatMap(([type, ofType]) =>
    Object.entries(ofType ?? {}).map(([id, value]) => ({
      type,
      id,
      value: value === null || value === undefined ? null : toText(value),
    })),
  )

export const credentialsText = toText

/** Marked until the core accepts the link, so that another process can resume it. */
type StoredCredentials = AuthenticationCreds & { isUnconfirmed?: true }

export const isUnconfirmed = (creds: StoredCredentials): boolean => creds.isUnconfirmed === true

export const confirm = (creds: StoredCredentials): void => {
  delete creds.isUnconfirmed
}

/** A device is linked once the phone's account has signed it; ignore `registered`. */
export const isLinked = (creds: AuthenticationCreds): boolean =>
  creds.me !== undefined && creds.account !== undefined

const keyStore = (
  read: (type: string, ids: ReadonlyArray<string>) => Promise<ReadonlyMap<string, string>>,
  write: (changes: ReadonlyArray<KeyChange>, received: ReadonlyArray<Incoming>) => Promise<void>,
): AuthenticationState["keys"] => ({
  get: async <T extends KeyType>(type: T, ids: Array<string>) => {
    const found = await read(type, ids)
    return Object.fromEntries(
      [...found].map(([id, text]) => [id, toKey(type, text) as SignalDataTypeMap[T]]),
    )
  },
  set: async (data) => {
    const { keys, received } = splitReceived(data)
    const changes = getChanges(keys)
    if (changes.length > 0 || received.length > 0) await write(changes, received)
  },
})

/** The device of a linked number. */
interface KeptDevice {
  readonly auth: AuthenticationState
  readonly saveCredentials: () => Promise<void>
  readonly inbox: Inbox
  /** Stops all later writes, whatever the library still does. */
  readonly letGo: () => void
}

/** The number's device in the vault; null when there is none. `run` runs vault calls for the library. */
export const openDevice = (
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  isOwned: () => boolean,
) =>
  Effect.map(vault.credentials(numberId), (text): KeptDevice | null => {
    if (text === null) return null
    const creds = fromText(text)
    const access = makeSessionAccess(isOwned, vault.takeReceived(numberId))
    // Reads retry: the library takes a failed read for a missing key, and then skips a device or
    // refuses the whole message.
    const read = <A, E>(work: Effect.Effect<A, E>): Promise<A> =>
      aloud(() => run(access.read(work)))
    const latest = latestKeys((type, ids) => read(vault.keys(numberId, type, ids)))
    /** Serialises the credentials when it runs: a delayed write may follow a later one. */
    const write = (
      withCredentials: boolean,
      changes: ReadonlyArray<KeyChange>,
      received: ReadonlyArray<Incoming> = [],
    ): Promise<void> => {
      const once = Effect.suspend(() =>
        vault.write(numberId, withCredentials ? toText(creds) : null, changes, received),
      )
      // WhatsApp forgets a message that the library acknowledges.
      return aloud(() => run(received.length === 0 ? access.write(once) : access.commit(once)))
    }
    return {
      auth: {
        creds,
        keys: keyStore(latest.read, async (changes, received) => {
          // Credentials count the pre-keys: write both together, so that a crash repeats no id.
          const counts = changes.some(({ type }) => type === "pre-key")
          await write(counts, changes, received)
          latest.written(changes)
        }),
      },
      saveCredentials: () => write(true, []),
      inbox: {
        needsNoCopy: (message) => read(vault.needsNoCopy(numberId, message)),
        receive: (incoming) =>
          aloud(() => {
            let isKept = false
            const once = Effect.map(vault.receive(numberId, null, [], [incoming]), (outcomes) => {
              isKept = outcomes.some(({ became }) => became !== "dropped")
            })
            return run(access.commit(once)).then(() => isKept)
          }),
        takeTurn: () => run(access.takeReceived),
        isOn: () => read(vault.hasConversations(numberId)),
      },
      letGo: access.letGo,
    }
  })

export interface NewDevice {
  readonly auth: AuthenticationState
  readonly keys: () => ReadonlyArray<KeyChange>
}

export const newDevice = (): NewDevice => {
  const stored = new Map<string, KeyChange>()
  const creds: StoredCredentials = { ...initAuthCreds(), isUnconfirmed: true }
  const read = (type: string, ids: ReadonlyArray<string>) =>
    Promise.resolve(
      new Map(
        ids.flatMap((id) => {
          const value = stored.get(`${type} ${id}`)?.value ?? null
          return value === null ? [] : [[id, value] as const]
        }),
      ),
    )
  return {
    auth: {
      creds,
      keys: keyStore(read, (changes) => {
        for (const change of changes) stored.set(`${change.type} ${change.id}`, change)
        return Promise.resolve()
      }),
    },
    keys: () => [...stored.values()].filter(({ value }) => value !== null),
  }
}
