/** The check of a number's proxy: one connection through a proxy on this machine, and answers without secrets. */
import { assert, layer } from "@effect/vitest"
import { layerProxyProbe } from "@messaging-service/node"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { aSender, expectBody, operate } from "../Records.ts"
import { layerService } from "../Service.ts"

/** Listens on this machine until the scope closes; returns its port. */
const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const open = new Set<Socket>()
      server.on("connection", (socket) => open.add(socket))
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
      return { open, port: (server.address() as AddressInfo).port }
    }),
    ({ open }) =>
      Effect.promise(async () => {
        for (const socket of open) socket.destroy()
        await new Promise((resolve) => void server.close(resolve))
      }),
  ).pipe(Effect.map(({ port }) => port))

/** Accepts one password, and connects to the requested target. */
const aProxy = (targets: Array<string>) =>
  listening(
    createServer().on("connect", ({ headers, url = "" }, stream) => {
      const client = stream as Socket
      client.on("error", () => undefined)
      const right = `Basic ${Buffer.from("number:right").toString("base64")}`
      if (headers["proxy-authorization"] !== right) {
        client.end(`HTTP/1.1 407 ${headers["proxy-authorization"]}\r\n\r\n`)
        return
      }
      targets.push(url)
      const [host = "", port = ""] = url.split(":")
      const remote = connect(Number(port), host, () => void client.write("HTTP/1.1 200 OK\r\n\r\n"))
      remote.on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"))
      client.on("close", () => remote.destroy())
    }),
  )

interface Check {
  readonly ok: boolean
  readonly error: string | null
  readonly duration_ms: number
}

/** The remote server of these tests listens nowhere until a test makes it. */
const remote = { host: "127.0.0.1", port: 0 }

layer(layerService({ ports: layerProxyProbe({ whatsapp: remote, telegram: null }) }))(
  "a check of a number's proxy",
  (it) => {
    const checking = Effect.fnUntraced(function* checking(proxy_url: string) {
      const { number, workspace } = yield* aSender()
      const path = `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}`
      expectBody(yield* operate({ method: "PATCH", path, json: { proxy_url } }), 200)
      const answer = yield* operate({ method: "POST", path: `${path}/check-proxy` })
      assert.notMatch(answer.text, /right|wrong|Basic/)
      const { duration_ms, ...said } = expectBody<Check>(answer, 200)
      assert.isAtLeast(duration_ms, 0)
      return said
    })

    it.effect("opens a connection to the remote server, or says why none opened", () =>
      Effect.gen(function* () {
        const targets: Array<string> = []
        const proxy = yield* aProxy(targets)
        remote.port = yield* listening(createServer())
        const opened = yield* checking(`http://number:right@127.0.0.1:${proxy}`)
        assert.deepStrictEqual(opened, { ok: true, error: null })
        assert.deepStrictEqual(targets, [`127.0.0.1:${remote.port}`])
        const refused = yield* checking(`http://number:wrong@127.0.0.1:${proxy}`)
        assert.deepStrictEqual(refused, { ok: false, error: "credentials_refused" })
        remote.port = yield* Effect.scoped(listening(createServer()))
        const unreached = yield* checking(`http://number:right@127.0.0.1:${proxy}`)
        assert.deepStrictEqual(unreached, { ok: false, error: "target_refused" })
        const closed = yield* Effect.scoped(aProxy(targets))
        const absent = yield* checking(`http://number:right@127.0.0.1:${closed}`)
        assert.deepStrictEqual(absent, { ok: false, error: "connection" })
      }),
    )

    it.effect("is refused without a proxy, and for another workspace's number", () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const numbers = `/admin/v1/workspaces/${workspace.id}/numbers`
        const { socket } = yield* HttpTestClients
        const direct = yield* operate({
          method: "POST",
          path: `${numbers}/${number.id}/check-proxy`,
        })
        assert.deepInclude(direct, { status: 400 })
        assert.strictEqual(errorBody(direct).code, "validation_failed")
        const other = yield* aSender()
        const foreign = yield* operate({
          method: "POST",
          path: `${numbers}/${other.number.id}/check-proxy`,
        })
        assert.deepInclude(foreign, { status: 404 })
        assert.strictEqual(errorBody(foreign).code, "number_not_found")
        const anonymous = yield* socket.call({
          method: "POST",
          path: `${numbers}/${number.id}/check-proxy`,
        })
        assert.deepInclude(anonymous, { status: 401 })
        assert.strictEqual(errorBody(anonymous).code, "missing_operator_token")
      }),
    )
  },
)
