/** The stream of news over real sockets, and through the web handler (contract: News). */
import { assert, describe, layer } from "@effect/vitest"
import { BrowserSessions, RealTime, Store, sharedLimits } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { listen } from "@messaging-service/node/process"
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Fiber, Latch, Layer } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { HttpOptions, httpApp, webHandler } from "../../src/index.ts"
import type { HttpServices } from "../../src/index.ts"
import { aListener, aNumber, aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"
import { defaultSettings, layerService, operatorToken } from "../Service.ts"
import { write } from "../v2/Received.ts"
import { openEvents } from "./eventStream.ts"
import type { EventReader } from "./eventStream.ts"
import { aSession } from "./sessionCookies.ts"

const toPath = ({ id }: Created) => `/admin/v1/events?workspace_id=${id}`

const asOperator = { authorization: `Bearer ${operatorToken}` }

/** A stream that closes with the test. */
const aStream = (workspace: Created, headers: Readonly<Record<string, string>> = asOperator) =>
  Effect.acquireRelease(
    Effect.flatMap(HttpTestClients, ({ port }) =>
      Effect.promise(() => openEvents(port, toPath(workspace), headers)),
    ),
    (reader) => Effect.sync(reader.close),
  )

const until = (reader: EventReader, isReached: (reader: EventReader) => boolean) =>
  Effect.promise(() => reader.until(isReached))

const hasReceived = (event: string, id: number) => (reader: EventReader) =>
  reader.frames().some((frame) => frame.event === event && frame.data.ids?.includes(id) === true)

const hasStarted = (reader: EventReader) => reader.frames().length > 0

const aMessage = (workspace: Created) =>
  Effect.map(
    operate({
      method: "POST",
      path: `/admin/v1/workspaces/${workspace.id}/messages`,
      json: { to: { phone: "+15550001234" }, text: "Hello", send_at: "2999-01-31T09:00:00Z" },
    }),
    (answer) => expectBody<Created>(answer, 202),
  )

/** Waiting passes ten times as fast. */
const ports = Layer.effect(
  RealTime,
  Effect.map(RealTime, (realTime) => ({
    ...realTime,
    sleep: (duration: Parameters<typeof realTime.sleep>[0]) =>
      realTime.sleep(typeof duration === "number" ? duration / 10 : duration),
  })),
)

describe("news of a workspace", () => {
  layer(layerService({ ports }))("over real sockets", (it) => {
    it.effect("are a stream of events that no proxy holds back", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace)
        const reader = yield* aStream(workspace)
        assert.strictEqual(reader.status, 200)
        assert.include(reader.headers, {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          "x-accel-buffering": "no",
        })
        yield* until(reader, hasStarted)
        assert.match(
          reader.text(),
          /^retry: 2000\n\nevent: clock\nid: \d+\ndata: {"now":"1970-01-01T00:00:00Z"}\n\n$/,
        )
        const { id } = yield* aMessage(workspace)
        yield* until(reader, hasReceived("messages", id))
        yield* until(reader, hasReceived("simulator", id))
        yield* operate({
          method: "POST",
          path: `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}/pause`,
        })
        yield* until(reader, hasReceived("numbers", number.id))
        yield* until(reader, ({ text }) => text().includes(":\n\n"))
        for (const { data } of reader.frames()) assert.isAtMost(data.ids?.length ?? 0, 50)
      }),
    )

    it.effect("tell of chats where conversations are on", () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aListener()
        const reader = yield* aStream(workspace)
        yield* until(reader, hasStarted)
        const message = yield* write(number)
        const { id } = message["chat"] as Created
        const countFrames = () => reader.frames().filter(({ event }) => event === "chats").length
        yield* until(reader, hasReceived("chats", id))
        const before = countFrames()
        const path = `/admin/v1/simulator/received-messages/${message.id}/edit`
        yield* operate({ method: "POST", path, json: { text: "Goodbye" } })
        yield* until(reader, () => countFrames() > before)
      }),
    )

    it.effect("continue after the last event that a reader has got", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* aNumber(workspace)
        const reader = yield* aStream(workspace)
        yield* until(reader, hasStarted)
        const last = reader.frames().at(-1)?.id ?? 0
        reader.close()
        const { id } = yield* aMessage(workspace)
        const back = yield* aStream(workspace, { ...asOperator, "last-event-id": String(last) })
        yield* until(back, hasReceived("messages", id))
        const numbers = back.frames().find(({ event }) => event === "numbers")
        assert.deepStrictEqual(numbers?.data, { ids: [] })
      }),
    )

    it.effect("are a portal's own workspace's, without the simulated phones", () =>
      Effect.gen(function* () {
        const [own, other] = [yield* aWorkspace(), yield* aWorkspace()]
        yield* aNumber(own)
        const cookie = yield* aSession("member", own.id)
        const reader = yield* aStream(own, { cookie })
        yield* until(reader, hasStarted)
        const { id } = yield* aMessage(own)
        yield* until(reader, hasReceived("messages", id))
        assert.isFalse(hasReceived("simulator", id)(reader))
        assert.strictEqual((yield* aStream(other, { cookie })).status, 404)
        const { socket } = yield* HttpTestClients
        for (const query of ["", "?workspace_id=1&workspace_id=2", "?workspace_id=1&x=1"]) {
          const answer = yield* socket.call({
            path: `/admin/v1/events${query}`,
            token: operatorToken,
          })
          assert.strictEqual(answer.status, 400, query)
          assert.strictEqual(errorBody(answer).code, "validation_failed")
        }
      }),
    )

    it.effect("have room for four streams of a session, and a closed one makes room", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const cookie = yield* aSession("owner", workspace.id)
        const readers = yield* Effect.forEach([1, 2, 3, 4], () => aStream(workspace, { cookie }))
        for (const reader of readers) assert.strictEqual(reader.status, 200)
        const fifth = yield* aStream(workspace, { cookie })
        assert.strictEqual(fifth.status, 429)
        assert.strictEqual(fifth.headers["retry-after"], "5")
        yield* until(fifth, ({ hasEnded }) => hasEnded())
        assert.include(fifth.text(), "rate_limited")
        readers[0]?.close()
        yield* Effect.repeat(aStream(workspace, { cookie }), {
          until: ({ status }) => status === 200,
        })
        // A HEAD keeps nothing.
        const others = yield* aSession("owner", workspace.id)
        const { socket } = yield* HttpTestClients
        for (let count = 0; count < 6; count++) {
          const head = yield* socket.call({
            method: "HEAD",
            path: toPath(workspace),
            headers: [["cookie", others]],
          })
          assert.strictEqual(head.status, 200)
          assert.strictEqual(head.text, "")
        }
      }),
    )

    it.effect("are no requests under way", () =>
      Effect.gen(function* () {
        const all = sharedLimits.operatorRequests.whole + 10
        const workspaces = yield* Effect.forEach(Array.from({ length: all / 2 }), () =>
          aWorkspace(),
        )
        for (const workspace of workspaces) {
          const cookie = yield* aSession("owner", workspace.id)
          for (let count = 0; count < 2; count++) {
            const reader = yield* aStream(workspace, { cookie })
            assert.strictEqual(reader.status, 200)
          }
        }
        assert.strictEqual((yield* operate({ path: "/admin/v1/workspaces" })).status, 200)
      }),
    )

    it.effect("end with their session", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const [cookie, others] = [
          yield* aSession("owner", workspace.id),
          yield* aSession("owner", workspace.id),
        ]
        const reader = yield* aStream(workspace, { cookie })
        const other = yield* aStream(workspace, { cookie: others })
        const { socket } = yield* HttpTestClients
        const headers = [
          ["cookie", cookie],
          ["sec-fetch-site", "same-origin"],
        ] as const
        yield* socket.call({ method: "DELETE", path: "/admin/v1/session", headers })
        yield* until(reader, ({ hasEnded }) => hasEnded())
        assert.isFalse(other.hasEnded())
      }),
    )

    it.effect("reach embedders through a fetch handler, and end when they close", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* aNumber(workspace)
        const closing = Latch.makeUnsafe(false)
        const handler = yield* webHandler(yield* Effect.context<HttpServices>(), {
          ...defaultSettings,
          stopping: closing.await,
        })
        const open = () =>
          handler(new Request(`http://service.test${toPath(workspace)}`, { headers: asOperator }))
        const bodies: Array<ReadableStreamDefaultReader<Uint8Array>> = []
        for (let count = 0; count < 4; count++) {
          const response = yield* Effect.promise(open)
          assert.strictEqual(response.status, 200)
          const body = response.body?.getReader()
          if (body !== undefined) bodies.push(body)
        }
        assert.strictEqual((yield* Effect.promise(open)).status, 429)
        yield* Effect.promise(() => bodies[0]?.cancel() ?? Promise.resolve())
        const again = yield* Effect.repeat(Effect.promise(open), {
          until: ({ status }) => status === 200,
        })
        closing.openUnsafe()
        const text = yield* Effect.promise(() => again.text())
        assert.match(text, /^retry: 2000\n\n/)
      }),
    )
  })

  // At its usual pace a stop waits 8.5 s for what does not end.
  layer(layerService())("while the process stops", (it) => {
    it.effect("200 open streams end before it waits for requests", () =>
      Effect.gen(function* () {
        const context = yield* Effect.context<HttpServices>()
        const store = (yield* Store).browserSessions
        const { cookieSuffix } = yield* BrowserSessions
        const listener = yield* listen("127.0.0.1", 0)
        const app = yield* Effect.provideService(httpApp, HttpOptions, {
          ...defaultSettings,
          publicUrl: listener.url,
          stopping: listener.stopping,
        })
        const serving = yield* Effect.forkChild(
          Effect.provideContext(listener.serve(app), context as Context.Context<never>),
        )
        const port = Number(new URL(listener.url).port)
        const readers: Array<EventReader> = []
        for (let count = 0; count < 50; count++) {
          const workspace = yield* aWorkspace()
          const id = randomBytes(32).toString("hex")
          const createdAt = Date.now()
          yield* store.insert(
            {
              hash: createHash("sha256").update(id).digest("hex"),
              workspaceId: workspace.id as WorkspaceId,
              role: "member",
              returnUrl: null,
              tokenMark: null,
              createdAt,
              expiresAt: createdAt + 3_600_000,
            },
            20,
          )
          const cookie = `messaging-${cookieSuffix}=${id}`
          for (let stream = 0; stream < 4; stream++) {
            readers.push(
              yield* Effect.promise(() => openEvents(port, toPath(workspace), { cookie })),
            )
          }
        }
        assert.lengthOf(readers, 200)
        for (const reader of readers) {
          assert.strictEqual(reader.status, 200)
          yield* until(reader, hasStarted)
        }
        // Less than it waits for requests that do not end.
        const stopped = Effect.as(Fiber.interrupt(serving), true)
        assert.isTrue(yield* processes.within(8000, stopped))
        for (const reader of readers) yield* until(reader, ({ hasEnded }) => hasEnded())
        for (const reader of readers) assert.isTrue(reader.text().endsWith("\n\n"))
      }),
    )
  })
})
