/**
 * Reasons why a start fails, one line each for the person who started the service: stores, disks,
 * missing packages.
 */
import type { StoreUnavailable } from "@messaging-service/core"
import { briefly, CannotStart } from "@messaging-service/node"
import { Data, Effect } from "effect"

/** Subjects of a line about a start. */
export type Setting =
  | "DATABASE_URL"
  | "DATABASE_SCHEMA"
  | "DATA_DIR"
  | "SECRETS_KEY"
  | "pool"
  | "embedded"
  | "live"
  | "telegram"
  | "simulated"
  | "dashboard"

/** Names of the settings: variables here, options where a program sets them. */
export type SettingNames = Readonly<Record<Setting, string>>

const variableNames: SettingNames = {
  DATABASE_URL: "DATABASE_URL",
  DATABASE_SCHEMA: "DATABASE_SCHEMA",
  DATA_DIR: "DATA_DIR",
  SECRETS_KEY: "SECRETS_KEY",
  // Only a program can set one.
  pool: "store.pool",
  // No variable names that choice.
  embedded: "the embedded database",
  live: "TRANSPORT=live",
  telegram: "TELEGRAM_API_ID",
  simulated: "TRANSPORT=simulated",
  dashboard: "DASHBOARD=true",
}

/** A `CannotStart` about a setting, in the words of its reader. */
export class SettingFault extends CannotStart {
  /** What to change; null when no setting is to blame. */
  readonly setting: Setting | null
  readonly describe: (names: SettingNames) => string

  constructor(setting: Setting | null, describe: (names: SettingNames) => string) {
    super({ message: describe(variableNames) })
    this.setting = setting
    this.describe = describe
  }
}

/** The setting that locates each kind of store. */
const settingByStore: Readonly<Record<NamedStore["kind"], Setting | null>> = {
  memory: null,
  embedded: "DATA_DIR",
  postgres: "DATABASE_URL",
  pool: "pool",
}

/** The facts of a store that a line about it needs. */
interface NamedStore {
  readonly kind: "memory" | "embedded" | "postgres" | "pool"
  readonly schema?: string | null
}

/** SQLSTATEs that blame the configured schema: no right to it, or no schema of that name. */
const ofSchema: ReadonlySet<unknown> = new Set(["42501", "3F000"])

/** The words of PostgreSQL, of Node and of SQLite. */
const fullDisk = /no space left on device|ENOSPC|disk is full/i

/** Whether a failure means a full disk, which must not read like damaged data. */
export const isOfFullDisk = (cause: unknown): boolean => fullDisk.test(briefly(rootCause(cause)))

/** The line for a data directory on a full disk. */
export const noRoomForData = () =>
  new SettingFault(
    null,
    ({ DATA_DIR }) => `the disk of ${DATA_DIR} is full: free some space and restart`,
  )

/** The line for a store that did not answer at the start. */
export const storeCannotStart = (
  { store }: { readonly store: NamedStore },
  error: StoreUnavailable,
): CannotStart => {
  const root = rootCause(error)
  const why = briefly(root)
  if (store.kind === "embedded" && isOfFullDisk(error)) return noRoomForData()
  const isOfSchema = root instanceof Error && "code" in root && ofSchema.has(root.code)
  if (isOfSchema && typeof store.schema === "string") {
    return new SettingFault(
      "DATABASE_SCHEMA",
      (names) =>
        `${store.kind === "pool" ? "store.schema" : names.DATABASE_SCHEMA}: cannot use this schema: ${why}`,
    )
  }
  const setting = settingByStore[store.kind]
  if (setting === null) {
    return new CannotStart({ message: `cannot use the in-memory database: ${why}` })
  }
  return new SettingFault(setting, (names) => `${names[setting]}: cannot use this database: ${why}`)
}

/** The line for media files that cannot be stored, with the innermost cause's words. */
export const mediaCannotStart = (cause: unknown): CannotStart =>
  new SettingFault(
    "DATA_DIR",
    ({ DATA_DIR }) => `cannot store media files in ${DATA_DIR}: ${briefly(rootCause(cause))}`,
  )

/** The innermost cause of a failure with several wrappers. */
const rootCause = (cause: unknown): unknown => {
  const inner = cause instanceof Error ? (toReason(cause) ?? cause.cause) : undefined
  return inner === undefined ? cause : rootCause(inner)
}

/** An SQL error carries the real failure as its reason. */
const toReason = (error: Error): unknown =>
  "reason" in error && error.reason instanceof Error ? error.reason : undefined

/** Node's codes for a missing module. */
const missing = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]

class NotLoaded extends Data.TaggedError("NotLoaded")<{ readonly cause: unknown }> {}

/** A name without the version behind it. */
const withoutVersion = (name: string): string => name.replace(/(?<=.)@.*$/, "")

const isMissing = (name: string, cause: unknown): boolean =>
  cause instanceof Error &&
  cause.message.includes(withoutVersion(name)) &&
  "code" in cause &&
  missing.includes(String(cause.code))

const notInstalled = (name: string, setting: Setting) =>
  new SettingFault(
    setting,
    (names) =>
      `${names[setting]} needs the package ${name}, which is not installed: npm install ${name}`,
  )

/**
 * Loads a module of a package that the setting needs. Fails with a line that names the package to
 * install. The name may carry a version.
 */
export const optionalPackage = <Module>(
  name: string,
  setting: Setting,
  load: () => Promise<Module>,
): Effect.Effect<Module, CannotStart> =>
  Effect.tryPromise({ try: load, catch: (cause) => new NotLoaded({ cause }) }).pipe(
    Effect.catchTag("NotLoaded", ({ cause }) =>
      isMissing(name, cause) ? Effect.fail(notInstalled(name, setting)) : Effect.die(cause),
    ),
  )

/** Loads the embedded database. Without its type: programs compile without the package. */
export const loadPglite: Effect.Effect<void, CannotStart> = Effect.asVoid(
  optionalPackage("@electric-sql/pglite", "embedded", () => import("@electric-sql/pglite")),
)

/**
 * The same line, before anything is loaded; null where the package is there, or where the host cannot
 * tell. `resolve` throws for a missing package.
 */
export const missingPackage = (
  name: string,
  setting: Setting,
  resolve: ((name: string) => unknown) | undefined,
): CannotStart | null => {
  try {
    resolve?.(name)
  } catch (cause) {
    if (isMissing(name, cause)) return notInstalled(name, setting)
  }
  return null
}
