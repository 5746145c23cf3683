/** A store that this process has open already: the second call says where the first one was. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect } from "effect"
import { aDatabase, opened } from "./Opened.ts"

layer(EmbeddedPostgres.shared, { excludeTestServices: true })(
  "a store that is open in this process already",
  (it) => {
    it.effect("is shared on PostgreSQL, with a line in the log", () =>
      Effect.gen(function* () {
        const { options } = yield* aDatabase
        yield* Effect.promise(async () => {
          const lines: Array<unknown> = []
          const warn = (line: unknown) => void lines.push(line)
          const logger = { debug: () => {}, info: () => {}, warn, error: warn }
          const quiet = { ...options, logger, worker: false }
          await opened(quiet)
          const warnings = () => lines.filter((line) => /openedTwice|Opened\.ts/.test(String(line)))
          assert.isEmpty(warnings())
          await opened({ ...quiet, store: { ...options.store, schema: "another" } })
          assert.isEmpty(warnings())
          await opened(quiet)
          assert.lengthOf(warnings(), 1)
        })
      }),
    )
  },
)
