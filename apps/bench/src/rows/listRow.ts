/** A page far down a long list, against its first page. */
import { everyMessage, Store } from "@messaging-service/core"
import type { MessageId, WorkspaceId } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import { loadWorkspace } from "../database/fixture.ts"
import { loadHistory } from "../database/history.ts"
import { check, CheckFailed } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { median } from "../measuring/rounds.ts"
import { storeOn } from "../Setup.ts"

/** Messages on a page: as many as without `limit` (contract: Pages and cursors). */
const limit = 50

/** Calls come in such numbers that a pause of the machine is seen as what it is. */
const callsOfARun = 4

const filter = everyMessage

export const listRow: Row = {
  id: "list",
  title: "a page far down a list / its first page",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    const one = yield* loadWorkspace(database, { numbers: 100, keys: 1 })
    yield* loadHistory(database, one, 100, sizes.listed)
    const store = Context.get(
      yield* Layer.build(storeOn(database, 4)).pipe(Effect.orDie),
      Store,
    ).messages
    const scope = { workspaceId: one.id as WorkspaceId, mode: "live", restriction: null } as const

    /** The page with that number, counted from 1: its newest message is known. */
    const page = (name: string, index: number): Candidate => {
      const newest = sizes.listed - (index - 1) * limit
      const before = index === 1 ? null : ((newest + 1) as MessageId)
      const call = Effect.gen(function* call() {
        const started = performance.now()
        const { items } = yield* store.list(scope, filter, { before, limit }, Date.now())
        const took = performance.now() - started
        yield* check("messages of the page", items.length, limit)
        yield* check("first of the page", items[0]?.id ?? 0, newest)
        yield* check("last of the page", items.at(-1)?.id ?? 0, newest - limit + 1)
        return took
      }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))
      return {
        name,
        run: Effect.map(
          Effect.all(Array.from({ length: sizes.calls * callsOfARun }, () => call)),
          median,
        ),
      }
    }
    const first = "page 1"
    const remote = `page ${sizes.deepPage.toLocaleString("en")}`
    return {
      unit: "ms",
      candidates: [page(first, 1), page(remote, sizes.deepPage)],
      ratios: [
        {
          name: `${remote} / ${first}`,
          numerator: remote,
          denominator: first,
          limit: { atMost: 1.3 },
        },
      ],
      notes: [
        `a list over ${sizes.listed.toLocaleString("en")} messages of one workspace, ${limit} on a page`,
        "the median call of each run, through the store",
      ],
    }
  }),
}
