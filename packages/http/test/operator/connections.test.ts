/** A number's connection and its settings, as the operator sees them. */
import { assert, describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Doors, errorOf } from "../Doors.ts"
import { layerService } from "../Service.ts"
import { advance, aSender, aText, bodyOf, operate, settle } from "../Records.ts"
import type { Made } from "../Records.ts"
import { send } from "../v2/Asking.ts"

const pathOf = ({ number, workspace }: { readonly number: Made; readonly workspace: Made }) =>
  `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}`

const post = (path: string, json?: unknown) =>
  operate({ method: "POST", path, ...(json === undefined ? {} : { json }) })

const patch = (path: string, json: unknown) => operate({ method: "PATCH", path, json })

const connected = {
  state: "connected",
  reason: null,
  since: "1970-01-01T00:00:00Z",
  last_seen_at: null,
  paused_until: null,
  reconnects: 0,
  worker: "worker",
  waiting: 0,
  next_send_at: null,
  sent_24h: 0,
}

layer(layerService())("a full number", (it) => {
  it.effect("takes a message that is planned for the time when its quota is free", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const { socket } = yield* Doors
      yield* TestClock.adjust("500 millis")
      const sending = (path: string, json: unknown) =>
        socket.call({ method: "POST", path: `/api/v2/messages${path}`, token, json })
      const to = Array.from({ length: 1000 }, () => aText.to)
      assert.strictEqual((yield* sending("/batch", { ...aText, to })).status, 202)
      const answer = yield* operate({ path: `/admin/v1/workspaces/${workspace.id}/connections` })
      const { data } = bodyOf<{
        readonly data: ReadonlyArray<{ readonly quota: { readonly free_at: string } }>
      }>(answer, 200)
      const freeAt = data[0]?.quota.free_at
      assert.strictEqual(freeAt, "1970-01-02T00:00:01Z")
      const planned = yield* sending("", { ...aText, send_at: freeAt })
      assert.strictEqual(planned.status, 202, planned.text)
    }),
  )
})

layer(layerService())("a number's connection", (it) => {
  it.effect("is shown, paused, resumed and logged out", () =>
    Effect.gen(function* () {
      const sender = yield* aSender()
      const path = pathOf(sender)
      const shown = yield* operate({ path: `${path}/connection` })
      assert.deepStrictEqual(bodyOf(shown, 200), connected)
      const paused = yield* post(`${path}/pause`, { until: "1970-01-01T01:00:00Z" })
      assert.deepStrictEqual(bodyOf(paused, 200), {
        ...connected,
        reason: "paused",
        paused_until: "1970-01-01T01:00:00Z",
      })
      yield* send(sender.token)
      yield* settle
      const waiting = yield* operate({ path: `${path}/connection` })
      assert.deepInclude(bodyOf<object>(waiting, 200), {
        waiting: 1,
        next_send_at: "1970-01-01T01:00:00Z",
        sent_24h: 0,
      })
      const endless = bodyOf<object>(yield* post(`${path}/pause`), 200)
      assert.deepInclude(endless, { reason: "paused", paused_until: null, next_send_at: null })
      assert.deepInclude(bodyOf<object>(yield* post(`${path}/resume`), 200), { reason: null })
      yield* settle
      const sent = yield* operate({ path: `${path}/connection` })
      assert.deepInclude(bodyOf<object>(sent, 200), {
        waiting: 0,
        sent_24h: 1,
        last_seen_at: "1970-01-01T00:00:00Z",
      })
      const out = bodyOf<object>(yield* post(`${path}/logout`), 200)
      assert.deepInclude(out, { id: sender.number.id, status: "disconnected" })
      assert.deepInclude(bodyOf<object>(yield* operate({ path: `${path}/connection` }), 200), {
        state: "disconnected",
        reason: "logged_out",
      })
    }),
  )

  it.effect("shows as its reason that a phone logged its linked device out", () =>
    Effect.gen(function* () {
      const sender = yield* aSender()
      yield* operate({
        method: "POST",
        path: `/admin/v1/simulator/numbers/${sender.number.id}/logout`,
      })
      const shown = yield* operate({ path: `${pathOf(sender)}/connection` })
      assert.deepInclude(bodyOf<object>(shown, 200), {
        state: "disconnected",
        reason: "logged_out",
      })
    }),
  )

  it.effect("answers name the limits that change, and never show a proxy again", () =>
    Effect.gen(function* () {
      const path = pathOf(yield* aSender())
      const pacing = {
        min_interval_ms: 1000,
        jitter_ms: null,
        per_minute: 5,
        per_hour: null,
        new_recipients_per_day: null,
      }
      const first = yield* patch(path, { pacing: { min_interval_ms: 1000, per_minute: 5 } })
      assert.deepInclude(bodyOf<object>(first, 200), { pacing, proxy: null })
      const second = yield* patch(path, {
        pacing: { per_minute: null, new_recipients_per_day: 3 },
        proxy_url: "socks5://proxyuser:hidden@192.0.2.9:9050",
      })
      assert.deepInclude(bodyOf<object>(second, 200), {
        pacing: { ...pacing, per_minute: null, new_recipients_per_day: 3 },
        proxy: { host: "192.0.2.9", port: 9050 },
      })
      assert.notInclude(second.text, "hidden")
      assert.notInclude(second.text, "proxyuser")
      const unchanged = yield* patch(path, {})
      assert.deepStrictEqual(unchanged.body, second.body)
      assert.deepInclude(bodyOf<object>(yield* patch(path, { proxy_url: null }), 200), {
        proxy: null,
      })
    }),
  )

  it.effect.each([
    [{ pacing: null }, "pacing"],
    [{ pacing: { per_minute: 0 } }, "pacing.per_minute"],
    [{ pacing: { per_hour: 1.5 } }, "pacing.per_hour"],
    [{ pacing: { min_interval_ms: -1 } }, "pacing.min_interval_ms"],
    [{ pacing: { jitter_ms: 86_400_001 } }, "pacing.jitter_ms"],
    [{ pacing: { jitter_ms: 1e300 } }, "pacing.jitter_ms"],
    [{ pacing: { per_minute: "5" } }, "pacing.per_minute"],
    [{ pacing: { per_day: 1 } }, "pacing.per_day"],
    [{ proxy_url: "ftp://192.0.2.1" }, "proxy_url"],
    [{ proxy_url: "http://user:hidden@192.0.2.1/path" }, "proxy_url"],
    [{ proxy_url: 7 }, "proxy_url"],
  ] as const)("refuses %j", ([json, field]) =>
    Effect.gen(function* () {
      const answer = yield* patch(pathOf(yield* aSender()), json)
      assert.strictEqual(answer.status, 400, answer.text)
      const { code, errors, field: told } = errorOf(answer)
      assert.isEmpty(errors ?? [])
      assert.deepStrictEqual([code, told], ["validation_failed", field])
      assert.notInclude(answer.text, "hidden")
    }),
  )

  it.effect("answers 404 for another workspace's number, and 422 for a pause in the past", () =>
    Effect.gen(function* () {
      const [mine, theirs] = [yield* aSender(), yield* aSender()]
      const foreign = pathOf({ number: theirs.number, workspace: mine.workspace })
      for (const answer of [
        yield* operate({ path: `${foreign}/connection` }),
        yield* post(`${foreign}/pause`),
        yield* post(`${foreign}/resume`),
        yield* post(`${foreign}/logout`),
      ]) {
        assert.deepStrictEqual([answer.status, errorOf(answer).code], [404, "number_not_found"])
      }
      const past = yield* post(`${pathOf(mine)}/pause`, { until: "1969-12-31T23:59:59Z" })
      assert.deepStrictEqual([past.status, errorOf(past).code], [422, "time_in_past"])
    }),
  )
})

describe("with a clock that can be moved", () => {
  const adjustable = layerService({ ports: layerStoredClock() })

  layer(adjustable, { excludeTestServices: true })("time and pacing", (it) => {
    it.effect("a paced number is idle while it rests, and sends as time moves on", () =>
      Effect.gen(function* () {
        const sender = yield* aSender()
        const path = pathOf(sender)
        yield* patch(path, { pacing: { min_interval_ms: 600_000, per_hour: 3 } })
        for (let count = 0; count < 5; count++) yield* send(sender.token)
        const sent = Effect.gen(function* () {
          yield* settle
          return bodyOf<{ readonly sent_24h: number }>(
            yield* operate({ path: `${path}/connection` }),
            200,
          ).sent_24h
        })
        assert.strictEqual(yield* sent, 1)
        yield* advance(650)
        assert.strictEqual(yield* sent, 2)
        yield* advance(2000)
        assert.strictEqual(yield* sent, 3)
        yield* advance(3600)
        assert.strictEqual(yield* sent, 5)
      }),
    )
  })
})
