/** What operations of the front door share: ids, idempotency keys and lists. */
import {
  canonicalJson,
  fingerprint,
  parseId,
  parseIdempotencyKey,
  refuse,
} from "@messaging-service/core"
import type {
  CursorPage,
  Failure,
  IdempotencyKey,
  ListPage,
  Refusal,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { HasId, Listing, Made, Page, PageOptions, RepeatOptions } from "../api/common.ts"
import type { ComposedService } from "../compose/index.ts"
import type { Run } from "./Calls.ts"

/** The id of something that is named by it or has it; undefined when it cannot be one. */
export const idOf = <Id extends number>(given: HasId): Id | undefined =>
  parseId<Id>(String(typeof given === "object" && given !== null ? given.id : given))

/** What is wrong with a call's options: one that is misspelt must not pass for one left out. */
export const wrongOption = (
  options: unknown,
  known: ReadonlyArray<string>,
): Refusal | undefined => {
  if (options === undefined || options === null) return undefined
  if (typeof options !== "object") {
    return refuse("validation_failed", { field: "options", message: "must be an object" })
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  return unknown === undefined
    ? undefined
    : refuse("validation_failed", {
        // Doubled, an underscore is shown as it was given.
        field: unknown.replaceAll("_", "__"),
        message: "is not an option of this call",
      })
}

/**
 * The key of a repeatable call. A call over HTTP with the same key, by the same API key, is a repeat of
 * it: both are told by the same path and body.
 */
export const repeatable = (
  options: RepeatOptions | undefined,
  path: string,
  body: unknown,
  known: ReadonlyArray<string> = ["idempotencyKey"],
): Effect.Effect<IdempotencyKey | null, Failure> => {
  const wrong = wrongOption(options, known)
  if (wrong !== undefined) return Effect.fail(wrong)
  const given = options?.idempotencyKey
  if (given === undefined) return Effect.succeed(null)
  return Effect.map(Effect.fromResult(parseIdempotencyKey([String(given)])), (key) =>
    key === null ? null : { key, fingerprint: fingerprint("POST", path, canonicalJson(body)) },
  )
}

/** What an idempotent operation answered. */
export const made = <A extends object>(record: A, replayed: boolean): Made<A> => ({
  ...record,
  replayed,
})

/** Records of a page of a loop, where the caller does not say. */
const loopLimit = 100

/** Makes a list of what `load` finds. */
export const listing = <A, B, Query extends PageOptions>(
  run: Run,
  query: Query | undefined,
  load: (query: Query & ListPage) => Effect.Effect<CursorPage<A>, Failure, ComposedService>,
  show: Effect.Effect<(record: A) => B, Failure, ComposedService>,
): Listing<B> => {
  const page = (asked: Query & ListPage): Promise<Page<B>> =>
    run(
      Effect.gen(function* () {
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
