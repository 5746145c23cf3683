import { assert, layer, vi } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService, publicUrl } from "../Service.ts"
import { served } from "./Document.ts"

const thePage = Effect.flatMap(HttpTestClients, ({ socket }) =>
  socket.call({ path: "/docs/operations" }),
)

layer(layerService())("the API at a glance", (it) => {
  it.effect("loads at most 500 kB, and nothing besides, before an operation is opened", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const page = yield* socket.call({ path: "/docs" })
      assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8")
      assert.isAtMost(Buffer.byteLength(page.text), 500_000)
      assert.notMatch(page.text, /<(?:script|link|img|iframe|object|embed|base)\b/i)
      assert.include(page.headers["content-security-policy"], "default-src 'none'")
    }),
  )

  it.effect("leads to each operation of the document once", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { text } = yield* socket.call({ path: "/docs" })
      const links = Array.from(
        text.matchAll(/href="([^"#]*)#tag\/[a-z\d-]+\/([^"]+)"/g),
        ([, path, place]) => [path, place],
      )
      const { paths } = yield* served
      const operations = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()}${path}`),
      )
      assert.sameDeepMembers(
        links,
        operations.map((place) => [`${publicUrl}/docs/operations`, place]),
      )
    }),
  )
})

/** The page without its scripts: everything that a browser loads by itself. */
const withoutScripts = (html: string): string =>
  html.replaceAll(/<script>[\s\S]*?<\/script>/g, "<script>")

const findScripts = (html: string): ReadonlyArray<string> =>
  [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script = ""]) => script)

layer(layerService())("the API page of a service that just started", (it) => {
  it.effect("is built once, however many ask for it at once", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const digest = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(crypto.subtle, "digest")),
        (spy) => Effect.sync(() => spy.mockRestore()),
      )
      const requesting = Array.from({ length: 10 }, () => web.call({ path: "/docs/operations" }))
      const pages = yield* Effect.all(requesting, { concurrency: "unbounded" })
      // The policy has a hash of each script and the tag has one of the page, so every build computes them.
      assert.strictEqual(digest.mock.calls.length, findScripts(pages[0]!.text).length + 1)
      assert.lengthOf(new Set(pages.map(({ text }) => text)), 1)
    }),
  )
})

layer(layerService())("the API page", (it) => {
  it.effect(
    "is HTML, open to all, and has no other method",
    () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        for (const client of [socket, web]) {
          const page = yield* client.call({ path: "/docs/operations/" })
          assert.strictEqual(page.status, 200)
          assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8")
          assert.strictEqual(page.headers["x-content-type-options"], "nosniff")
          assert.match(page.text, /^<!doctype html>/)
          const posted = yield* client.call({ method: "POST", path: "/docs/operations" })
          assert.deepStrictEqual([posted.status, posted.headers["allow"]], [405, "GET, HEAD"])
        }
      }),
    // The page is built twice, once for each client.
  )

  it.effect("shows the same document as `/openapi.json`", () =>
    Effect.gen(function* () {
      const { text } = yield* thePage
      const shown = /content: (\{.*\})\s*\}\)\s*$/.exec(findScripts(text).at(-1) ?? "")?.[1]
      assert.deepStrictEqual(JSON.parse(shown ?? "null"), yield* served)
    }),
  )

  it.effect(
    "loads nothing from elsewhere: it contains its script, and its policy forbids the rest",
    () =>
      Effect.gen(function* () {
        const { headers, text } = yield* thePage
        const markup = withoutScripts(text)
        assert.notMatch(markup, /\s(?:src|href|srcset|action|data)\s*=/i)
        assert.notMatch(markup, /<(?:link|iframe|object|embed|base)\b/i)
        assert.notMatch(markup.replaceAll(`${publicUrl}/docs/errors`, ""), /https?:\/\//)

        const directives = new Map(
          String(headers["content-security-policy"])
            .split("; ")
            .map((directive) => {
              const [name = "", ...values] = directive.split(" ")
              return [name, values] as const
            }),
        )
        assert.deepStrictEqual(directives.get("default-src"), ["'none'"])
        assert.deepStrictEqual(directives.get("connect-src"), ["'self'"])
        const outside = [...directives.values()]
          .flat()
          .filter((value) => /^(?:\*|https?:|\w[\w-]*\.)/.test(value))
        assert.deepStrictEqual(outside, [])
        assert.notInclude(headers["content-security-policy"], "unsafe-eval")
        assert.deepStrictEqual(
          directives.get("script-src"),
          findScripts(text).map(
            (script) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
          ),
        )
      }),
  )

  it.effect("links to the error catalogue below the public address, its path included", () =>
    Effect.gen(function* () {
      const { info } = (yield* served) as unknown as {
        readonly info: { readonly description: string }
      }
      const links = [...info.description.matchAll(/\]\((.*?)\)/g)].map(([, link]) => link)
      assert.deepStrictEqual(links, [`${publicUrl}/docs/errors`])
      assert.notMatch(withoutScripts((yield* thePage).text), /\]\(\//)
    }),
  )

  it.effect("requests no fonts, reports nothing, and links no client elsewhere", () =>
    Effect.gen(function* () {
      const start = findScripts((yield* thePage).text).at(-1) ?? ""
      const config = /\.\.\.(\{.*\}),\n/.exec(start)?.[1]
      const { authentication: _, ...request } = JSON.parse(config ?? "null")
      assert.deepStrictEqual(request, {
        _integration: "html",
        withDefaultFonts: false,
        hideClientButton: true,
        showDeveloperTools: "never",
        telemetry: false,
        defaultOpenAllTags: false,
      })
    }),
  )
})
