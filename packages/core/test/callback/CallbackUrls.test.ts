import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CallbackUrls } from "../../src/service/CallbackSettings.ts"
import { Egress, OutboundRule } from "../../src/model/Egress.ts"
import type { WorkspaceId } from "../../src/model/Ids.ts"

const check = (url: string | null, overrides: { resolvesTo?: "public" | "private" } = {}) =>
  CallbackUrls.use((urls) => urls.check(url, 1 as WorkspaceId)).pipe(
    Effect.provide(
      CallbackUrls.layer.pipe(
        Layer.provide(
          Layer.succeed(Egress, {
            allows: () => Effect.succeed(overrides.resolvesTo !== "private"),
            fetch: () => Effect.die("not asked for"),
            post: () => Effect.die("not asked for"),
          }),
        ),
      ),
    ),
  )

/** `https://example.com/` followed by `length` characters. */
const ofLength = (length: number): string => "https://example.com/".padEnd(length, "x")

describe("a callback URL", () => {
  it.effect.each([
    null,
    "http://example.com/told",
    "https://example.com/told?by=us#here",
    "https://example.com:8443",
    "http://8.8.8.8/",
    ofLength(500),
  ])("accepts %s", (url) => check(url))

  it.effect.each([
    "",
    "example.com/told",
    "ftp://example.com/",
    "javascript:alert(1)",
    "https://user@example.com/",
    "https://exa mple.com/",
    "http://localhost/",
    "http://printer.local/",
    "http://intranet/",
    "http://127.0.0.1/",
    "http://0x7f.1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://168.63.129.16/",
    "http://example.com:25/",
    ofLength(501),
  ])("%s is invalid_callback_url", (url) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(check(url))
      assert.deepStrictEqual([refused.code, refused.field ?? null], ["invalid_callback_url", null])
    }),
  )

  it.effect("the error names a port of another protocol", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(check("http://example.com:6667/"))
      assert.match(refused.message, /^Port 6667 is not allowed/)
    }),
  )

  it.effect("refuses a name that resolves to a private address: invalid_callback_url", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(check("https://example.com/", { resolvesTo: "private" }))
      assert.strictEqual(refused.code, "invalid_callback_url")
    }),
  )

  it.effect("may be private where the operator allows it", () =>
    check("http://127.0.0.1:9000/told").pipe(
      Effect.provideService(OutboundRule, { allowPrivate: true }),
    ),
  )
})
