/** Lines about what stopped a start, for the person who started the service. */
import type { StoreUnavailable } from "@messaging-service/core"
import { CannotStart, briefly } from "@messaging-service/node"

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
