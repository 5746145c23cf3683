/** What stops a start, in one line for the person who started the service: stores, disks, missing packages. */
import type { StoreUnavailable } from "@messaging-service/core"
import { briefly, CannotStart } from "@messaging-service/node"
import { Data, Effect } from "effect"

/** Where each kind of store is looked for. */
const placeOf = {
  memory: "the memory holds",
  embedded: "DATA_DIR holds",
  postgres: "DATABASE_URL names",
  pool: "store.pool is of",
}

/** A store as far as a line about it needs. */
interface NamedStore {
  readonly kind: keyof typeof placeOf
  readonly schema?: string | null
}

/** SQLSTATEs that a schema is to blame for where one is named: no right to it, and none of that name. */
const ofSchema: ReadonlySet<unknown> = new Set(["42501", "3F000"])

/** The words of PostgreSQL, of Node and of SQLite. */
const fullDisk = /no space left on device|ENOSPC|disk is full/i

/** Whether a failure is of a full disk, which must not read as if the data were damaged. */
export const isOfFullDisk = (cause: unknown): boolean => fullDisk.test(briefly(rootOf(cause)))

/** The line for a `DATA_DIR` whose disk is full. */
export const noRoomForData = "the disk of DATA_DIR has no room: make some, and start again"

/** The line for a store that did not answer when it was first needed. */
export const storeCannotStart = (
  { store }: { readonly store: NamedStore },
  error: StoreUnavailable,
): CannotStart => {
  const root = rootOf(error)
  if (store.kind === "embedded" && isOfFullDisk(error)) {
    return new CannotStart({ message: noRoomForData })
  }
  const isOfSchema = root instanceof Error && "code" in root && ofSchema.has(root.code)
  if (isOfSchema && typeof store.schema === "string") {
    const setting = store.kind === "pool" ? "store.schema is" : "DATABASE_SCHEMA names"
    return cannotStart(`${setting} a schema that cannot be used`, error)
  }
  return cannotStart(`${placeOf[store.kind]} a database that cannot be used`, error)
}

/** The line for what failed at the start: `what`, and the words at the bottom of its cause. */
export const cannotStart = (what: string, cause: unknown) =>
  new CannotStart({ message: `${what}: ${briefly(rootOf(cause))}` })

/** What stands at the bottom of a failure that was wrapped several times. */
const rootOf = (cause: unknown): unknown => {
  const inner = cause instanceof Error ? (reasonOf(cause) ?? cause.cause) : undefined
  return inner === undefined ? cause : rootOf(inner)
}

/** An SQL error has what really happened beside it. */
const reasonOf = (error: Error): unknown =>
  "reason" in error && error.reason instanceof Error ? error.reason : undefined

/** What the embedded database is called where its package is missing: no variable names that choice. */
export const embeddedDatabase = "the embedded database"

/** Codes of Node for a module that is not there. */
const missing = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]

class NotLoaded extends Data.TaggedError("NotLoaded")<{ readonly cause: unknown }> {}

const isMissing = (name: string, cause: unknown): boolean =>
  cause instanceof Error &&
  cause.message.includes(name) &&
  "code" in cause &&
  missing.includes(String(cause.code))

/** Loads a module of a package that `choice` needs. Fails with the line that says what to install. */
export const optionalPackage = <Module>(
  name: string,
  choice: string,
  load: () => Promise<Module>,
): Effect.Effect<Module, CannotStart> =>
  Effect.tryPromise({ try: load, catch: (cause) => new NotLoaded({ cause }) }).pipe(
    Effect.catchTag("NotLoaded", ({ cause }) =>
      isMissing(name, cause)
        ? Effect.fail(
            new CannotStart({
              message: `${choice} needs the package ${name}, which is not installed: npm install ${name}`,
            }),
          )
        : Effect.die(cause),
    ),
  )
