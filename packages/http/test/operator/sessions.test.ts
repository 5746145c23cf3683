/** Browser sessions over real sockets (contract: Browser sessions). */
import { assert, describe, layer } from "@effect/vitest"
import { RealTime, sessionRequestsPerMinute, Store } from "@messaging-service/core"
import type { Role, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { aNumber, aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"
import { layerService, operatorToken, publicUrl } from "../Service.ts"
import type { ServiceParts } from "../Service.ts"

/** Sessions use the system's time, which does not pass here. */
const ports = Layer.effect(
  RealTime,
  Effect.map(RealTime, (realTime) => ({ ...realTime, systemMillis: Effect.succeed(0) })),
)

const layerSessions = (settings: ServiceParts["settings"] = {}) => layerService({ settings, ports })

const path = "/admin/v1/session"
const root = "/admin/v1/workspaces"

const request = (call: Call) => Effect.flatMap(HttpTestClients, ({ socket }) => socket.call(call))

/** Of a page of the dashboard. */
const sameOrigin = ["sec-fetch-site", "same-origin"] as const

const getCookie = (header: string | undefined): string => header?.split(";")[0] ?? ""

const signIn = (json: unknown) => request({ method: "POST", path, json })

const anOperator = Effect.map(signIn({ token: operatorToken }), ({ headers }) =>
  getCookie(headers["set-cookie"]),
)

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** The code of a link into a workspace's portal. */
const aCode = (
  workspace: Created,
  role: Role,
  overrides: { readonly codeExpiresAt?: number } = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).browserSessions
    const code = randomBytes(32).toString("hex")
    yield* store.insertLink(
      {
        workspaceId: workspace.id as WorkspaceId,
        role,
        returnUrl: "https://shop.example/back",
        codeHash: sha256(code),
        tokenMark: null,
        createdAt: 0,
        codeExpiresAt: 900_000,
        sessionMillis: 3_600_000,
        ...overrides,
      },
      100,
    )
    return code
  })

const aPortal = (workspace: Created, role: Role) =>
  Effect.gen(function* () {
    const answer = yield* signIn({ code: yield* aCode(workspace, role) })
    assert.strictEqual(answer.status, 200, answer.text)
    return getCookie(answer.headers["set-cookie"])
  })

const withCookie = (cookie: string, { headers = [], ...call }: Call) =>
  request({ ...call, headers: [["cookie", cookie], sameOrigin, ...headers] })

layer(layerSessions())("browser sessions", (it) => {
  it.effect("one browser holds an operator's and a portal's, and its pages name theirs", () =>
    Effect.gen(function* () {
      const shop = yield* aWorkspace()
      const operator = yield* anOperator
      const code = yield* aCode(shop, "member")
      const headers = [["cookie", operator], sameOrigin] as const
      const signedIn = yield* request({ method: "POST", path, json: { code }, headers })
      const portal = getCookie(signedIn.headers["set-cookie"])
      assert.notStrictEqual(portal.split("=")[0], operator.split("=")[0])
      const both = `${operator}; ${portal}`
      const kindOf = (cookie: string, named?: string) =>
        Effect.map(
          withCookie(cookie, {
            path,
            headers: named === undefined ? [] : [["messaging-session", named]],
          }),
          (answer) => expectBody<{ session: { kind: string } | null }>(answer, 200).session?.kind,
        )
      assert.strictEqual(yield* kindOf(operator), "operator")
      assert.strictEqual(yield* kindOf(portal), "portal")
      assert.strictEqual(yield* kindOf(both), "operator")
      assert.strictEqual(yield* kindOf(both, "portal"), "portal")
      assert.isUndefined(yield* kindOf(operator, "portal"))
      const list = { path: root, headers: [["messaging-session", "portal"]] } as const
      assert.strictEqual(errorBody(yield* withCookie(both, list)).code, "operator_required")
      const leaves = { method: "DELETE", path, headers: list.headers } as const
      const left = yield* withCookie(both, leaves)
      assert.strictEqual(getCookie(left.headers["set-cookie"]), `${portal.split("=")[0]}=`)
      assert.strictEqual(yield* kindOf(both), "operator")
      assert.isUndefined(yield* kindOf(both, "portal"))
    }),
  )

  it.effect("the operator token is exchanged for a cookie that no script can read", () =>
    Effect.gen(function* () {
      const answer = yield* signIn({ token: operatorToken })
      const session = {
        kind: "operator",
        workspace_id: null,
        role: "owner",
        created_at: "1970-01-01T00:00:00Z",
        expires_at: "1970-01-01T12:00:00Z",
        now: "1970-01-01T00:00:00Z",
        simulated: true,
        adjustable_clock: false,
        telegram: false,
        return_url: null,
      }
      assert.deepStrictEqual(expectBody(answer, 200), session)
      assert.match(
        answer.headers["set-cookie"] ?? "",
        /^__Host-messaging-[0-9a-f]{6}=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=43200$/,
      )
      const cookie = getCookie(answer.headers["set-cookie"])
      assert.deepStrictEqual((yield* withCookie(cookie, { path })).body, { session })
      assert.strictEqual((yield* withCookie(cookie, { path: root })).status, 200)
    }),
  )

  it.effect("without a session the answer is null, and an ended one is refused", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* request({ path })).body, { session: null })
      const cookie = yield* anOperator
      const [name] = cookie.split("=")
      const signedOut = yield* withCookie(cookie, { method: "DELETE", path })
      assert.deepStrictEqual(expectBody(signedOut, 200), { signed_out: true })
      assert.match(signedOut.headers["set-cookie"] ?? "", new RegExp(`^${name}=; .*Max-Age=0$`))
      assert.deepStrictEqual((yield* withCookie(cookie, { path })).body, { session: null })
      for (const over of [cookie, `${name}=${"a".repeat(64)}`, `${name}=short`]) {
        const refused = yield* withCookie(over, { path: root })
        assert.strictEqual(refused.status, 401)
        assert.strictEqual(errorBody(refused).code, "session_ended")
      }
      assert.strictEqual(errorBody(yield* request({ path: root })).code, "missing_operator_token")
      const again = yield* request({ method: "DELETE", path })
      assert.deepStrictEqual(expectBody(again, 200), { signed_out: true })
    }),
  )

  it.effect("two different cookies of the name are as good as an unknown one", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* anOperator, yield* anOperator]
      const both = yield* withCookie(`${first}; ${second}`, { path: root })
      assert.strictEqual(errorBody(both).code, "session_ended")
      assert.strictEqual((yield* withCookie(`${first}; a=b; ${first}`, { path: root })).status, 200)
    }),
  )

  it.effect("a request with Authorization is judged by that alone", () =>
    Effect.gen(function* () {
      const cookie = yield* anOperator
      const wrong = yield* withCookie(cookie, { path: root, token: "wrong" })
      assert.strictEqual(errorBody(wrong).code, "invalid_operator_token")
      const right = yield* request({
        method: "POST",
        path: root,
        json: { name: "Shop" },
        token: operatorToken,
        headers: [
          ["cookie", cookie],
          ["sec-fetch-site", "cross-site"],
        ],
      })
      assert.strictEqual(right.status, 201)
    }),
  )

  it.effect("exactly one of token and code signs in, and signing in again ends the session", () =>
    Effect.gen(function* () {
      for (const json of [{}, { token: "a", code: "b" }, { token: 1 }, { tokens: "a" }]) {
        assert.strictEqual(errorBody(yield* signIn(json)).code, "validation_failed")
      }
      const former = yield* anOperator
      const answer = yield* withCookie(former, {
        method: "POST",
        path,
        json: { token: operatorToken },
      })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(errorBody(yield* withCookie(former, { path: root })).code, "session_ended")
    }),
  )

  it.effect("one session above the limit ends the operator's oldest", () =>
    Effect.gen(function* () {
      const first = yield* anOperator
      yield* Effect.forEach(Array.from({ length: 20 }), () => anOperator)
      assert.strictEqual(errorBody(yield* withCookie(first, { path: root })).code, "session_ended")
    }),
  )
})

layer(layerSessions())("requests of other sites", (it) => {
  const origins = {
    "another site's": [["origin", "https://evil.example"]],
    "a sandbox's": [["origin", "null"]],
    "another port's": [["origin", "https://messages.test:8443"]],
    "one without Origin": [],
    "another site's by its kind": [["sec-fetch-site", "cross-site"]],
    "a sibling's by its kind": [["sec-fetch-site", "same-site"]],
    "one that a person typed": [["sec-fetch-site", "none"]],
    "another site's that names ours": [
      ["sec-fetch-site", "cross-site"],
      ["origin", publicUrl],
    ],
  } as const
  for (const [whose, headers] of Object.entries(origins)) {
    it.effect(`${whose} request is refused before its body is read`, () =>
      Effect.gen(function* () {
        const cookie = yield* anOperator
        for (const call of [
          { method: "POST", path: root, body: "{" },
          { method: "PATCH", path: `${root}/1`, body: "" },
          { method: "DELETE", path },
        ]) {
          const answer = yield* request({ ...call, headers: [["cookie", cookie], ...headers] })
          assert.strictEqual(answer.status, 403, answer.text)
          assert.strictEqual(errorBody(answer).code, "cross_site_request")
        }
        assert.strictEqual((yield* withCookie(cookie, { path: root })).status, 200)
      }),
    )
  }

  it.effect("another site cannot sign a browser in", () =>
    Effect.gen(function* () {
      const answer = yield* request({
        method: "POST",
        path,
        json: { token: operatorToken },
        headers: [["origin", "https://evil.example"]],
      })
      assert.strictEqual(errorBody(answer).code, "cross_site_request")
    }),
  )

  it.effect("a page of the public origin or of the origin that was asked is the dashboard's", () =>
    Effect.gen(function* () {
      const cookie = yield* anOperator
      for (const origin of [publicUrl, "http://127.0.0.1"]) {
        const answer = yield* request({
          method: "POST",
          path: root,
          json: { name: "Shop" },
          headers: [
            ["cookie", cookie],
            ["origin", origin],
          ],
        })
        assert.strictEqual(answer.status, 201, answer.text)
      }
    }),
  )
})

layer(layerSessions())("wrong tokens and codes", (it) => {
  it.effect("count together, and then the right one is refused too", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const code = yield* aCode(workspace, "owner")
      const used = yield* aCode(workspace, "owner")
      assert.strictEqual((yield* signIn({ code: used })).status, 200)
      const late = yield* aCode(workspace, "owner", { codeExpiresAt: 0 })
      const wrongs = [{ token: "wrong" }, { code: "wrong" }, { code: used }, { code: late }]
      const codes = [
        "invalid_operator_token",
        ...Array.from({ length: 3 }, () => "invalid_portal_code"),
      ]
      for (let at = 0; at < 30; at++) {
        const answer = yield* signIn(wrongs[at % 4])
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(errorBody(answer).code, codes[at % 4])
      }
      assert.strictEqual((yield* signIn({ code: "wrong" })).status, 429)
      for (const right of [{ code }, { token: operatorToken }]) {
        assert.strictEqual(errorBody(yield* signIn(right)).code, "too_many_auth_failures")
      }
    }),
  )
})

layer(layerSessions())("the rate of a session", (it) => {
  it.effect("is 600 in a clock minute", () =>
    Effect.gen(function* () {
      const cookie = yield* anOperator
      yield* Effect.forEach(
        Array.from({ length: sessionRequestsPerMinute }),
        () =>
          Effect.map(withCookie(cookie, { path }), ({ status }) => assert.strictEqual(status, 200)),
        { concurrency: 20 },
      )
      for (const each of [path, root]) {
        const answer = yield* withCookie(cookie, { path: each })
        assert.strictEqual(errorBody(answer).code, "rate_limited")
        assert.strictEqual(answer.headers["retry-after"], "60")
      }
      assert.strictEqual((yield* withCookie(yield* anOperator, { path: root })).status, 200)
    }),
  )
})

describe("a portal", () => {
  layer(layerSessions())("over real sockets", (it) => {
    it.effect("sees its own workspace alone, and never the operator's part", () =>
      Effect.gen(function* () {
        const [shop, other] = [yield* aWorkspace(), yield* aWorkspace()]
        const cookie = yield* aPortal(shop, "owner")
        assert.deepNestedInclude((yield* withCookie(cookie, { path })).body as object, {
          "session.kind": "portal",
          "session.workspace_id": shop.id,
          "session.role": "owner",
          "session.return_url": "https://shop.example/back",
          "session.expires_at": "1970-01-01T01:00:00Z",
        })
        assert.strictEqual((yield* withCookie(cookie, { path: `${root}/${shop.id}` })).status, 200)
        for (const id of [other.id, 999_999, "x"]) {
          const answer = yield* withCookie(cookie, { path: `${root}/${id}/numbers` })
          assert.strictEqual(errorBody(answer).code, "workspace_not_found")
        }
        for (const call of [
          { path: root },
          { method: "PATCH", path: `${root}/${shop.id}`, json: { name: "Mine" } },
          { path: "/admin/v1/simulator/clock" },
        ]) {
          assert.strictEqual(errorBody(yield* withCookie(cookie, call)).code, "operator_required")
        }
      }),
    )

    it.effect("does not change a number's pacing and proxy", () =>
      Effect.gen(function* () {
        const shop = yield* aWorkspace()
        const number = yield* aNumber(shop)
        const cookie = yield* aPortal(shop, "owner")
        const change = (json: unknown) =>
          withCookie(cookie, {
            method: "PATCH",
            path: `${root}/${shop.id}/numbers/${number.id}`,
            json,
          })
        assert.strictEqual((yield* change({ label: "Front desk" })).status, 200)
        for (const json of [{ pacing: null }, { label: "x", proxy_url: null }]) {
          assert.strictEqual(errorBody(yield* change(json)).code, "operator_required")
        }
      }),
    )

    it.effect("acts in its role, whatever Acting-Role says", () =>
      Effect.gen(function* () {
        const shop = yield* aWorkspace()
        const cookie = yield* aPortal(shop, "member")
        const keys = yield* withCookie(cookie, {
          path: `${root}/${shop.id}/keys`,
          headers: [["acting-role", "owner"]],
        })
        assert.strictEqual(errorBody(keys).code, "role_required")
        const numbers = yield* withCookie(cookie, { path: `${root}/${shop.id}/numbers` })
        assert.strictEqual(numbers.status, 200)
      }),
    )

    it.effect("opens by a link that its operator made, and ends when that is revoked", () =>
      Effect.gen(function* () {
        const shop = yield* aWorkspace()
        const links = `${root}/${shop.id}/portal-sessions`
        const json = { role: "owner", expires_in: 600, return_url: "https://shop.example/" }
        const created = expectBody<Created & { readonly url: string }>(
          yield* operate({ method: "POST", path: links, json }),
          201,
        )
        const [, code] =
          /^https:\/\/messages\.test\/portal#code=([0-9a-f]{64})$/.exec(created.url) ?? []
        const answer = yield* signIn({ code })
        assert.deepInclude(expectBody<object>(answer, 200), {
          kind: "portal",
          role: "owner",
          expires_at: "1970-01-01T00:10:00Z",
          return_url: "https://shop.example/",
        })
        assert.strictEqual(errorBody(yield* signIn({ code })).code, "invalid_portal_code")
        const cookie = getCookie(answer.headers["set-cookie"])
        const listed = yield* withCookie(cookie, { path: links })
        assert.deepStrictEqual(expectBody(listed, 200), {
          data: [
            {
              id: created.id,
              role: "owner",
              return_url: "https://shop.example/",
              created_at: "1970-01-01T00:00:00Z",
              code_expires_at: "1970-01-01T00:15:00Z",
              used_at: "1970-01-01T00:00:00Z",
              expires_at: "1970-01-01T00:10:00Z",
              revoked_at: null,
            },
          ],
          next_cursor: null,
        })
        const revoked = yield* operate({ method: "DELETE", path: `${links}/${created.id}` })
        assert.deepStrictEqual(expectBody(revoked, 200), { id: created.id, revoked: true })
        const over = yield* withCookie(cookie, { path: links })
        assert.strictEqual(errorBody(over).code, "session_ended")
      }),
    )

    for (const returnUrl of [
      "https:127.0.0.1",
      "https:/shop.example",
      "https:///shop.example",
      String.raw`https:\\shop.example`,
      " https://shop.example",
      "https://shop.example ",
      "https://shop.example\n",
      "https://u:p@shop.example",
      "https://u@shop.example",
      "http://shop.example",
      `https://shop.example/${"a".repeat(2028)}`,
    ]) {
      it.effect(`does not lead back to ${JSON.stringify(returnUrl).slice(0, 40)}`, () =>
        Effect.gen(function* () {
          const { id } = yield* aWorkspace()
          const answer = yield* operate({
            method: "POST",
            path: `${root}/${id}/portal-sessions`,
            json: { role: "owner", return_url: returnUrl },
          })
          assert.strictEqual(answer.status, 400, answer.text)
          assert.deepInclude(errorBody(answer), { code: "validation_failed", field: "return_url" })
        }),
      )
    }

    it.effect("leads back to an address as it was given", () =>
      Effect.gen(function* () {
        const { id } = yield* aWorkspace()
        for (const text of ["HTTPS://Shop.example:8443/a b?x=1#y", "https://[2001:db8::1]"]) {
          const answer = yield* operate({
            method: "POST",
            path: `${root}/${id}/portal-sessions`,
            json: { role: "owner", return_url: text },
          })
          assert.deepInclude(expectBody<object>(answer, 201), { return_url: text })
        }
      }),
    )

    it.effect("ends with its workspace", () =>
      Effect.gen(function* () {
        const shop = yield* aWorkspace()
        const cookie = yield* aPortal(shop, "member")
        const change = { path: `${root}/${shop.id}`, json: { account_disabled: true } }
        assert.strictEqual((yield* operate({ method: "PATCH", ...change })).status, 200)
        const answer = yield* withCookie(cookie, { path: `${root}/${shop.id}` })
        assert.strictEqual(errorBody(answer).code, "session_ended")
        const code = yield* aCode(shop, "member")
        assert.strictEqual(errorBody(yield* signIn({ code })).code, "invalid_portal_code")
      }),
    )
  })
})

layer(layerSessions({ operatorToken: null }))("the port of the customers", (it) => {
  it.effect("admits portals alone, and compares no token", () =>
    Effect.gen(function* () {
      for (let at = 0; at < 40; at++) {
        const answer = yield* request({ path: root, token: operatorToken })
        assert.strictEqual(errorBody(answer).code, "invalid_operator_token")
        const signing = yield* signIn({ token: operatorToken })
        assert.strictEqual(errorBody(signing).code, "invalid_operator_token")
      }
    }),
  )

  it.effect("ends the operator's sessions there", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const id = "ab".repeat(32)
      yield* store.insert(
        {
          hash: sha256(id),
          workspaceId: null,
          role: "owner",
          returnUrl: null,
          tokenMark: "of some token",
          createdAt: 0,
          expiresAt: 43_200_000,
        },
        20,
      )
      const name = getCookie((yield* request({ method: "DELETE", path })).headers["set-cookie"])
      const answer = yield* withCookie(`${name}${id}`, { path: root })
      assert.strictEqual(errorBody(answer).code, "session_ended")
    }),
  )
})

describe("the cookie", () => {
  for (const [url, name, rest] of [
    ["http://127.0.0.1:8080", "messaging-", "Path=/; HttpOnly; SameSite=Strict; Max-Age"],
    [
      "https://shop.example/inner/messaging",
      "__Secure-messaging-",
      "Path=/inner/messaging; HttpOnly; SameSite=Strict; Secure; Max-Age",
    ],
  ] as const) {
    layer(layerSessions({ publicUrl: url }))(`of ${url}`, (it) => {
      it.effect("is bound to the path, and secure where that is https", () =>
        Effect.gen(function* () {
          const { headers } = yield* signIn({ token: operatorToken })
          assert.match(
            headers["set-cookie"] ?? "",
            new RegExp(`^${name}[0-9a-f]{6}=[0-9a-f]{64}; ${rest}`),
          )
        }),
      )
    })
  }
})

layer(layerSessions({ dashboard: null }))("a service without a dashboard", (it) => {
  it.effect("has no browser sessions", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* signIn({ token: operatorToken })).status, 404)
      assert.strictEqual((yield* request({ path: "/" })).status, 404)
      assert.strictEqual((yield* operate({ path: root })).status, 200)
    }),
  )
})
