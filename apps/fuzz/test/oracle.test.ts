/** The oracle passes what the document allows, and finds each planted fault. */
import { assert, describe, it } from "@effect/vitest"
import { makeChecker } from "@messaging-service/testkit/openapi"
import { makeCallJudge } from "../src/oracle/calls.ts"
import { makeJudge } from "../src/oracle/judge.ts"
import { judgeRepeat } from "../src/oracle/repeat.ts"
import { judgeUsage } from "../src/oracle/usage.ts"
import type { Shot } from "../src/request/Shot.ts"
import type { Outcome } from "../src/wire/Connection.ts"
import { aShot, anAnswer, anError, document, operation, withoutRates } from "./aDocument.ts"

const judge = makeJudge(document, makeChecker(document.source))
const message = { id: 1, text: "Hello" }
const unasked = aShot({ credentials: "none", headers: [["Content-Type", "application/json"]] })
const challenge = { "www-authenticate": 'Bearer realm="service"' }

const kinds = (shot: Shot, outcome: Outcome) => judge(shot, outcome).map(({ kind }) => kind)

const page = (body: string) =>
  aShot({
    aim: operation("v1SendMsgGroup"),
    target: "/api/v1/send_msg/group/",
    credentials: "v1",
    headers: [["Content-Type", "application/json"]],
    body: Buffer.from(body),
  })

const malformed = anError("validation_failed", { message: "The request is not valid HTTP." })

const html = { ...withoutRates, "content-type": "text/html; charset=utf-8" }

const allowed: ReadonlyArray<readonly [name: string, shot: Shot, outcome: Outcome]> = [
  ["a success", aShot(), anAnswer(202, message).outcome],
  ["a refusal", aShot(), anAnswer(400, anError("validation_failed")).outcome],
  [
    "a missing key",
    unasked,
    anAnswer(401, anError("missing_api_key"), { ...withoutRates, ...challenge }).outcome,
  ],
  [
    "too many requests",
    aShot(),
    anAnswer(429, anError("rate_limited"), { "retry-after": "30" }).outcome,
  ],
  [
    "an unknown path",
    aShot({ target: "/api/v2/message", credentials: "strange" }),
    anAnswer(404, anError("not_found"), withoutRates).outcome,
  ],
  [
    "a wrong method",
    aShot({ method: "PUT" }),
    anAnswer(405, anError("method_not_allowed"), { allow: "POST" }).outcome,
  ],
  [
    "a wrong method of version 1",
    { ...page("{}"), method: "PUT" },
    anAnswer(
      400,
      { status: 0, message: "Invalid request method" },
      { ...withoutRates, allow: "POST" },
    ).outcome,
  ],
  [
    "a group name that is a number",
    page('{"group_name":5}'),
    anAnswer(500, "<html>", html).outcome,
  ],
  [
    "a type that is not digits alone",
    page('{"msg_type":"+1"}'),
    anAnswer(500, "<html>", html).outcome,
  ],
  ["a type that is not whole", page('{"msg_type":1.5}'), anAnswer(500, "<html>", html).outcome],
  [
    "the parser's word on broken HTTP",
    aShot({ expectation: "anything", raw: Buffer.from("x") }),
    anAnswer(400, malformed, { ...withoutRates, connection: "close" }).outcome,
  ],
  [
    "no answer to broken HTTP",
    aShot({ expectation: "anything", raw: Buffer.from("x") }),
    { kind: "silence" },
  ],
  [
    "the client's own request id",
    aShot({ headers: [...aShot().headers, ["X-Request-Id", "mine"]] }),
    anAnswer(202, message, { "x-client-request-id": "mine" }).outcome,
  ],
]

const planted: ReadonlyArray<readonly [name: string, shot: Shot, outcome: Outcome, kind: RegExp]> =
  [
    [
      "a status that is not documented",
      aShot(),
      anAnswer(418, anError("not_found")).outcome,
      /418: a status/,
    ],
    ["a 500", aShot(), anAnswer(500, anError("internal_error")).outcome, /500: a fault/],
    ["a 502", aShot(), anAnswer(502, "").outcome, /502: a fault/],
    [
      "an HTML page where none is asked for",
      page('{"group_name":"Team"}'),
      anAnswer(500, "<html>", html).outcome,
      /500: a fault/,
    ],
    [
      "an HTML page for a type that is whole",
      page('{"msg_type":"1"}'),
      anAnswer(500, "<html>", html).outcome,
      /500: a fault/,
    ],
    [
      "a 500 to broken HTTP",
      aShot({ expectation: "anything", raw: Buffer.from("x") }),
      anAnswer(500, "").outcome,
      /raw: 500/,
    ],
    [
      "the parser's word without a request id",
      aShot({ expectation: "anything", raw: Buffer.from("x") }),
      anAnswer(400, malformed, { connection: "close", "x-request-id": undefined }).outcome,
      /no X-Request-Id/,
    ],
    [
      "the parser's word, and an open connection",
      aShot({ expectation: "anything", raw: Buffer.from("x") }),
      anAnswer(400, malformed).outcome,
      /stays open/,
    ],
    [
      "the parser's word on a request of version 1",
      page("{}"),
      anAnswer(400, malformed, { ...withoutRates, connection: "close" }).outcome,
      /v1SendMsgGroup 400/,
    ],
    [
      "no request id",
      aShot(),
      anAnswer(202, message, { "x-request-id": undefined }).outcome,
      /no X-Request-Id/,
    ],
    [
      "a strange request id",
      aShot(),
      anAnswer(202, message, { "x-request-id": "req_1" }).outcome,
      /no X-Request-Id/,
    ],
    [
      "another request id in the body",
      aShot(),
      anAnswer(400, anError("invalid_json", { request_id: "req_other" })).outcome,
      /request_id is not/,
    ],
    [
      "an answer that may be kept",
      aShot(),
      anAnswer(202, message, { "cache-control": "public" }).outcome,
      /no Cache-Control/,
    ],
    [
      "a client's id that does not come back",
      aShot({ headers: [["X-Request-Id", "mine"]] }),
      anAnswer(202, message).outcome,
      /X-Client-Request-Id/,
    ],
    [
      "an id that the client never sent",
      aShot(),
      anAnswer(202, message, { "x-client-request-id": "x" }).outcome,
      /X-Client-Request-Id/,
    ],
    [
      "a 401 without a challenge",
      unasked,
      anAnswer(401, anError("missing_api_key"), withoutRates).outcome,
      /WWW-Authenticate/,
    ],
    [
      "a 405 without Allow",
      aShot({ method: "PUT" }),
      anAnswer(405, anError("method_not_allowed")).outcome,
      /Allow/,
    ],
    [
      "a 405 with another Allow",
      aShot({ method: "PUT" }),
      anAnswer(405, anError("method_not_allowed"), { allow: "GET" }).outcome,
      /Allow is not/,
    ],
    [
      "a 429 without a time",
      aShot(),
      anAnswer(429, anError("rate_limited")).outcome,
      /no Retry-After/,
    ],
    [
      "a 503 without a time",
      aShot(),
      anAnswer(503, anError("rate_limited")).outcome,
      /no Retry-After/,
    ],
    [
      "a time where nothing is to be repeated",
      aShot(),
      anAnswer(202, message, { "retry-after": "1" }).outcome,
      /Retry-After where/,
    ],
    ["no rates for a key", aShot(), anAnswer(202, message, withoutRates).outcome, /no RateLimit/],
    [
      "rates without a key",
      unasked,
      anAnswer(401, anError("missing_api_key"), challenge).outcome,
      /without a key/,
    ],
    [
      "rates that cannot be",
      aShot(),
      anAnswer(202, message, { "ratelimit-remaining": "61" }).outcome,
      /RateLimit headers are wrong/,
    ],
    [
      "a header that is not documented",
      aShot(),
      anAnswer(202, message, { "x-powered-by": "x" }).outcome,
      /x-powered-by is not documented/,
    ],
    ["a body that lacks a field", aShot(), anAnswer(202, { id: 1 }).outcome, /not by its schema/],
    [
      "a body with one field more",
      aShot(),
      anAnswer(202, { ...message, secret: 1 }).outcome,
      /not by its schema/,
    ],
    ["a body that is no JSON", aShot(), anAnswer(202, "{").outcome, /no JSON/],
    ["no body", aShot(), anAnswer(202, "").outcome, /no body/],
    [
      "another content type",
      aShot(),
      anAnswer(202, "x", { "content-type": "text/plain" }).outcome,
      /content type text\/plain/,
    ],
    [
      "a code of no catalogue",
      aShot(),
      anAnswer(400, anError("made_up")).outcome,
      /not in the catalogue/,
    ],
    [
      "a code of another status",
      aShot(),
      anAnswer(400, anError("not_found")).outcome,
      /another status/,
    ],
    [
      "a code of another operation",
      aShot(),
      anAnswer(400, anError("invalid_cron")).outcome,
      /invalid_cron is not documented/,
    ],
    [
      "docs that lead elsewhere",
      aShot(),
      anAnswer(400, anError("invalid_json", { docs: "/" })).outcome,
      /docs does not/,
    ],
    ["a refusal without an error object", aShot(), anAnswer(400, {}).outcome, /no error object/],
    [
      "too many errors",
      aShot(),
      anAnswer(400, anError("invalid_json", { errors: Array.from({ length: 51 }, () => ({})) }))
        .outcome,
      /more than 50/,
    ],
    [
      "a long refusal",
      aShot(),
      anAnswer(400, anError("invalid_json", { message: "x".repeat(70_000) })).outcome,
      /more than 64 KiB/,
    ],
    [
      "an unknown path that is found",
      aShot({ target: "/api/v2/message" }),
      anAnswer(202, message).outcome,
      /unknown path is not 404/,
    ],
    [
      "a wrong method that is carried out",
      aShot({ method: "PUT" }),
      anAnswer(202, message).outcome,
      /wrong method is not 405/,
    ],
    [
      "a field that the document refuses",
      aShot({ body: Buffer.from('{"to":{"phone":"+15550001234"},"colour":1}') }),
      anAnswer(202, message).outcome,
      /accepted what the document refuses/,
    ],
    [
      "words of version 1 that are not documented",
      page("{}"),
      anAnswer(400, { status: 0, message: "Oops" }, withoutRates).outcome,
      /words that are not documented/,
    ],
    [
      "a parameter that is not described",
      aShot({ target: "/api/v2/messages?colour=red" }),
      anAnswer(202, message).outcome,
      /accepted an invalid query/,
    ],
    ["a connection that was closed", aShot(), { kind: "closed", why: "" }, /no answer: closed/],
    ["silence", aShot(), { kind: "silence" }, /no answer: silence/],
    ["an answer that is not HTTP", aShot(), { kind: "malformed", why: "status line" }, /not HTTP/],
  ]

describe("the oracle", () => {
  for (const [name, shot, outcome] of allowed) {
    it(`allows ${name}`, () => {
      assert.deepStrictEqual(kinds(shot, outcome), [])
    })
  }

  for (const [name, shot, outcome, kind] of planted) {
    it(`finds ${name}`, () => {
      const found = kinds(shot, outcome)
      assert.isTrue(
        found.some((each) => kind.test(each)),
        `${kind.source} is not among: ${found.join("; ")}`,
      )
    })
  }

  it("finds a repeat that acts again, answers otherwise, or does not say that it is one", () => {
    const first = anAnswer(202, message).outcome
    const again = (body: object, headers = {}) =>
      judgeRepeat(aShot(), first, anAnswer(202, body, headers).outcome).map(({ kind }) => kind)
    const replayed = { "idempotent-replayed": "true" }
    assert.deepStrictEqual(again(message, replayed), [])
    assert.deepStrictEqual(again(message), ["sendMessage: a repeat without Idempotent-Replayed"])
    assert.deepStrictEqual(again({ ...message, id: 2 }, replayed), [
      "sendMessage: a repeat is another answer",
    ])
  })

  it("checks the service's own calls against the document", () => {
    const judgeCall = makeCallJudge(makeChecker(document.source))
    const headers = {
      "service-event-id": `evt_${"a".repeat(24)}`,
      "service-timestamp": "1900000000",
      "service-signature": `v1=${"0".repeat(64)}`,
      "user-agent": "Service-Webhooks/2",
    }
    const form = { ...headers, "content-type": "application/x-www-form-urlencoded" }
    const count = (body: string, more: object = headers) =>
      judgeCall({ method: "POST", headers: { ...more }, body }).length
    assert.strictEqual(count('{"type":"ping","id":"evt_1"}'), 0)
    assert.strictEqual(count("msg_id=1&status=SENT", form), 0)
    assert.strictEqual(count('{"type":"ping"}'), 1)
    assert.strictEqual(count('{"type":"pong"}'), 1)
    assert.strictEqual(count("{"), 1)
    assert.strictEqual(count("msg_id=x&status=SENT", form), 1)
    assert.strictEqual(count("msg_id=1&status=LOST", form), 1)
    assert.strictEqual(count("x=1", form), 1)
    const unsigned = { ...headers, "service-signature": "v1=" }
    assert.strictEqual(count('{"type":"ping","id":"evt_1"}', unsigned), 1)
  })

  it("finds leaked descriptors, files and memory", () => {
    const usage = { memory: 1e8, descriptors: 30, files: 3, temporary: 0 }
    const left = (last: Partial<typeof usage>, files = 3) =>
      judgeUsage({ first: usage, last: { ...usage, ...last }, peak: 0 }, 1000, files).map(
        ({ kind }) => kind,
      )
    assert.deepStrictEqual(left({}), [])
    assert.deepStrictEqual(left({ descriptors: 200 }), ["usage: descriptors are left open"])
    assert.deepStrictEqual(left({ temporary: 1 }), ["usage: temporary files are left"])
    assert.deepStrictEqual(left({}, 2), ["usage: refused calls have left files"])
    assert.deepStrictEqual(left({ memory: 2e9 }), ["usage: memory grows with the requests"])
  })
})
