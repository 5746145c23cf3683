/** The line about an unusable store names the setting to blame. */
import { assert, describe, it } from "@effect/vitest"
import { StoreUnavailable } from "@messaging-service/core"
import { storeCannotStart } from "../../src/compose/index.ts"

/** A driver's error, with PostgreSQL's code at the bottom. */
const failed = (code: string, message: string) =>
  new StoreUnavailable({
    operation: "connect",
    cause: new Error("failed to execute", { cause: Object.assign(new Error(message), { code }) }),
  })

const noRight = failed("42501", "permission denied for schema other")

describe("a database that cannot be used", () => {
  for (const [what, store, error, line] of [
    [
      "has a schema that the role may not use",
      { kind: "postgres", schema: "other" },
      noRight,
      "DATABASE_SCHEMA: cannot use this schema: permission denied for schema other",
    ],
    [
      "has one that a host's pool may not use",
      { kind: "pool", schema: "other" },
      noRight,
      "store.schema: cannot use this schema: permission denied for schema other",
    ],
    [
      "gives the role no right, where no schema is named",
      { kind: "postgres", schema: null },
      noRight,
      "DATABASE_URL: cannot use this database: permission denied for schema other",
    ],
    [
      "is not there, whatever schema is named",
      { kind: "postgres", schema: "other" },
      failed("3D000", 'database "shop" does not exist'),
      'DATABASE_URL: cannot use this database: database "shop" does not exist',
    ],
    [
      "lies in a directory whose disk is full",
      { kind: "embedded" },
      failed(
        "53100",
        'PANIC: could not write to file "pg_wal/xlogtemp.1": No space left on device',
      ),
      "the disk of DATA_DIR is full: free some space and restart",
    ],
  ] as const) {
    it(what, () => assert.strictEqual(storeCannotStart({ store }, error).message, line))
  }
})
