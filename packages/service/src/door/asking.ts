/** What operations of the front door share: ids, idempotency keys and lists. */
import {
  MediaLinks,
  canonicalJson,
  fingerprint,
  parseId,
  parseIdempotencyKey,
  refuse,
} from "@messaging-service/core"
import type {
  Caller,
  CursorPage,
  Failure,
  IdempotencyKey,
  ListPage,
  MediaLink,
} from "@messaging-service/core"
import { Clock, Effect } from "effect"
import type { HasId, Listing, Made, Page, PageOptions, RepeatOptions } from "../api/common.ts"
import type { ComposedService } from "../compose/index.ts"
import type { Calling, Run } from "./Calls.ts"
import { anything, fields, isObject, isText, must, refusalOf } from "./rules.ts"
import type { Rule } from "./rules.ts"

/** The id of something that is named by it or has it; undefined when it cannot be one. */
export const idOf = <Id extends number>(given: HasId): Id | undefined =>
  parseId<Id>(String(typeof given === "object" && given !== null ? given.id : given))

/** Options of an operation that can be repeated. The key itself is looked at below. */
const repeatOptions = fields<RepeatOptions>({ idempotencyKey: anything })

/**
 * The key of a repeatable call. A call over HTTP with the same key, by the same API key, is a repeat of
 * it: both are told by the same path and body.
 */
export const repeatable = (
  options: RepeatOptions | undefined,
  path: string,
  body: unknown,
  rule: Rule = repeatOptions,
): Effect.Effect<IdempotencyKey | null, Failure> => {
  const wrong = refusalOf(rule, options)
  if (wrong !== undefined) return Effect.fail(wrong)
  const given: unknown = options?.idempotencyKey
  if (given === undefined) return Effect.succeed(null)
  // Not made a text first: all objects would become one key, and so would null.
  return Effect.fromResult(parseIdempotencyKey([isText(given) ? given : ""])).pipe(
    Effect.mapError((refusal) =>
      refuse(refusal.code, { field: "idempotencyKey", message: keyRule }),
    ),
    Effect.map((key) =>
      key === null ? null : { key, fingerprint: fingerprint("POST", path, canonicalJson(body)) },
    ),
  )
}

const keyRule = "must be 1 to 255 printable ASCII characters"

/** What an idempotent operation answered. */
export const made = <A extends object>(record: A, replayed: boolean): Made<A> => ({
  ...record,
  replayed,
})

/** How many records a page has when a caller loops over a list and names no `limit`. */
const loopLimit = 100

/** Makes a list of what `load` finds. */
export const listing = <A, B, Query extends PageOptions>(
  run: Run,
  query: Query | undefined,
  load: (query: Query & ListPage) => Effect.Effect<CursorPage<A>, Failure, ComposedService>,
  show: Effect.Effect<(record: A) => B, Failure, ComposedService>,
): Listing<B> => {
  // Looked at before it is spread, since what is no object would then count as one without fields.
  const wrong = refusalOf(must("an object", isObject), query ?? undefined, "query")
  const page = (asked: Query & ListPage): Promise<Page<B>> =>
    run(
      Effect.gen(function* () {
        if (wrong !== undefined) return yield* wrong
        const { items, next } = yield* load(asked)
        const shown = yield* show
        return { items: items.map(shown), nextCursor: next }
      }),
    )
  const given = { ...query } as Query & ListPage
  return {
    page: () => page(given),
    async *[Symbol.asyncIterator]() {
      let asked: Query & ListPage = { limit: loopLimit, ...given }
      for (;;) {
        const { items, nextCursor } = await page(asked)
        yield* items
        if (nextCursor === null) return
        asked = { ...asked, cursor: nextCursor }
      }
    },
  }
}

/** The same of what it finds for the caller. */
export const listingOf = <A, B, Query extends PageOptions>(
  { caller, run }: Pick<Calling, "caller" | "run">,
  query: Query | undefined,
  load: (
    who: Caller,
    query: Query & ListPage,
  ) => Effect.Effect<CursorPage<A>, Failure, ComposedService>,
  show: Effect.Effect<(record: A) => B, Failure, ComposedService>,
): Listing<B> =>
  listing(run, query, (asked) => Effect.flatMap(caller, (who) => load(who, asked)), show)

/** Shows records as they stand now, with fresh links. */
export const showingNow = <A, B>(show: (record: A, now: number, link: MediaLink) => B) =>
  Effect.gen(function* () {
    const { link } = yield* MediaLinks
    const now = yield* Clock.currentTimeMillis
    return (record: A) => show(record, now, link)
  })
