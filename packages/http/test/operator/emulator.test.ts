import { assert, describe, layer } from "@effect/vitest"
import { MovableClock, layerStoredClock } from "@messaging-service/emulator"
import { Clock, Effect, Layer } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender, expectBody, operate, settle } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import { get, send } from "../v2/Asking.ts"
import { layerWithWayOut } from "../webhooks/Asking.ts"
import { aReceiver } from "../webhooks/Receiver.ts"

const simulator = "/admin/v1/simulator"

const put = (path: string, json: unknown) =>
  operate({ method: "PUT", path: `${simulator}${path}`, json })

const post = (path: string, json?: unknown) =>
  operate({
    method: "POST",
    path: `${simulator}${path}`,
    ...(json === undefined ? {} : { json }),
  })

const read = (token: string, id: number) =>
  Effect.map(get(token, `/api/v2/messages/${id}`), (answer) => expectBody<MessageBody>(answer, 200))

layer(layerWithWayOut())("a copy of a file from a customer's link", (it) => {
  it.effect("has no link, since the service keeps no such file", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = (response) => response.writeHead(200).end("%PDF-1.7 hello")
      const { number, token } = yield* aSender()
      yield* send(token, { media: { url: `${receiver.url}/a.pdf`, type: "file" } })
      yield* settle
      const answer = yield* operate({ path: `${simulator}/sent?number_id=${number.id}` })
      const { data } = expectBody<PageBody<{ readonly media: object | null }>>(answer, 200)
      assert.deepInclude(data[0]?.media, { mime_type: "application/pdf", url: null })
    }),
  )
})

layer(layerService())("the emulator controls", (it) => {
  it.effect("PUT behaviour replaces the phone's whole behaviour and answers with it", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const path = `/numbers/${number.id}/behaviour`
      const failing = yield* put(path, { send: "fail", error_message: "no signal" })
      assert.deepStrictEqual(expectBody(failing, 200), {
        send: "fail",
        error_message: "no signal",
        latency_ms: 0,
        groups: ["Team"],
      })
      const failed = yield* send(token)
      yield* settle
      assert.deepInclude(yield* read(token, failed.id), {
        status: "failed",
        error: { code: "send_failed", message: "no signal" },
      })

      const usual = yield* put(path, { groups: ["Choir"] })
      assert.deepStrictEqual(expectBody(usual, 200), {
        send: "succeed",
        error_message: null,
        latency_ms: 0,
        groups: ["Choir"],
      })
    }),
  )

  it.effect("PUT registered sets which phones exist; null restores the rule", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const set = yield* put("/registered", { phones: ["+1 555 000 1234"] })
      assert.deepStrictEqual(expectBody(set, 200), { phones: ["+15550001234"] })
      const known = yield* send(token)
      const unknown = yield* send(token, { to: { phone: "+15550001235" } })
      yield* settle
      assert.strictEqual((yield* read(token, known.id)).status, "sent")
      assert.strictEqual((yield* read(token, unknown.id)).status, "failed")
      const unset = yield* put("/registered", { phones: null })
      assert.deepStrictEqual(expectBody(unset, 200), { phones: null })
    }),
  )

  it.effect("POST logout disconnects the number, whose messages then wait", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const answer = yield* post(`/numbers/${number.id}/logout`)
      assert.deepInclude(expectBody<object>(answer, 200), {
        id: number.id,
        status: "disconnected",
        connect: null,
      })
      const { id } = yield* send(token, { from: number.id })
      yield* settle
      assert.strictEqual((yield* read(token, id)).status, "queued")
    }),
  )

  it.effect("POST ticks moves a sent message on and answers with it", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token)
      yield* settle
      const read_ = yield* post(`/messages/${id}/ticks`, { status: "read" })
      assert.deepInclude(expectBody<object>(read_, 200), { id, status: "read" })
      const late = yield* post(`/messages/${id}/ticks`, { status: "delivered" })
      assert.deepInclude(expectBody<object>(late, 200), { status: "read" })
    }),
  )

  it.effect("POST ticks keeps what comes before the message has left, until it has", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const connection = `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}`
      yield* operate({ method: "POST", path: `${connection}/pause`, json: {} })
      const { id } = yield* send(token)
      const early = yield* post(`/messages/${id}/ticks`, { status: "delivered" })
      assert.deepInclude(expectBody<object>(early, 200), { id, status: "queued" })
      yield* operate({ method: "POST", path: `${connection}/resume` })
      yield* settle
      assert.strictEqual((yield* read(token, id)).status, "delivered")
    }),
  )

  it.effect("GET sent shows what left the phones, newest first, in pages", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const first = yield* send(token)
      const second = yield* send(token, { to: { group: "Team" }, text: "All" })
      yield* settle
      const path = `${simulator}/sent?number_id=${number.id}`
      const page = expectBody<PageBody<{ readonly id: number }>>(
        yield* operate({ path: `${path}&limit=1` }),
        200,
      )
      assert.deepStrictEqual<ReadonlyArray<object>>(page.data, [
        {
          id: page.data[0]!.id,
          message_id: second.id,
          status: "sent",
          number_id: number.id,
          workspace_id: workspace.id,
          to: "Team",
          text: "All",
          media: null,
          at: "1970-01-01T00:00:00Z",
        },
      ])
      const rest = yield* operate({ path: `${path}&cursor=${page.next_cursor}` })
      const { data, next_cursor } = expectBody<PageBody<object>>(rest, 200)
      assert.deepInclude(data[0], { message_id: first.id, to: "+15550001234" })
      assert.strictEqual(next_cursor, null)
      const one = `${simulator}/sent?workspace_id=${workspace.id}&to=Team`
      const filtered = expectBody<PageBody<{ readonly message_id: number }>>(
        yield* operate({ path: one }),
        200,
      )
      assert.deepStrictEqual(
        filtered.data.map(({ message_id }) => message_id),
        [second.id],
      )
    }),
  )

  it.effect("GET behaviour and registered show what was set, or the defaults", () =>
    Effect.gen(function* () {
      const { number } = yield* aSender()
      const path = `${simulator}/numbers/${number.id}/behaviour`
      const behaviour = { send: "succeed", error_message: null, latency_ms: 0, groups: ["Team"] }
      assert.deepStrictEqual(expectBody(yield* operate({ path }), 200), behaviour)
      yield* operate({ method: "PUT", path, json: { send: "fail" } })
      assert.deepStrictEqual(expectBody(yield* operate({ path }), 200), {
        ...behaviour,
        send: "fail",
      })
      const registered = { path: `${simulator}/registered` }
      assert.deepStrictEqual(expectBody(yield* operate(registered), 200), { phones: null })
    }),
  )

  it.effect("POST settle answers {} once nothing is due or in flight", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token)
      assert.deepStrictEqual(yield* settle, {})
      assert.strictEqual((yield* read(token, id)).status, "sent")
    }),
  )

  it.effect("GET clock shows the service's time, and whether it is adjustable", () =>
    Effect.gen(function* () {
      const clock = yield* operate({ path: `${simulator}/clock` })
      assert.deepStrictEqual(expectBody(clock, 200), { now: "1970-01-01T00:00:00Z" })
      const advance = yield* post("/clock/advance", { seconds: 60 })
      assert.strictEqual(advance.status, 409)
      assert.strictEqual(errorBody(advance).code, "clock_not_adjustable")
    }),
  )
})

describe("the adjustable clock", () => {
  /** How often time was moved. */
  let moves = 0
  const counted = Layer.effect(
    MovableClock,
    Effect.map(
      MovableClock,
      (clock) =>
        clock && {
          ...clock,
          moveTo: (instant: number) => {
            moves++
            return clock.moveTo(instant)
          },
        },
    ),
  )
  const inProcess = layerService({
    ports: Layer.provideMerge(counted, layerStoredClock({ isStoreInProcess: true })),
  })

  layer(inProcess, { excludeTestServices: true })("over an in-process store", (it) => {
    it.effect("needs two moves for a year in which nothing falls due", () =>
      Effect.gen(function* () {
        moves = 0
        expectBody(yield* post("/clock/advance", { seconds: 365 * 86_400 }), 200)
        assert.isAtMost(moves, 3)
      }),
    )

    it.effect("sends what falls due on the way at its moment", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const start = yield* Clock.currentTimeMillis
        const hours = [1, 2, 3, 4, 5]
        const messages = yield* Effect.forEach(hours, (hour) =>
          send(token, { send_at: new Date(start + hour * 3_600_000).toISOString() }),
        )
        moves = 0
        expectBody(yield* post("/clock/advance", { seconds: 6 * 3600 }), 200)
        assert.isAtMost(moves, 4 * hours.length)
        for (const [index, { id }] of messages.entries()) {
          const sent = yield* read(token, id)
          assert.strictEqual(sent.status, "sent")
          const late = Date.parse(String(sent["sent_at"])) - start - (index + 1) * 3_600_000
          assert.isBelow(Math.abs(late), 60_000)
        }
      }),
    )
  })
})
