/** The app of `docs/tutorial-link-a-phone.md` leads its own customer into one workspace's portal, once. */
import { assert, it } from "@effect/vitest"
import { operatorClient } from "@messaging-service/client"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import express from "express"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { phonesPage } from "../src/portalLink.ts"

const program = resolve(import.meta.dirname, "../../../dist/server/main.js")
const token = "an operator token for the portal's links"

const aService = Effect.gen(function* () {
  const directory = yield* processes.temporaryDirectory
  return yield* processes.startServer(program, {
    PORT: "0",
    DATABASE_URL: "memory:",
    DATA_DIR: join(directory, "data"),
    OPERATOR_TOKEN: token,
  })
})

/** An app that knows its customers by a cookie. */
const anApp = (serviceUrl: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const operator = operatorClient({ url: serviceUrl, token })
      const { id } = await operator.workspaces.create({ name: "Shop" })
      const app = express()
      app.use(phonesPage(operator, ({ headers }) => (headers.cookie === "mine" ? id : undefined)))
      const server = app.listen(0, "127.0.0.1")
      await once(server, "listening")
      return { id, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  )

const request = (url: string, cookie: string) =>
  fetch(`${url}/phones`, { method: "POST", redirect: "manual", headers: { cookie } })

const signIn = (url: string, code: string) =>
  fetch(`${url}/admin/v1/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  })

it.live("an app leads its customer to a link that works once, and no one else", () =>
  Effect.gen(function* () {
    const service = yield* aService
    const app = yield* anApp(service.url)
    yield* Effect.promise(async () => {
      assert.strictEqual((await request(app.url, "another's")).status, 403)
      const { headers, status } = await request(app.url, "mine")
      assert.strictEqual(status, 303)
      const link = headers.get("location") ?? ""
      const [, code = ""] = /\/portal#code=([0-9a-f]{64})$/.exec(link) ?? []
      const first = await signIn(service.url, code)
      const again = await signIn(service.url, code)
      assert.deepStrictEqual([first.status, again.status], [200, 401])
      assert.deepInclude(await first.json(), {
        kind: "portal",
        workspace_id: app.id,
        role: "administrator",
        return_url: "https://shop.example/settings",
      })
    })
  }),
)
