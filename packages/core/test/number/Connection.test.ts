import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { toConnection, isShutOut, shouldReplace } from "../../src/store/NumberStore.ts"
import type { ConnectionFacts, ConnectionReport } from "../../src/store/NumberStore.ts"
import type { ConnectionReason } from "../../src/model/SendingNumber.ts"
import { claim, noon } from "../worker/claimedMessage.ts"

const second = 1000

const report: ConnectionReport = {
  numberId: claim().number.id,
  state: "connected",
  reason: null,
  since: noon - 60 * second,
  lastSeenAt: noon - second,
  reconnects: 2,
}

const facts = (overrides: Partial<ConnectionFacts> = {}): ConnectionFacts => ({
  number: claim().number,
  changed: { at: noon - 90 * second, reason: null },
  report: { ...report, reportedAt: noon - 5 * second },
  waiting: 3,
  sent: 7,
  lastSentAt: noon - 2 * second,
  pause: null,
  isDisabled: false,
  isSending: false,
  firstDueAt: noon - second,
  pacedUntil: null,
  limitedUntil: null,
  noRoomUntil: null,
  ...overrides,
})

const withStatus = (status: "connected" | "connecting" | "disconnected") => ({
  ...claim().number,
  status,
})

/** State, reason and since of a live number. */
const live = (overrides: Partial<ConnectionFacts> = {}) => {
  const { reason, since, state } = toConnection(facts(overrides), noon, true)
  return [state, reason, since]
}

describe("the connection of a live number", () => {
  it.effect("is the state that its worker reports", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(toConnection(facts(), noon, true), {
        state: "connected",
        reason: null,
        since: report.since,
        lastSeenAt: report.lastSeenAt,
        pausedUntil: null,
        reconnects: 2,
        waiting: 3,
        nextSendAt: noon,
        sent24h: 7,
      })
      const lost = { ...report, state: "waiting", reason: "connection_lost" } as const
      assert.deepStrictEqual(live({ report: { ...lost, reportedAt: noon } }), [
        "waiting",
        "connection_lost",
        report.since,
      ])
    }),
  )

  it.effect("is lost once that worker falls silent, or when none has it", () =>
    Effect.sync(() => {
      const reportedAt = noon - 45 * second
      assert.deepStrictEqual(live({ report: { ...report, reportedAt } }), [
        "waiting",
        "connection_lost",
        reportedAt,
      ])
      assert.strictEqual(
        live({ report: { ...report, reportedAt: reportedAt + 1 } })[0],
        "connected",
      )
      assert.deepStrictEqual(live({ report: null }), [
        "waiting",
        "connection_lost",
        noon - 90 * second,
      ])
    }),
  )

  it.effect("keeps the reason of a number that was given up", () =>
    Effect.sync(() => {
      const changed = { at: noon - second, reason: "logged_out" } as const
      const number = withStatus("disconnected")
      assert.deepStrictEqual(live({ number, changed }), ["disconnected", "logged_out", changed.at])
      assert.strictEqual(live({ number, changed: null })[1], "not_linked")
      assert.deepStrictEqual(live({ number: withStatus("connecting"), changed }), [
        "connecting",
        null,
        changed.at,
      ])
    }),
  )

  it.effect(
    "counts as between two tries after a long loss, although the number is disconnected",
    () =>
      Effect.sync(() => {
        const lost = { ...report, state: "waiting", reason: "connection_lost" } as const
        const input = {
          number: withStatus("disconnected"),
          changed: { at: noon, reason: "connection_lost" },
        } as const
        assert.strictEqual(live({ ...input, report: { ...lost, reportedAt: noon } })[0], "waiting")
        const gone = { ...lost, reportedAt: noon - 60 * second }
        assert.strictEqual(live({ ...input, report: gone })[0], "disconnected")
      }),
  )

  it.effect("shows a disabled workspace before a pause", () =>
    Effect.sync(() => {
      const disabled = { isDisabled: true, pause: { until: null, reason: "restricted" } } as const
      assert.deepStrictEqual(live(disabled), ["connected", "account_disabled", report.since])
      assert.isNull(toConnection(facts({ isDisabled: true }), noon, true).nextSendAt)
      const out = { at: noon - second, reason: "logged_out" } as const
      const number = withStatus("disconnected")
      assert.deepStrictEqual(live({ ...disabled, number, changed: out }), [
        "disconnected",
        "logged_out",
        out.at,
      ])
    }),
  )

  it.effect("is connecting again once a process starts on it after it was lost", () =>
    Effect.sync(() => {
      const number = withStatus("disconnected")
      const started = (reason: ConnectionReason, since: number) =>
        live({
          number,
          changed: { at: noon - second, reason },
          report: { ...report, state: "connecting", since, reportedAt: noon },
        })[0]
      // After a login, or when a process starts.
      assert.strictEqual(started("connection_lost", noon), "connecting")
      assert.strictEqual(started("restricted", noon), "connecting")
      assert.strictEqual(started("restricted", noon - 2 * second), "disconnected")
      // Its worker is about to notice.
      assert.strictEqual(started("logged_out", noon), "disconnected")
    }),
  )

  it.effect("is shut out when the remote server ended it and nothing reconnects it", () =>
    Effect.sync(() => {
      const out = (reason: ConnectionReason, overrides: Partial<ConnectionFacts> = {}) =>
        isShutOut(
          facts({
            number: withStatus("disconnected"),
            changed: { at: noon - second, reason },
            ...overrides,
          }),
          noon,
        )
      const reasons = ["banned", "restricted", "client_outdated"] as const
      for (const reason of reasons) assert.isTrue(out(reason))
      for (const reason of ["connection_lost", "logged_out", "replaced"] as const) {
        assert.isFalse(out(reason))
      }
      const connecting = { ...report, state: "connecting", since: noon, reportedAt: noon } as const
      assert.isFalse(out("restricted", { report: connecting }))
      assert.isFalse(out("banned", { number: withStatus("connected") }))
      assert.isFalse(out("banned", { changed: null }))
    }),
  )

  it.effect("shows a pause unless something has to be repaired first", () =>
    Effect.sync(() => {
      const shown = (overrides: Partial<ConnectionFacts>) => {
        const { pausedUntil, reason, state } = toConnection(facts(overrides), noon, true)
        return [state, reason, pausedUntil]
      }
      const pause = { until: null, reason: "paused" } as const
      const lost = { ...report, state: "waiting", reason: "connection_lost" } as const
      const number = withStatus("disconnected")
      const out = (reason: "restricted" | "logged_out") => ({ at: noon, reason })
      assert.deepStrictEqual(shown({ pause }), ["connected", "paused", null])
      assert.deepStrictEqual(shown({ pause, report: { ...lost, reportedAt: noon } }), [
        "waiting",
        "paused",
        null,
      ])
      assert.deepStrictEqual(shown({ pause, number: withStatus("connecting") }), [
        "connecting",
        "paused",
        null,
      ])
      assert.deepStrictEqual(shown({ pause, number, changed: null }), [
        "disconnected",
        "paused",
        null,
      ])
      for (const reason of ["restricted", "logged_out"] as const) {
        assert.deepStrictEqual(shown({ pause, number, changed: out(reason) }), [
          "disconnected",
          reason,
          null,
        ])
      }
      const ended = { until: noon, reason: "paused" } as const
      assert.deepStrictEqual(shown({ pause: ended, number, changed: null })[1], "not_linked")
      const timed = { until: noon + second, reason: "paused" } as const
      assert.deepStrictEqual(shown({ pause: timed, number, changed: out("restricted") }), [
        "disconnected",
        "restricted",
        noon + second,
      ])
    }),
  )

  it.effect("tells when the next message may leave, if known", () =>
    Effect.sync(() => {
      const next = (overrides: Partial<ConnectionFacts>) =>
        toConnection(facts(overrides), noon, true).nextSendAt
      assert.strictEqual(next({ firstDueAt: noon + 5 }), noon + 5)
      assert.strictEqual(next({ pacedUntil: noon + 6, limitedUntil: noon + 7 }), noon + 7)
      assert.strictEqual(next({ pause: { until: noon + 8, reason: "paused" } }), noon + 8)
      assert.strictEqual(next({ pause: { until: noon, reason: "paused" } }), noon)
      assert.isNull(next({ pause: { until: null, reason: "banned" } }))
      assert.isNull(next({ isSending: true }))
      assert.isNull(next({ firstDueAt: null }))
      assert.isNull(next({ report: null }))
    }),
  )
})

describe("a report", () => {
  it.effect("is stored when it changes, and every ten seconds as a heartbeat", () =>
    Effect.sync(() => {
      const before = { report, at: noon }
      assert.isTrue(shouldReplace(report, undefined, noon))
      assert.isFalse(shouldReplace({ ...report, lastSeenAt: noon }, before, noon + 10 * second - 1))
      assert.isTrue(shouldReplace(report, before, noon + 10 * second))
      for (const change of [
        { state: "waiting" },
        { reason: "connection_lost" },
        { since: noon },
        { reconnects: 3 },
      ] as const) {
        assert.isTrue(shouldReplace({ ...report, ...change }, before, noon))
      }
    }),
  )
})
