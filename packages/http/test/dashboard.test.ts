/** The dashboard's pages and files (contract: Dashboard). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Call } from "./HttpTestClients.ts"
import { dashboardFiles, layerService } from "./Service.ts"

const request = (path: string, headers: Call["headers"] = [], method = "GET") =>
  Effect.flatMap(HttpTestClients, ({ socket }) => socket.call({ path, headers, method }))

const page = '<meta content="/"><script src="/assets/main-1a2b.js"></script>'

layer(layerService())("the dashboard", (it) => {
  it.effect("every page's address answers the page, with its policy", () =>
    Effect.gen(function* () {
      for (const path of [
        "/",
        "/sign-in",
        "/portal",
        "/workspaces/",
        "/w/1/messages",
        "/service",
      ]) {
        const answer = yield* request(path, [["accept-encoding", "br"]])
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.text, page)
        assert.deepInclude(answer.headers, {
          "content-type": "text/html; charset=utf-8",
          "cache-control": "no-cache",
          "content-security-policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
          "cross-origin-opener-policy": "same-origin",
          "referrer-policy": "no-referrer",
          "x-content-type-options": "nosniff",
          "x-frame-options": "DENY",
        })
        const again = yield* request(path, [["if-none-match", answer.headers["etag"] ?? ""]])
        assert.deepStrictEqual([again.status, again.text], [304, ""])
      }
    }),
  )

  it.effect("other paths stay not_found", () =>
    Effect.gen(function* () {
      for (const path of [
        "/webhooks",
        "/x",
        "/index",
        "/assets",
        "/assets/none.js",
        "/assets/../icon.svg",
        "/none.svg",
        "/api/v3",
        "/%69con.svg",
      ]) {
        const answer = yield* request(path)
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(errorBody(answer).code, "not_found")
      }
      for (const method of ["POST", "DELETE"]) {
        assert.strictEqual((yield* request("/", [], method)).status, 404)
      }
    }),
  )

  it.effect("a hashed file is immutable, and comes in the smallest copy that is accepted", () =>
    Effect.gen(function* () {
      const copies = [
        ["", "console.log(1)", undefined, '"main"'],
        ["gzip, br;q=0", "gzip", "gzip", '"main-gzip"'],
        ["GZIP;q=0.5, br", "br", "br", '"main-br"'],
      ] as const
      for (const [accepted, text, coding, etag] of copies) {
        const answer = yield* request("/assets/main-1a2b.js", [["accept-encoding", accepted]])
        assert.strictEqual(answer.text, text)
        assert.strictEqual(answer.headers["content-encoding"], coding)
        assert.deepInclude(answer.headers, {
          etag,
          vary: "accept-encoding",
          "content-type": "text/javascript; charset=utf-8",
          "cache-control": "public, max-age=31536000, immutable",
        })
      }
      const known = yield* request("/assets/main-1a2b.js", [["if-none-match", '"a", W/"main"']])
      assert.strictEqual(known.status, 304)
      const head = yield* request("/icon.svg", [], "HEAD")
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      assert.strictEqual(head.headers["content-length"], "6")
    }),
  )
})

const mounted = "https://shop.example/inner/messaging"

layer(layerService({ settings: { publicUrl: mounted } }))("below a base path", (it) => {
  it.effect("the page names its files by that path", () =>
    Effect.gen(function* () {
      const answer = yield* request("/w/1")
      assert.strictEqual(answer.text, page.replaceAll('="/', '="/inner/messaging/'))
    }),
  )
})

let loads = 0
const counted = () => {
  loads++
  return loads === 1 ? Promise.reject(new Error("not there")) : Promise.resolve(dashboardFiles)
}

layer(layerService({ settings: { dashboard: counted } }))("the files", (it) => {
  it.effect("are loaded by the first page, and again only when that failed", () =>
    Effect.gen(function* () {
      yield* request("/health/live")
      yield* request("/unknown")
      yield* request("/admin/v1/session")
      assert.strictEqual(loads, 0)
      assert.strictEqual((yield* request("/")).status, 500)
      assert.strictEqual((yield* request("/")).status, 200)
      assert.strictEqual((yield* request("/icon.svg")).status, 200)
      assert.strictEqual(loads, 2)
    }),
  )
})
