/** Live services check proxies by connecting to the servers of their transports. */
import { assert, it } from "@effect/vitest"
import { NumberOperations, Numbers, Workspaces } from "@messaging-service/core"
import type { NumberId, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { openService } from "../src/compose/index.ts"
import { readSettings } from "../src/facade/options.ts"

/** A proxy on this machine that connects nowhere, and what it was asked for. */
const aProxy = Effect.acquireRelease(
  Effect.promise(async () => {
    const targets: Array<string> = []
    const server = createServer().on("connect", ({ url = "" }, socket) => {
      targets.push(url)
      socket
        .on("error", () => undefined)
        .resume()
        .end("HTTP/1.1 200 OK\r\n\r\n")
    })
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
    return { server, targets, port: (server.address() as AddressInfo).port }
  }),
  ({ server }) => Effect.promise(() => new Promise((resolve) => void server.close(resolve))),
)

it.live("a live number's proxy is asked for the server of its platform", () =>
  Effect.gen(function* () {
    const { port, targets } = yield* aProxy
    const telegram = { apiId: 1, apiHash: "0".repeat(32) }
    const transport = { live: { url: "ws://127.0.0.1:9/ws", telegram } }
    const settings = yield* readSettings({ transport, worker: false })
    yield* Effect.gen(function* () {
      const numbers = yield* Numbers
      const { id: workspace } = yield* Workspaces.use((all) =>
        all.create("owner", { name: "Shop" }),
      )
      const checked = Effect.fnUntraced(function* checked(
        within: WorkspaceId,
        platform: "whatsapp" | "telegram",
      ) {
        const phone = "+15550100001"
        const { id }: { readonly id: NumberId } = yield* numbers.create("owner", within, {
          platform,
          phone,
        })
        const proxyUrl = `http://127.0.0.1:${port}`
        yield* numbers.update("owner", within, id, { proxyUrl })
        return yield* NumberOperations.use((all) => all.checkProxy("owner", within, id))
      })
      assert.isNull((yield* checked(workspace, "whatsapp")).error)
      assert.isNull((yield* checked(workspace, "telegram")).error)
    }).pipe(Effect.provideContext(yield* openService(settings, "")))
    assert.deepStrictEqual(targets, ["127.0.0.1:9", "149.154.167.50:443"])
  }),
)
