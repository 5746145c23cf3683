/** An account's connections go through its proxy, with the credentials that it asks for. */
import { assert, layer } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import { createServer } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { Proxies, aNumber, aPerson, aText, layerWorld, logIn, sendNow } from "./LiveWorld.ts"

/** A proxy that lets those through who say who they are, and counts them. */
const aProxy = Effect.acquireRelease(
  Effect.promise(async () => {
    const seen: Array<string> = []
    const sockets = new Set<Socket>()
    const server = createServer()
    server.on("connect", ({ headers, url = "" }, client: Socket) => {
      const [, encoded = ""] = (headers["proxy-authorization"] ?? "").split(" ")
      seen.push(Buffer.from(encoded, "base64").toString())
      const [host, port] = url.split(":")
      const far = connect({ host: host ?? "", port: Number(port) }, () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n")
        far.pipe(client)
        client.pipe(far)
      })
      for (const socket of [client, far]) {
        sockets.add(socket)
        socket.on("error", () => undefined)
      }
      client.on("close", () => far.destroy())
      far.on("close", () => client.destroy())
    })
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve)
    })
    return { seen, sockets, server, port: (server.address() as AddressInfo).port }
  }),
  ({ server, sockets }) =>
    Effect.promise(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    }),
)

layer(layerWorld)("a number's proxy", (it) => {
  it.effect("carries its login and its messages", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const proxy = yield* aProxy
      const { digits } = yield* aPerson()
      const recipient = yield* aPerson({ username: "behind_one" })
      const id = yield* aNumber(digits)
      ;(yield* Proxies).set(id, `http://me:p%40ss@127.0.0.1:${proxy.port}`)
      yield* logIn(id, digits)
      const message = aText({ id }, { kind: "username", username: "behind_one" })
      assert.deepStrictEqual(yield* sendNow(message), { _tag: "Accepted" })
      assert.strictEqual(server.copies(recipient.digits), 1)
      // Two steps of the login, and the connection that sends.
      assert.deepStrictEqual(proxy.seen, ["me:p@ss", "me:p@ss", "me:p@ss"])
    }),
  )
})
