/** A number's connection and its settings, as the operator sees them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender, aText, expectBody, operate, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { send } from "../v2/Asking.ts"

const toPath = ({ number, workspace }: { readonly number: Created; readonly workspace: Created }) =>
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
      const { socket } = yield* HttpTestClients
      yield* TestClock.adjust("500 millis")
      const sending = (path: string, json: unknown) =>
        socket.call({ method: "POST", path: `/api/v2/messages${path}`, token, json })
      const to = Array.from({ length: 1000 }, () => aText.to)
      assert.strictEqual((yield* sending("/batch", { ...aText, to })).status, 202)
      const answer = yield* operate({ path: `/admin/v1/workspaces/${workspace.id}/connections` })
      const { data } = expectBody<{
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
      const path = toPath(sender)
      const shown = yield* operate({ path: `${path}/connection` })
      assert.deepStrictEqual(expectBody(shown, 200), connected)
      const paused = yield* post(`${path}/pause`, { until: "1970-01-01T01:00:00Z" })
      assert.deepStrictEqual(expectBody(paused, 200), {
        ...connected,
        reason: "paused",
        paused_until: "1970-01-01T01:00:00Z",
      })
      yield* send(sender.token)
      yield* settle
      const waiting = yield* operate({ path: `${path}/connection` })
      assert.deepInclude(expectBody<object>(waiting, 200), {
        waiting: 1,
        next_send_at: "1970-01-01T01:00:00Z",
        sent_24h: 0,
      })
      const endless = expectBody<object>(yield* post(`${path}/pause`), 200)
      assert.deepInclude(endless, { reason: "paused", paused_until: null, next_send_at: null })
      assert.deepInclude(expectBody<object>(yield* post(`${path}/resume`), 200), { reason: null })
      yield* settle
      const sent = yield* operate({ path: `${path}/connection` })
      assert.deepInclude(expectBody<object>(sent, 200), {
        waiting: 0,
        sent_24h: 1,
        last_seen_at: "1970-01-01T00:00:00Z",
      })
      const out = expectBody<object>(yield* post(`${path}/logout`), 200)
      assert.deepInclude(out, { id: sender.number.id, status: "disconnected" })
      assert.deepInclude(expectBody<object>(yield* operate({ path: `${path}/connection` }), 200), {
        state: "disconnected",
        reason: "logged_out",
      })
    }),
  )

  it.effect("answers name the limits that change, and never show a proxy again", () =>
    Effect.gen(function* () {
      const path = toPath(yield* aSender())
      const pacing = {
        min_interval_ms: 1000,
        jitter_ms: null,
        per_minute: 5,
        per_hour: null,
        new_recipients_per_day: null,
      }
      const first = yield* patch(path, { pacing: { min_interval_ms: 1000, per_minute: 5 } })
      assert.deepInclude(expectBody<object>(first, 200), { pacing, proxy: null })
      const second = yield* patch(path, {
        pacing: { per_minute: null, new_recipients_per_day: 3 },
        proxy_url: "socks5://proxyuser:hidden@192.0.2.9:9050",
      })
      assert.deepInclude(expectBody<object>(second, 200), {
        pacing: { ...pacing, per_minute: null, new_recipients_per_day: 3 },
        proxy: { host: "192.0.2.9", port: 9050 },
      })
      assert.notInclude(second.text, "hidden")
      assert.notInclude(second.text, "proxyuser")
      const unchanged = yield* patch(path, {})
      assert.deepStrictEqual(unchanged.body, second.body)
      assert.deepInclude(expectBody<object>(yield* patch(path, { proxy_url: null }), 200), {
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
      const answer = yield* patch(toPath(yield* aSender()), json)
      assert.strictEqual(answer.status, 400, answer.text)
      const { code, errors, field: text } = errorBody(answer)
      assert.isEmpty(errors ?? [])
      assert.deepStrictEqual([code, text], ["validation_failed", field])
      assert.notInclude(answer.text, "hidden")
    }),
  )
})
