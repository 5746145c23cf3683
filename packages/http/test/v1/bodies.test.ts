/** Bodies of version 1, valid and hostile (contract: Version 1: requests). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Disk } from "../Disk.ts"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aPart, boundary, form, multipart } from "../v2/Uploading.ts"
import {
  aClient,
  aText,
  answered,
  request,
  at,
  bodyAs,
  call,
  kinds,
  assertRefusedV1,
  withFile,
} from "./Asking.ts"
import type { SentBody } from "./Asking.ts"

const json = ["content-type", "application/json"] as const
const urlencoded = ["content-type", "application/x-www-form-urlencoded"] as const

const makeForm = (fields: Readonly<Record<string, string | number>>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&")

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Unreadable in any format. */
const unreadable: ReadonlyArray<readonly [what: string, call: Partial<Call>]> = [
  ["no body", { headers: [json] }],
  ["broken JSON", { headers: [json], body: '{"client_id": 1' }],
  ["a JSON list", { headers: [json], body: "[]" }],
  ["a JSON text", { headers: [json], body: '"client_id"' }],
  ["a JSON null", { headers: [json], body: "null" }],
  ["a doubled key", { headers: [json], body: '{"client_id": 1, "client_id": 2}' }],
  ["a NUL in JSON", { headers: [json], body: '{"msg": "\\u0000"}' }],
  ["a lone surrogate", { headers: [json], body: '{"msg": "\\ud800"}' }],
  ["deep JSON", { headers: [json], body: `${'{"a":'.repeat(40)}1${"}".repeat(40)}` }],
  ["very deep JSON", { headers: [json], body: "[".repeat(500_000) }],
  ["JSON that is no UTF-8", { headers: [json], body: Buffer.from([0x7b, 0xff, 0x7d]) }],
  [
    "another charset",
    { headers: [["content-type", "application/json; charset=latin1"]], body: "{}" },
  ],
  ["a form as JSON", { headers: [json], body: "client_id=1" }],
  ["a form with half a code", { headers: [urlencoded], body: "msg=%2" }],
  ["a form that is not UTF-8", { headers: [urlencoded], body: "msg=%ff" }],
  [
    "raw bytes that are not UTF-8",
    { headers: [urlencoded], body: Buffer.from([0x61, 0x3d, 0xff]) },
  ],
  ["a NUL in a form", { headers: [urlencoded], body: "msg=%00" }],
  ["a NUL in the name of a field", { headers: [urlencoded], body: "a%00=1" }],
  [
    "multipart without a boundary",
    { headers: [["content-type", "multipart/form-data"]], body: "x" },
  ],
  [
    "truncated multipart",
    {
      headers: [multipart],
      body: `--${boundary}\r\nContent-Disposition: form-data; name="msg"\r\n\r\nHi`,
    },
  ],
  ["an empty multipart body", { headers: [multipart], body: "" }],
  ["a NUL in multipart", withFile({ msg: "a\0b" }, [])],
  ["text", { headers: [["content-type", "text/plain"]], body: "{}" }],
  ["XML", { headers: [["content-type", "application/xml"]], body: "<client_id>1</client_id>" }],
  ["a compressed body", { headers: [json, ["content-encoding", "gzip"]], body: "{}" }],
  ["broken JSON without a content type", { body: "{" }],
]

const mebibyte = 1_048_576

/** More than 1 MiB of fields, or too many of them. */
const tooLarge: ReadonlyArray<readonly [what: string, call: Partial<Call>]> = [
  ["JSON", { headers: [json], body: " ".repeat(mebibyte + 1) }],
  ["JSON without a length", { headers: [json], body: " ".repeat(mebibyte + 1), chunked: true }],
  ["the values of JSON", { headers: [json], body: `{"a":[${"0,".repeat(10_000)}?` }],
  ["the values of JSON without a content type", { body: `{"a":[${"{},".repeat(10_000)}{}]}` }],
  ["a form", { headers: [urlencoded], body: "a".repeat(mebibyte + 1) }],
  [
    "a form without a length",
    { headers: [urlencoded], body: "a".repeat(mebibyte + 1), chunked: true },
  ],
  ["one field of a multipart form", withFile({ msg: "a".repeat(mebibyte + 1) }, [])],
  [
    "two fields of a multipart form",
    withFile({ msg: "a".repeat(mebibyte / 2), message: "b".repeat(mebibyte / 2) }, []),
  ],
  [
    "the fields' number",
    withFile(Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`f${at}`, "1"])), []),
  ],
]

layer(layerService())("a body of version 1", (it) => {
  for (const [what, overrides] of unreadable) {
    it.effect(`that is ${what} is \`Invalid JSON format\``, () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        for (const client of [socket, web]) {
          const answer = yield* client.call({ method: "POST", path: at("me/"), ...overrides })
          assertRefusedV1(answer, 400, "Invalid JSON format")
        }
      }),
    )
  }

  for (const [what, overrides] of tooLarge) {
    it.effect(`that is too large in ${what} is 413 \`Request too large\``, () =>
      Effect.gen(function* () {
        assertRefusedV1(yield* call("me/", overrides), 413, "Request too large")
      }),
    )
  }

  it.effect("may be as long as 1 MiB", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const body = JSON.stringify(credentials).padEnd(mebibyte)
      assert.strictEqual((yield* call("me/", { headers: [json], body })).status, 200)
      const fields = `${makeForm({ ...credentials })}&rest=`
      const padded = fields.padEnd(mebibyte, "x")
      assert.strictEqual((yield* call("me/", { headers: [urlencoded], body: padded })).status, 200)
    }),
  )

  it.effect("is 413 for a file part over 64 MiB, by the declared length", () =>
    Effect.gen(function* () {
      const declared = ["content-length", String(66 * mebibyte)] as const
      const { web } = yield* HttpTestClients
      const answer = yield* web.call({
        method: "POST",
        path: at("send_msg/"),
        headers: [multipart, declared],
        body: "x",
        chunked: true,
      })
      assertRefusedV1(answer, 413, "Request too large")
    }),
  )

  for (const kind of kinds) {
    it.effect(`means the same as ${kind}`, () =>
      Effect.gen(function* () {
        const { credentials, number } = yield* aClient()
        const answer = yield* request(
          "send_msg/",
          {
            ...credentials,
            whatsapp_client: number.id,
            msg_type: 0,
            country_code: 1,
            phone: 5550001234,
            message: "Grüße, 世界 & more = +1%",
            expire_after_seconds: 60,
            something_else: "ignored",
          },
          kind,
        )
        const { msg_id } = answered<SentBody>(answer)
        const status = yield* request("message/status/", { ...credentials, msg_id }, kind)
        assert.strictEqual(
          answered<{ message: string }>(status).message,
          "Grüße, 世界 & more = +1%",
        )
      }),
    )

    it.effect(`as ${kind} may have names of Object.prototype's members`, () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
          const fields = Object.fromEntries([...Object.entries(credentials), [name, "1"]])
          assert.strictEqual((yield* request("me/", fields, kind)).status, 200)
          const { api_key: _, ...rest } = fields
          assertRefusedV1(yield* request("me/", rest, kind), 400, "Auth Error")
        }
      }),
    )
  }

  it.effect("treats lists, objects and true as missing", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const wrong of [["Hi"], { text: "Hi" }, true, null]) {
        const answer = yield* request("send_msg/", { ...credentials, ...aText, msg: wrong })
        assertRefusedV1(answer, 400, "Msg cant be null")
      }
      for (const wrong of [[1], { id: 1 }, true, 1.5, 1e300]) {
        const answer = yield* request("send_msg/", {
          ...credentials,
          ...aText,
          whatsapp_client: wrong,
        })
        assertRefusedV1(answer, 400, "Invalid whatsapp client")
      }
    }),
  )

  it.effect("without a content type is JSON when it begins like an object, else a form", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const asJson = yield* call("me/", { body: JSON.stringify(credentials) })
      assert.strictEqual(asJson.status, 200, asJson.text)
      const asForm = yield* call("me/", { body: makeForm({ ...credentials }) })
      assert.strictEqual(asForm.status, 200, asForm.text)
      assertRefusedV1(yield* call("me/", {}), 400, "Auth Error")
    }),
  )

  it.effect("uses the last of a form's repeated field", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const once = makeForm({ ...credentials })
      const good = yield* call("me/", { headers: [urlencoded], body: `client_id=x&${once}` })
      assert.strictEqual(good.status, 200)
      const bad = yield* call("me/", { headers: [urlencoded], body: `${once}&client_id=x` })
      assertRefusedV1(bad, 400, "Invalid Client Id")
      const parts = form(
        [["client_id", "x"], ...Object.entries(credentials)].map(([name, value]) =>
          aPart({
            name: String(name),
            fileName: null,
            bytes: String(value),
            contentType: "text/plain",
          }),
        ),
      )
      const multi = yield* call("me/", { headers: [multipart], body: parts })
      assert.strictEqual(multi.status, 200, multi.text)
    }),
  )

  it.effect("in JSON with nine thousand unknown fields is read like any other", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const many = Array.from({ length: 9_000 }, (_, at) => [`f${at}`, 1] as const)
      const answer = yield* call("me/", { json: { ...Object.fromEntries(many), ...credentials } })
      assert.strictEqual(answer.status, 200, answer.text)
    }),
  )

  it.effect("accepts a JSON byte order mark and charset=UTF-8", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const answer = yield* call("me/", {
        headers: [["content-type", "application/json; charset=UTF-8"]],
        body: utf8(`\ufeff${JSON.stringify(credentials)}`),
      })
      assert.strictEqual(answer.status, 200, answer.text)
      const formed = yield* call("me/", {
        headers: [["content-type", "application/x-www-form-urlencoded; charset=UTF-8"]],
        body: bodyAs("form", { ...credentials }).body ?? "",
      })
      assert.strictEqual(formed.status, 200, formed.text)
    }),
  )

  it.effect("leaves nothing of files that its operation does not use", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const answer = yield* call("me/", withFile({ ...credentials }, [{}, { name: "other" }]))
      assert.strictEqual(answer.status, 200, answer.text)
      const { files } = yield* Disk
      assert.deepStrictEqual(yield* files, { stored: [], temporary: [] })
    }),
  )
})
