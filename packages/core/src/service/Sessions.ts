/**
 * Sessions of live numbers: for each, the credentials and keys that let it return as the same
 * device. The store holds them sealed; the vault opens them for transports.
 *
 * Each write names the term under which the worker took the number's shard. Once another worker
 * took it, the store changes nothing and answers false. So late writes of a frozen or cut-off
 * worker cannot undo its successor's.
 *
 * It is for transports alone: no log or error shows what it opens. Writes of one number reach the
 * store in order, and fail with `NumberMoved` once another worker owns it. They always complete, so
 * that the next write finds them done. Reads of credentials queue behind them, since a reader
 * restarts from what was written.
 *
 * Transports bound a session by trimming key types that grow; a wipe deletes it. A number that was
 * logged out or removed keeps its session, so that the remote can still log its device out later.
 */
import { Clock, Context, Effect, Layer, Result, Semaphore } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { Ids, numberEventIds } from "../model/Ids.ts"
import type { Addressed, Incoming, ReceivedOutcome } from "../model/Incoming.ts"
import type { NumberId } from "../model/Ids.ts"
import { MediaLinks } from "../model/Media.ts"
import { Secrets } from "../model/Secrets.ts"
import type { CannotOpen } from "../model/Secrets.ts"
import { NumberMoved, NumberOwnership } from "./NumberOwnership.ts"
import { makeReceivingPace } from "./ReceivingPace.ts"
import type {
  SessionStore,
  Fence,
  StoredSession,
  KeyChange,
  LoggedIn,
  Exchanged,
} from "../model/Shards.ts"
import { makeNewReceived, wakeForReceived } from "./ReceivedFiles.ts"
import { WakeUp } from "../store/DueWork.ts"
import { countReceived, timeStoring } from "../store/Metrics.ts"
import { Store } from "../store/Store.ts"

type Written = Effect.Effect<void, StoreUnavailable | NumberMoved>

/** What the vault needs. */
interface Vault {
  readonly store: SessionStore
  readonly secrets: Secrets["Service"]
  readonly ownership: NumberOwnership["Service"]
  readonly ids: Ids["Service"]
  readonly newReceived: Effect.Success<typeof makeNewReceived>
  readonly wakeUp: WakeUp["Service"]
  /** One for each live number. */
  readonly paces: Map<NumberId, Effect.Effect<void>>
  /** One for each live number. */
  readonly semaphores: Map<NumberId, Semaphore.Semaphore>
}

/** Runs work after the earlier writes of its number. */
const behindWrites = <A, E>(
  { semaphores }: Vault,
  numberId: NumberId,
  work: Effect.Effect<A, E>,
): Effect.Effect<A, E> => {
  const semaphore = semaphores.get(numberId) ?? Semaphore.makeUnsafe(1)
  semaphores.set(numberId, semaphore)
  return semaphore.withPermits(1)(work)
}

/** Writes under the term at the time of the call, or not at all. */
const sequentially = Effect.fnUntraced(function* sequentially(
  vault: Vault,
  numberId: NumberId,
  write: (fence: Fence, now: number) => Effect.Effect<boolean, StoreUnavailable>,
) {
  const fence = yield* vault.ownership.fence(numberId)
  const isWritten = yield* behindWrites(
    vault,
    numberId,
    Effect.uninterruptible(Effect.flatMap(Clock.currentTimeMillis, (now) => write(fence, now))),
  )
  if (!isWritten) return yield* new NumberMoved({ numberId })
})

const receive = (
  vault: Vault,
  numberId: NumberId,
  credentials: string | null,
  keys: ReadonlyArray<KeyChange>,
  received: ReadonlyArray<Incoming>,
): Effect.Effect<ReadonlyArray<ReceivedOutcome>, StoreUnavailable | NumberMoved> =>
  Effect.suspend(() => {
    const { secrets, store } = vault
    let outcomes: ReadonlyArray<ReceivedOutcome> = []
    const written = sequentially(vault, numberId, (fence, now) => {
      const write = [
        numberId,
        credentials === null ? null : secrets.seal(credentialsContext(numberId), credentials),
        sealedKeys(vault, numberId, keys),
        now,
        fence,
      ] as const
      if (received.length === 0) return store.write(...write)
      const all = vault.newReceived(numberId, received, now)
      return store.receive(...write, all).pipe(
        Effect.tap((found) => wakeForReceived(vault.wakeUp, received, found ?? [])),
        Effect.map((found) => {
          outcomes = found ?? []
          return found !== null
        }),
      )
    })
    if (received.length === 0) return Effect.as(written, outcomes)
    // Transports have the store itself, which counts nothing.
    const counted = Effect.tap(written, () => countReceived(outcomes))
    return Effect.map(timeStoring(numberId, counted), () => outcomes)
  })

const keyContext = (numberId: NumberId, type: string, id: string) =>
  `session of number ${numberId}: ${type} ${id}`

const credentialsContext = (numberId: NumberId) => `session of number ${numberId}`

const sealedKeys = ({ secrets }: Vault, numberId: NumberId, keys: ReadonlyArray<KeyChange>) =>
  keys.map((key): KeyChange => ({
    ...key,
    value:
      key.value === null ? null : secrets.seal(keyContext(numberId, key.type, key.id), key.value),
  }))

/** Replaces credentials that are still those that the caller read. A repeat finds it done. */
const exchange = (
  vault: Vault,
  numberId: NumberId,
  before: string | null,
  credentials: string | null,
  keys: ReadonlyArray<KeyChange>,
  account: LoggedIn | null,
) =>
  Effect.gen(function* replaceRead() {
    const { ids, secrets, store } = vault
    const sealed = yield* store.credentials(numberId)
    const context = credentialsContext(numberId)
    const opened = sealed === null ? null : Result.getOrNull(secrets.open(context, sealed))
    if (opened === credentials) return true
    if (opened !== before) return false
    const now = yield* Clock.currentTimeMillis
    return yield* store.exchange(
      numberId,
      sealed,
      credentials === null ? null : secrets.seal(context, credentials),
      sealedKeys(vault, numberId, keys),
      now,
      account && { ...account, events: numberEventIds(ids, now) },
    )
  }).pipe(Effect.uninterruptible, (work) => behindWrites(vault, numberId, work))

export class SessionVault extends Context.Service<
  SessionVault,
  {
    /** See `SessionStore`. */
    readonly list: Effect.Effect<ReadonlyArray<StoredSession>, StoreUnavailable>
    credentials(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable | CannotOpen>
    keys(
      numberId: NumberId,
      type: string,
      ids: ReadonlyArray<string>,
    ): Effect.Effect<ReadonlyMap<string, string>, StoreUnavailable | CannotOpen>
    /** Waits until the number may receive one more message; see `makeReceivingPace`. */
    takeReceived(numberId: NumberId): Effect.Effect<void>
    /** `received`: what people wrote, stored in the commit of the keys that opened it, once. */
    write(
      numberId: NumberId,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      received?: ReadonlyArray<Incoming>,
    ): Written
    /** As `write`; what happened to each that was received. */
    receive(
      numberId: NumberId,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      received: ReadonlyArray<Incoming>,
    ): Effect.Effect<ReadonlyArray<ReceivedOutcome>, StoreUnavailable | NumberMoved>
    /** Whether what people write to the number is stored. */
    hasConversations(numberId: NumberId): Effect.Effect<boolean, StoreUnavailable>
    /** See `ChatStore`. */
    needsNoCopy(numberId: NumberId, message: Addressed): Effect.Effect<boolean, StoreUnavailable>
    replace(numberId: NumberId, credentials: string, keys: ReadonlyArray<KeyChange>): Written
    /**
     * As in `SessionStore`, a wipe when the new credentials are null; returns whether they are now
     * in place. Credentials sealed with an older secrets key count as none. A repeat finds it done.
     */
    exchange(
      numberId: NumberId,
      before: string | null,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      account?: LoggedIn | null,
    ): Effect.Effect<Exchanged, StoreUnavailable>
    trim(numberId: NumberId, type: string, max: number): Written
    leave(numberId: NumberId): Written
    wipe(numberId: NumberId): Written
  }
>()("core/SessionVault") {
  static readonly layer = Layer.effect(
    SessionVault,
    Effect.gen(function* make() {
      const { chats, numbers, sessions: store } = yield* Store
      const secrets = yield* Secrets
      const ownership = yield* NumberOwnership
      const vault: Vault = {
        store,
        secrets,
        ownership,
        ids: yield* Ids,
        paces: new Map(),
        newReceived: yield* makeNewReceived,
        wakeUp: yield* WakeUp,
        semaphores: new Map(),
      }
      return SessionVault.of({
        list: store.list,
        needsNoCopy: chats.needsNoCopy,
        credentials: Effect.fnUntraced(function* credentials(numberId) {
          const sealed = yield* behindWrites(vault, numberId, store.credentials(numberId))
          if (sealed === null) return null
          return yield* Effect.fromResult(secrets.open(credentialsContext(numberId), sealed))
        }),
        keys: Effect.fnUntraced(function* keys(numberId, type, ids) {
          const opened = new Map<string, string>()
          for (const [id, sealed] of yield* store.keys(numberId, type, ids)) {
            const text = secrets.open(keyContext(numberId, type, id), sealed)
            if (Result.isFailure(text)) return yield* text.failure
            opened.set(id, text.success)
          }
          return opened
        }),
        takeReceived: (numberId) =>
          Effect.suspend(() => {
            const pace = vault.paces.get(numberId) ?? makeReceivingPace()
            vault.paces.set(numberId, pace)
            return pace
          }),
        write: (numberId, credentials, keys, received = []) =>
          Effect.asVoid(receive(vault, numberId, credentials, keys, received)),
        receive: (numberId, credentials, keys, received) =>
          receive(vault, numberId, credentials, keys, received),
        hasConversations: Effect.fnUntraced(function* hasConversations(numberId) {
          const number = yield* numbers.find(numberId)
          return number !== null && (yield* chats.conversations(number.workspaceId)) !== null
        }),
        replace: (numberId, credentials, keys) =>
          sequentially(vault, numberId, (fence, now) =>
            store.replace(
              numberId,
              secrets.seal(credentialsContext(numberId), credentials),
              sealedKeys(vault, numberId, keys),
              now,
              fence,
            ),
          ),
        exchange: (numberId, before, credentials, keys, account = null) =>
          exchange(vault, numberId, before, credentials, keys, account),
        trim: (numberId, type, max) =>
          sequentially(vault, numberId, (fence) => store.trim(numberId, type, max, fence)),
        leave: (numberId) =>
          sequentially(vault, numberId, (fence, now) => store.markLeaving(numberId, now, fence)),
        wipe: (numberId) => sequentially(vault, numberId, (fence) => store.wipe(numberId, fence)),
      })
    }),
  ).pipe(Layer.provide(MediaLinks.layer))
}
