/** Portal links, and the pages of an embedded service, which it loads only when it is asked. */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
import { assert, describe, it, onTestFinished, vi } from "vitest"
import { MessagingError } from "../src/index.ts"
import type { Messaging, OpenOptions } from "../src/index.ts"
import { aShop, failure, opened } from "./Opened.ts"

const pages = vi.hoisted(() => ({ loads: 0 }))

vi.mock("@messaging-service/dashboard", () => {
  pages.loads++
  const body = new TextEncoder().encode('<base href="./"><title>Dashboard</title>')
  const page = { body, type: "text/html; charset=utf-8", etag: '"1"', immutable: false }
  return { loadDashboard: () => Promise.resolve(new Map([["index.html", page]])) }
})

const operatorToken = "an operator token of thirty-two characters"
const origin = "http://127.0.0.1:8080"
const http = { basePath: "/inner/messaging", publicUrl: origin }

const aService = async (more: OpenOptions["http"] = {}) => {
  const messaging = await opened({ worker: false, http: { ...http, ...more } })
  return { messaging, ...(await aShop(messaging)) }
}

type Answering = (request: Request) => Promise<Response>

const call = (handler: Answering, path: string, init: RequestInit = {}) =>
  handler(new Request(`${origin}/inner/messaging${path}`, init))

const signIn = (handler: Answering, link: string) =>
  call(handler, "/admin/v1/session", {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ code: link.split("#code=")[1] }),
  })

const getCode = async (answer: Response) => {
  const { error } = (await answer.json()) as { readonly error: { readonly code: string } }
  return [answer.status, error.code]
}

describe("a portal link", () => {
  it("leads below the base path, and its code signs one browser in", async () => {
    const { messaging, shop } = await aService()
    const handler = messaging.handler({ dashboard: true })
    const returnUrl = "https://shop.example.com/account"
    const { session, url } = await messaging.portalLink(shop, { role: "member", returnUrl })
    assert.match(url, /^http:\/\/127\.0\.0\.1:8080\/inner\/messaging\/portal#code=[0-9a-f]{64}$/)
    assert.deepStrictEqual(
      { ...session, createdAt: null, codeExpiresAt: null },
      {
        id: session.id,
        role: "member",
        returnUrl,
        createdAt: null,
        codeExpiresAt: null,
        usedAt: null,
        expiresAt: null,
        revokedAt: null,
      },
    )
    assert.strictEqual(session.codeExpiresAt.getTime() - session.createdAt.getTime(), 900_000)

    const signedIn = await signIn(handler, url)
    assert.strictEqual(signedIn.status, 200)
    const cookie = signedIn.headers.get("set-cookie") ?? ""
    assert.match(cookie, /^messaging-portal-\w{6}=[^;]+; .*Path=\/inner\/messaging(;|$)/)
    assert.deepStrictEqual(await getCode(await signIn(handler, url)), [401, "invalid_portal_code"])

    const headers = { cookie: cookie.split(";")[0] ?? "" }
    const own = await call(handler, `/admin/v1/workspaces/${shop.id}`, { headers })
    assert.strictEqual(own.status, 200)
    const all = await call(handler, "/admin/v1/workspaces", { headers })
    assert.deepStrictEqual(await getCode(all), [403, "operator_required"])
  })

  it("leads back to a program on this machine, over http, where phones are simulated", async () => {
    const { messaging, shop } = await aService()
    for (const host of ["localhost:3000", "127.0.0.1", "[::1]:3000"]) {
      const returnUrl = `http://${host}/account`
      const { session } = await messaging.portalLink(shop, { role: "member", returnUrl })
      assert.strictEqual(session.returnUrl, returnUrl)
    }
    for (const host of ["localhost.example", "10.0.0.1", "you:me@localhost", "0.0.0.0"]) {
      const returnUrl = `http://${host}/account`
      const error = await failure(messaging.portalLink(shop, { role: "member", returnUrl }))
      assert.match(error.message, /an http:\/\/ one of this machine/)
    }
    const live = await opened({ worker: false, transport: "live" })
    const workspace = await live.workspaces.create({ name: "Live" })
    const returnUrl = "http://localhost:3000/account"
    const error = await failure(live.portalLink(workspace, { role: "member", returnUrl }))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", "returnUrl"])
    assert.notInclude(error.message, "this machine")
  })

  it("is refused for a workspace that is not there, and with a wrong field", async () => {
    const { messaging, shop } = await aService()
    const link = (of: number, more: object = {}) =>
      failure(messaging.portalLink({ id: of }, { role: "member", ...more }))
    assert.strictEqual((await link(987_654)).code, "workspace_not_found")
    for (const wrong of [{ role: "guest" }, { expiresIn: 59 }, { returnUrl: "http://a.example" }]) {
      const { code, field } = await link(shop.id, wrong)
      assert.deepStrictEqual([code, field], ["validation_failed", Object.keys(wrong)[0]])
    }
  })
})

describe("a handler with pages", () => {
  it("loads them with the first page, and never without one", async () => {
    pages.loads = 0
    vi.resetModules()
    const { messaging, shop } = await aService({ operatorToken })
    const handler = messaging.handler({ dashboard: true })
    const headers = { authorization: `Bearer ${operatorToken}` }
    const path = `/admin/v1/workspaces/${shop.id}`
    assert.strictEqual((await call(handler, path, { headers })).status, 200)
    assert.strictEqual((await call(messaging.handler, "/")).status, 404)
    assert.strictEqual(pages.loads, 0)
    for (const page of ["/", "/portal", "/w/1/messages"]) {
      const answer = await call(handler, page)
      assert.include(await answer.text(), '<base href="/inner/messaging/">', page)
    }
    assert.strictEqual(pages.loads, 1)
  })

  it("has the emulator controls with simulated phones and an operator token alone", async () => {
    const clock = async (messaging: Messaging, dashboard: boolean) => {
      const handler = messaging.handler({ dashboard })
      const headers = { authorization: `Bearer ${operatorToken}` }
      return (await call(handler, "/admin/v1/simulator/clock", { headers })).status
    }
    const { messaging } = await aService({ operatorToken })
    assert.strictEqual(await clock(messaging, true), 200)
    assert.strictEqual(await clock(messaging, false), 404)
    const { messaging: tokenless } = await aService()
    assert.strictEqual(await clock(tokenless, true), 404)
  })

  it("serves Node's own requests, and passes on what lies outside its path", async () => {
    const { messaging } = await aService()
    const handler = messaging.nodeHandler({ dashboard: true })
    const server = createServer((request, response) => {
      void handler(request, response, () => response.end("my own page"))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const read = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    assert.include(await read("/inner/messaging/portal"), "Dashboard")
    assert.strictEqual(await read("/"), "my own page")
  })

  it("cannot start without its package, and says what to install", async () => {
    const program = `
import { registerHooks } from "node:module"
registerHooks({
  resolve(name, context, next) {
    if (name !== "@messaging-service/dashboard") return next(name, context)
    const missing = new Error("Cannot find package '" + name + "' imported from shop.js")
    throw Object.assign(missing, { code: "ERR_MODULE_NOT_FOUND" })
  },
})
const { open } = await import("${new URL("../src/index.ts", import.meta.url).href}")
const messaging = await open()
const told = []
for (const make of [messaging.handler, messaging.nodeHandler]) {
  try {
    make({ dashboard: true })
  } catch ({ code, field, message, name }) {
    told.push({ code, field, message, name })
  }
}
console.log(JSON.stringify(told))
await messaging.close()
`
    const args = ["--input-type=module", "-e", program]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const missing = {
      code: "cannot_start",
      field: "dashboard",
      message:
        "dashboard: true needs the package @messaging-service/dashboard, which is not installed: npm install @messaging-service/dashboard",
      name: "MessagingError",
    }
    assert.deepStrictEqual(JSON.parse(stdout), [missing, missing])
  })

  it("says once in the log why it answers 404: no pages, no token, or another base path", async () => {
    const lines: Array<string> = []
    const note = (line: string) => void lines.push(line)
    const nothing = () => undefined
    const logger = { debug: nothing, info: nothing, warn: note, error: note }
    const messaging = await opened({ worker: false, http, logger })
    const pages = messaging.handler({ dashboard: true })
    const requests: ReadonlyArray<readonly [Answering, string]> = [
      [messaging.handler, "/admin/v1/simulator/clock"],
      [messaging.handler, "/portal"],
      [messaging.handler, "/api/v2/nothing"],
      [pages, "/admin/v1/simulator/clock"],
    ]
    for (const [handler, path] of [...requests, ...requests]) {
      assert.strictEqual((await call(handler, path)).status, 404)
    }
    for (const path of ["/api/v2/me", "/media/secret"]) {
      assert.strictEqual((await messaging.handler(new Request(`${origin}${path}`))).status, 404)
    }
    assert.lengthOf(lines, 3)
    assert.match(lines[0] ?? "", /handler\(\{ dashboard: true \}\)/)
    assert.match(lines[1] ?? "", /http\.operatorToken/)
    assert.match(
      lines[2] ?? "",
      /outside http\.basePath: .* such as \/inner\/messaging\/api\/v2\/me/,
    )
  })

  it("says in one sentence what it takes when it is given nothing, or a request alone", async () => {
    const { messaging } = await aService()
    const request = { headers: {} }
    for (const [make, input] of [
      [messaging.handler, [undefined]],
      [messaging.handler, [null]],
      [messaging.nodeHandler, [undefined]],
      [messaging.nodeHandler, [undefined, {}]],
      [messaging.nodeHandler, [request]],
    ] as const) {
      try {
        ;(make as (...all: ReadonlyArray<unknown>) => unknown)(...input)
        assert.fail("it was taken")
      } catch (error) {
        assert.instanceOf(error, MessagingError)
        assert.deepStrictEqual([error.code, error.field], ["validation_failed", null])
        assert.match(error.message, /^(node)?[hH]andler takes a [^.]+ \{ dashboard: true \}\.$/)
      }
    }
  })

  it("takes no other option", async () => {
    const { messaging } = await aService()
    for (const wrong of [{ dashboard: "yes" }, { dashboard: true, console: true }]) {
      assert.throws(() => messaging.handler(wrong as never), /dashboard|console/)
      assert.throws(() => messaging.nodeHandler(wrong as never), /dashboard|console/)
    }
  })
})
