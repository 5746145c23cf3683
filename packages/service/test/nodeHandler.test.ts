/** `nodeHandler` over real sockets: what frameworks and clients do to a request before it arrives. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer, request as send } from "node:http"
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json, text as readText } from "node:stream/consumers"
import { open } from "../src/index.ts"
import type { Messaging } from "../src/index.ts"

const served = (toListener: (messaging: Messaging) => RequestListener, operatorToken?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const messaging = await open({
        http: { basePath: "/messaging", ...(operatorToken === undefined ? {} : { operatorToken }) },
      })
      const shop = await messaging.workspaces.ensure("shop", {
        numbers: [{ phone: "+15550100001" }],
      })
      const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Test" })
      const server = createServer(toListener(messaging))
      await once(server.listen(0, "127.0.0.1"), "listening")
      const { port } = server.address() as AddressInfo
      const api = `http://127.0.0.1:${port}/messaging/api/v2`
      return { messaging, server, key, port, api }
    }),
    ({ messaging, server }) =>
      Effect.promise(async () => {
        server.close()
        server.closeAllConnections()
        await messaging.close()
      }),
  )

const sendMessage = (api: string, key: string, headers: Record<string, string> = {}) =>
  Effect.promise(() =>
    fetch(`${api}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ to: { phone: "+15550100002" }, text: "Hello — ✓" }),
    }),
  )

/** A body parser: reads the body, and leaves what `keep` makes of it. */
const after =
  (keep: (request: IncomingMessage) => Promise<unknown>, messaging: Messaging): RequestListener =>
  (request, response) => {
    void keep(request).then((body) =>
      messaging.nodeHandler(Object.assign(request, { body }), response),
    )
  }

describe("nodeHandler", () => {
  it.live.each([
    ["objects", json],
    ["text", readText],
    ["bytes", async (request: IncomingMessage) => Buffer.from(await readText(request))],
  ] as const)("accepts a body that a parser kept as %s", ([, keep]) =>
    Effect.gen(function* () {
      const { api, key } = yield* served((messaging) => after(keep, messaging))
      const answer = yield* sendMessage(api, key)
      assert.strictEqual(answer.status, 202)
      const { text } = (yield* Effect.promise(() => answer.json())) as { readonly text: string }
      assert.strictEqual(text, "Hello — ✓")
    }).pipe(Effect.scoped),
  )

  it.live("tells the developer once of a mount path at which the service answers nothing", () =>
    Effect.gen(function* () {
      // As Express hands requests on.
      const mounted =
        (messaging: Messaging, mount: string): RequestListener =>
        (request, response) =>
          void messaging.nodeHandler(
            Object.assign(request, { baseUrl: mount, originalUrl: `${mount}${request.url}` }),
            response,
            () => void response.writeHead(404).end(),
          )
      const warnings: Array<string> = []
      const hear = ({ message }: Error) => void warnings.push(message)
      process.on("warning", hear)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("warning", hear)))
      for (const mount of ["/messaging", "/messaging/api", "/msg"]) {
        const { port } = yield* served((messaging) => mounted(messaging, mount))
        const request = () => fetch(`http://127.0.0.1:${port}/api/v2/me`)
        yield* Effect.promise(async () => [await request(), await request()])
      }
      assert.deepStrictEqual(warnings, [
        'nodeHandler is mounted at /msg, where it answers nothing: open the service with http: { basePath: "/msg" }.',
      ])
    }).pipe(Effect.scoped),
  )

  it.live("tells the developer that a parser has read a form", () =>
    Effect.gen(function* () {
      const { api, key } = yield* served((messaging) =>
        after(async (request) => ({ bytes: (await readText(request)).length }), messaging),
      )
      const form = new FormData()
      form.set("file", new Blob(["%PDF-1.7"]), "a.pdf")
      const warned = Effect.promise(() => once(process, "warning"))
      const { answer, warning } = yield* Effect.all(
        {
          answer: Effect.promise(async () => {
            const server = await fetch(`${api}/media`, {
              method: "POST",
              headers: { authorization: `Bearer ${key}` },
              body: form,
            })
            return { status: server.status, text: await server.text() }
          }),
          warning: warned,
        },
        { concurrency: "unbounded" },
      )
      assert.strictEqual(answer.status, 500)
      assert.include(answer.text, "Mount nodeHandler before it")
      assert.include(String(warning), "Mount nodeHandler before it")
    }).pipe(Effect.scoped),
  )

  it.live("passes paths outside the base path to the next handler", () =>
    Effect.gen(function* () {
      const { port } = yield* served(({ nodeHandler }) => (request, response) => {
        void nodeHandler(request, response, () => response.end("own"))
      })
      for (const path of ["/", "/messagingx/api/v2/me", "/other?at=/messaging/"]) {
        const answer = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}${path}`))
        assert.strictEqual(yield* Effect.promise(() => answer.text()), "own")
      }
    }).pipe(Effect.scoped),
  )

  it.live("counts wrong operator tokens by the socket's address", () =>
    Effect.gen(function* () {
      const { port } = yield* served(
        ({ nodeHandler }) =>
          (request, response) =>
            void nodeHandler(request, response),
        "an operator token for the tests of Node",
      )
      const statuses = yield* Effect.promise(async () => {
        const seen = new Set<number>()
        for (let tries = 0; tries < 40; tries++) {
          const { status } = await fetch(`http://127.0.0.1:${port}/messaging/admin/v1/workspaces`, {
            headers: { authorization: `Bearer wrong ${tries}` },
          })
          seen.add(status)
        }
        return seen
      })
      assert.deepStrictEqual([...statuses], [401, 429])
    }).pipe(Effect.scoped),
  )

  it.live("answers a method that no web request may have", () =>
    Effect.gen(function* () {
      const { port } = yield* served(({ nodeHandler }) => (request, response) => {
        void nodeHandler(request, response)
      })
      const status = yield* Effect.promise(async () => {
        const call = send({
          port,
          host: "127.0.0.1",
          path: "/messaging/api/v2/me",
          method: "TRACE",
        })
        const [answer] = (await once(call.end(), "response")) as [IncomingMessage]
        answer.resume()
        return answer.statusCode
      })
      assert.strictEqual(status, 404)
    }).pipe(Effect.scoped),
  )

  it.live("survives a client that leaves before its response", () =>
    Effect.gen(function* () {
      const ended: Array<Promise<void>> = []
      const { api, key, port } = yield* served(({ nodeHandler }) => (request, response) => {
        ended.push(nodeHandler(request, response as ServerResponse))
      })
      yield* Effect.promise(async () => {
        const call = send({
          port,
          host: "127.0.0.1",
          path: "/messaging/api/v2/messages",
          method: "POST",
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            "content-length": "100",
          },
        })
        call.on("error", () => undefined)
        call.write('{"text":')
        while (ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
        call.destroy()
        await Promise.all(ended)
      })
      assert.strictEqual((yield* sendMessage(api, key)).status, 202)
    }).pipe(Effect.scoped),
  )
})
