/**
 * Rounds of due work that another transaction may block: what it blocks waits until the others are
 * done.
 */
import { Effect } from "effect"
import type { NumberId } from "../model/Ids.ts"

export interface DueRounds<Due, Id, E> {
  readonly due: (limit: number) => Effect.Effect<ReadonlyArray<Due>, E>
  readonly toId: (due: Due) => Id
  /** Whether it was blocked; of a number in the set that is known, and the set learns of more. */
  readonly run: (due: Due, blockedByLock: Set<NumberId>) => Effect.Effect<boolean, E>
  /** Of a round. */
  readonly batch: number
  readonly atOnce: number
}

/** Runs one round; answers how many it completed. */
export const makeDueRound = <Due, Id, E>({
  atOnce,
  batch,
  due,
  run,
  toId,
}: DueRounds<Due, Id, E>) => {
  /** Blocked ones, which wait until the others are done. */
  let putOff: ReadonlySet<Id> = new Set()
  return Effect.gen(function* dueRound() {
    const found = yield* due(batch + putOff.size)
    const others = found.filter((one) => !putOff.has(toId(one)))
    const isAgain = others.length === 0
    const tried = (isAgain ? found : others).slice(0, batch)
    const blockedByLock = new Set<NumberId>()
    const late = yield* Effect.filter(tried, (one) => run(one, blockedByLock), {
      // Each blocked one holds a connection while it waits.
      concurrency: isAgain ? 1 : atOnce,
    })
    putOff = new Set([...(isAgain ? [] : putOff), ...late.map(toId)])
    return tried.length - late.length
  })
}
