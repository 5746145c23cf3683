/** A look at what a start would use, which changes no data (`doctor`). */
import { isMarkOfSecretsKeys, parseSecretsKey } from "@messaging-service/core"
import type { ClockReading } from "@messaging-service/core"
import { holdsMediaFile } from "@messaging-service/node"
import type { CannotStart } from "@messaging-service/node"
import type { DatabaseExamination } from "@messaging-service/store-postgres"
import { Effect, Redacted, Result } from "effect"
import type { Scope } from "effect"
import { access, readFile } from "node:fs/promises"
import { join } from "node:path"
import {
  DirectoryInUse,
  lockDirectory,
  mediaDirectory,
  restrictDataDirectory,
} from "./DataDirectory.ts"
import type { ServiceSettings } from "./Settings.ts"
import { loadPglite, storeCannotStart } from "./startFaults.ts"

const stores = Effect.promise(() => import("@messaging-service/store-postgres"))

/** Whether the files of a start match its database; null where that is not known, or nothing is there yet. */
export interface Matches {
  /** The secrets key. */
  readonly secretsKey: boolean | null
  /** The newest media file, in the data directory. */
  readonly newestFile: boolean | null
}

export type StoreExamination =
  | { readonly kind: "memory" }
  | {
      readonly kind: "embedded"
      /** `in_use`: another process has it, as a running service does. */
      readonly state: "none_yet" | "in_use" | "free"
      readonly matches: Matches
    }
  | {
      readonly kind: "postgres"
      readonly version: string
      readonly hasTables: boolean
      readonly clock: ClockReading
      readonly matches: Matches
    }

/** Opens the database for a moment when no other process has it: only that tells its key. */
const examineEmbedded = (
  settings: Pick<ServiceSettings, "dataDirectory" | "secretsKeys" | "store">,
): Effect.Effect<StoreExamination, CannotStart> =>
  Effect.gen(function* (): Effect.fn.Return<StoreExamination, CannotStart, Scope.Scope> {
    const { dataDirectory: directory } = settings
    const isThere = yield* Effect.promise(() =>
      access(join(directory, "db")).then(
        () => true,
        () => false,
      ),
    )
    const unknown = { secretsKey: null, newestFile: null }
    if (!isThere) return { kind: "embedded", state: "none_yet", matches: unknown }
    yield* loadPglite
    const lock = yield* Effect.result(lockDirectory(directory))
    if (Result.isFailure(lock)) {
      if (!(lock.failure instanceof DirectoryInUse)) return yield* lock.failure
      return { kind: "embedded", state: "in_use", matches: unknown }
    }
    const { examineEmbeddedDatabase } = yield* stores
    const found = yield* examineEmbeddedDatabase({
      dataDir: join(directory, "db"),
    }).pipe(Effect.mapError((error) => storeCannotStart(settings, error)))
    // The database ignores the umask when it creates files.
    yield* restrictDataDirectory(directory)
    return { kind: "embedded", state: "free", matches: yield* doesMatch(settings, found) }
  }).pipe(Effect.scoped)

/** The keys of a start, without a new one. */
const presentSecretsKeys = ({
  dataDirectory,
  secretsKeys,
}: Pick<ServiceSettings, "dataDirectory" | "secretsKeys">) =>
  Effect.promise(async () => {
    if (secretsKeys !== null) return [secretsKeys.present, ...secretsKeys.older]
    const text = await readFile(join(dataDirectory, "secrets-key"), "utf8").catch(() => "")
    const key = parseSecretsKey(text.trim())
    return key === undefined ? [] : [key]
  })

/** Whether a start has the key that left the mark; null where none did. */
const isKeyFor = (
  settings: Pick<ServiceSettings, "dataDirectory" | "secretsKeys">,
  mark: string | null,
) =>
  mark === null
    ? Effect.succeed(null)
    : Effect.map(presentSecretsKeys(settings), (keys) => isMarkOfSecretsKeys(mark, keys))

/** Whether the data directory has that media file; null for none. */
const holdsFile = (
  { dataDirectory }: Pick<ServiceSettings, "dataDirectory">,
  storageKey: string | null,
) =>
  storageKey === null
    ? Effect.succeed(null)
    : holdsMediaFile(mediaDirectory(dataDirectory), storageKey)

const doesMatch = (
  settings: Pick<ServiceSettings, "dataDirectory" | "secretsKeys">,
  {
    newestStorageKey,
    secretsKeyMark,
  }: Pick<DatabaseExamination, "newestStorageKey" | "secretsKeyMark">,
): Effect.Effect<Matches, CannotStart> =>
  Effect.all({
    secretsKey: isKeyFor(settings, secretsKeyMark),
    newestFile: holdsFile(settings, newestStorageKey),
  })

/** Fails in the words of a start that cannot use the store. */
export const examineStore = (
  settings: Pick<ServiceSettings, "dataDirectory" | "secretsKeys" | "store">,
): Effect.Effect<StoreExamination, CannotStart> =>
  Effect.gen(function* () {
    const { store } = settings
    if (store.kind === "memory") return { kind: "memory" }
    if (store.kind !== "postgres") return yield* examineEmbedded(settings)
    const { examineDatabase } = yield* stores
    const found = yield* examineDatabase({
      url: Redacted.value(store.url),
      ...(store.schema === null ? {} : { schema: store.schema }),
    }).pipe(Effect.mapError((error) => storeCannotStart(settings, error)))
    return { kind: "postgres", ...found, matches: yield* doesMatch(settings, found) }
  })

/** The host of the database that a name server is asked for. */
export const databaseHosts = async (
  store: ServiceSettings["store"],
): Promise<ReadonlyArray<string>> => {
  if (store.kind !== "postgres") return []
  const { hostsIn } = await import("@messaging-service/store-postgres")
  return hostsIn(Redacted.value(store.url))
}
