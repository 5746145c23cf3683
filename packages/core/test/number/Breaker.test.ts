import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  firstPauseMillis,
  noPauses,
  noFailures,
  pausedUntil,
  pauseFor,
  pausesAfter,
  pausesOnceLinked,
  failuresAfter,
} from "../../src/model/SendingNumber.ts"
import type { Pause } from "../../src/model/SendingNumber.ts"
import type { SendOutcome } from "../../src/store/Transport.ts"
import { accepted, noon, notConnected, refused, unknown } from "../worker/claimedMessage.ts"

const restricted: SendOutcome = {
  _tag: "Refused",
  error: { code: "send_failed", message: "463" },
  againstNumber: true,
}

/** Consecutive failures after these outcomes, and the pauses they caused, in hours. */
const after = (outcomes: ReadonlyArray<SendOutcome>) => {
  let failures = noFailures
  const hours: Array<number> = []
  for (const outcome of outcomes) {
    const change = failuresAfter(failures, outcome, noon)
    failures = change?.failures ?? failures
    if (change !== null && change.pause !== null) {
      assert.strictEqual(change.pause.reason, "restricted")
      hours.push(((change.pause.until ?? noon) - noon) / firstPauseMillis)
    }
  }
  return { failures, hours }
}

const times = (count: number, outcome: SendOutcome) => Array.from({ length: count }, () => outcome)

describe("the breaker", () => {
  it.effect("pauses after five consecutive refusals, then for twice as long each time", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(after(times(4, restricted)).hours, [])
      assert.deepStrictEqual(after(times(5, restricted)).hours, [1])
      assert.deepStrictEqual(after(times(9, restricted)).hours, [1])
      assert.deepStrictEqual(after(times(20, restricted)), {
        hours: [1, 2, 4, 8],
        failures: { refusals: 0, pauses: 4 },
      })
    }),
  )

  it.effect("starts over once a message was accepted", () =>
    Effect.sync(() => {
      const { hours } = after([...times(4, restricted), accepted, ...times(4, restricted)])
      assert.deepStrictEqual(hours, [])
      assert.deepStrictEqual(
        after([...times(10, restricted), accepted, ...times(5, restricted)]).hours,
        [1, 2, 1],
      )
    }),
  )

  it.effect("ignores outcomes that the number did not cause", () =>
    Effect.sync(() => {
      const others = [
        refused,
        unknown,
        notConnected,
        { _tag: "Postponed", afterMillis: 1 } as const,
      ]
      assert.deepStrictEqual(after([...times(4, restricted), ...others]).failures.refusals, 4)
      assert.deepStrictEqual(after([...times(4, restricted), ...others, restricted]).hours, [1])
      assert.isNull(failuresAfter(noFailures, accepted, noon))
    }),
  )

  it.effect("stays within the range of dates", () =>
    Effect.sync(() => {
      const { pause } = failuresAfter({ refusals: 4, pauses: 1000 }, restricted, noon) ?? {}
      assert.isTrue(Number.isFinite(new Date(pause?.until ?? Number.NaN).getTime()))
    }),
  )
})

describe("a pause", () => {
  const until = (instant: number | null, reason: Pause["reason"] = "paused"): Pause => ({
    until: instant,
    reason,
  })

  it.effect("lasts until its end or until it is resumed", () =>
    Effect.sync(() => {
      assert.isNull(pausedUntil(null, noon))
      assert.strictEqual(pausedUntil(until(noon + 1), noon), noon + 1)
      assert.isNull(pausedUntil(until(noon), noon))
      assert.strictEqual(pausedUntil(until(null), noon), Infinity)
    }),
  )

  const breaker = until(noon + 2, "restricted")
  const banned = until(null, "banned")
  /** The active and the other pause after these in sequence. */
  const after = (...pauses: ReadonlyArray<Pause>) => {
    const { behind, first } = pauses.reduce(pausesAfter, noPauses)
    return behind === null ? [first] : [first, behind]
  }

  it.effect("an operator's next pause replaces the last; the number's own keeps the later", () =>
    Effect.sync(() => {
      const [short, long, endless] = [until(noon), until(noon + 1), until(null)]
      assert.deepStrictEqual(after(short), [short])
      assert.deepStrictEqual(after(endless, short), [short])
      assert.deepStrictEqual(after(long, short), [short])
      const earlier = until(noon + 1, "restricted")
      assert.deepStrictEqual(after(breaker, earlier), [breaker])
      assert.deepStrictEqual(after(earlier, breaker), [breaker])
      assert.deepStrictEqual(after(breaker, banned, earlier), [banned])
    }),
  )

  it.effect("the number's own ends with a new session, an operator's does not", () =>
    Effect.sync(() => {
      const left = (...pauses: ReadonlyArray<Pause>) =>
        pausesOnceLinked(pauses.reduce(pausesAfter, noPauses))
      const operators = until(noon + 1)
      assert.deepStrictEqual(left(), noPauses)
      assert.deepStrictEqual(left(banned), noPauses)
      const kept = { first: operators, behind: null }
      assert.deepStrictEqual(left(operators, banned), kept)
      assert.deepStrictEqual(left(until(noon, "restricted"), operators), kept)
    }),
  )

  it.effect("an operator's and the number's own coexist, and the later counts", () =>
    Effect.sync(() => {
      const [short, long, endless] = [until(noon + 1), until(noon + 3), until(null)]
      assert.deepStrictEqual(after(breaker, short), [breaker, short])
      assert.deepStrictEqual(after(short, breaker), [breaker, short])
      assert.deepStrictEqual(after(breaker, endless), [endless, breaker])
      assert.deepStrictEqual(after(long, breaker), [long, breaker])
      // An operator shortens only the operator's own.
      assert.deepStrictEqual(after(breaker, endless, short), [breaker, short])
      assert.deepStrictEqual(after(short, breaker, endless), [endless, breaker])
      assert.deepStrictEqual(after(breaker, until(noon + 2)), [breaker, until(noon + 2)])
    }),
  )

  it.effect("of a banned number precedes an operator's and outlasts it", () =>
    Effect.sync(() => {
      const [short, endless] = [until(noon), until(null)]
      assert.deepStrictEqual(after(endless, banned), [banned, endless])
      assert.deepStrictEqual(after(banned, endless), [banned, endless])
      assert.deepStrictEqual(after(endless, banned, short), [banned, short])
    }),
  )

  it.effect("follows the remote server's verdict until it is resumed", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(pauseFor("banned"), { until: null, reason: "banned" })
      assert.deepStrictEqual(pauseFor("client_outdated"), {
        until: null,
        reason: "client_outdated",
      })
      for (const reason of ["logged_out", "replaced", "restricted", null] as const) {
        assert.isNull(pauseFor(reason))
      }
    }),
  )
})
