/** Calls reject wrong arguments and options at once, and name the field. */
import { catalogue, refuse } from "@messaging-service/core"
import type { Code } from "@messaging-service/core"
import { assert, it } from "vitest"
import { errorOfRefusal } from "../src/facade/Calls.ts"
import { MessagingError } from "../src/index.ts"
import { aShop, failure, opened, phone } from "./Opened.ts"

/** The error that the call throws at once. */
const thrown = (call: () => unknown): MessagingError => {
  try {
    call()
  } catch (error) {
    assert.instanceOf(error, MessagingError)
    return error
  }
  return assert.fail("it was taken")
}

it("a listener that could never hear anything is refused", async () => {
  const messaging = await opened({ worker: false })
  const on = messaging.on as (...args: ReadonlyArray<unknown>) => unknown
  const handler = () => undefined
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ...[Number.NaN, 1.5, 1e30, "x", -1, null].map(
      (after) => ["after", ["message.sent", handler, { after }]] as const,
    ),
    ["type", ["message.opened", handler]],
    ["type", [[], handler]],
    ["type", [undefined, handler]],
    ["handler", ["message.sent", "log"]],
    ["since", ["message.sent", handler, { since: 1 }]],
  ]
  for (const [field, args] of wrong) {
    const error = thrown(() => on(...args))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
  }
})

it("an option that a call does not have, or cannot use, is refused and named", async () => {
  const messaging = await opened({ worker: false })
  const { api } = await aShop(messaging)
  const command = { to: { phone }, text: "Hello" }
  const transaction = { query: async () => ({ rows: [] }) }
  const file = { fileName: "a.txt", content: new Uint8Array([65]) }
  const wrong: ReadonlyArray<readonly [string, Promise<unknown>]> = [
    ["idempotency_key", api.messages.send(command, { idempotency_key: "1" } as never)],
    ["options", api.messages.sendBatch({ to: [{ phone }], text: "Hi" }, "order" as never)],
    ["transaction", api.reminders.create({} as never, { transaction } as never)],
    ["atMostMillis", messaging.drain({ atMostMillis: "x" as never })],
    ["atMostMillis", messaging.drain({ atMostMillis: 2 ** 31 })],
    ["atMost", messaging.drain({ atMost: 5 } as never)],
    ["options", messaging.drain(null as never)],
    ["numbers", messaging.workspaces.ensure("None", { numbers: "abc" as never })],
    ["mimeType", api.media.upload({ ...file, mimeType: "text/plain" } as never)],
    ["fileName", api.media.upload({ ...file, fileName: 5 } as never)],
    ["query", api.messages.list("cursor" as never).page()],
    ["query", messaging.workspaces.list(5 as never).page()],
  ]
  for (const [field, call] of wrong) {
    const error = await failure(call)
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
    assert.isTrue(error.message.startsWith(`${error.field}: `))
  }
})

it("who acts is refused at once when it is not what it says: a misspelt mode would send live", async () => {
  const messaging = await opened({ worker: false })
  const { shop } = await aShop(messaging)
  const wrong: ReadonlyArray<readonly [string, object | null]> = [
    ["mod", { mod: "test" }],
    ["mode", { mode: "Test" }],
    ["mode", { mode: null }],
    ["number_ids", { number_ids: [1] }],
    ["numberIds", { numberIds: 1 }],
    ["numberIds", { numberIds: ["1"] }],
    ["scopes", { scopes: "messages:read" }],
    ["scopes", { scopes: ["messages:write"] }],
    ["options", null],
    ["options", ["test"]],
  ]
  for (const [field, trust] of wrong) {
    const error = thrown(() => messaging.as(shop, trust as never))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
  }
  assert.match(thrown(() => messaging.as(shop, { mod: "test" } as never)).message, /mean mode\?$/)
  for (const [field, options] of [
    ["role", { role: "boss" }],
    ["rol", { rol: "member" }],
  ] as const) {
    assert.strictEqual(thrown(() => messaging.operator(shop, options as never)).field, field)
  }
  const api = messaging.as(shop, { mode: "test", scopes: ["messages:read"], numberIds: null })
  const { mode, numberIds, scopes } = await api.account()
  assert.deepStrictEqual([mode, numberIds, scopes], ["test", null, ["messages:read"]])
})

it("an idempotency key that is no text is refused: made one, null would be the key of everything", async () => {
  const messaging = await opened({ worker: false })
  const { api } = await aShop(messaging)
  for (const idempotencyKey of [null, 5, "", {}, "x".repeat(256)]) {
    const options = { idempotencyKey } as never
    const error = await failure(api.messages.send({ to: { phone }, text: "Hello" }, options))
    assert.deepStrictEqual([error.code, error.field], ["invalid_idempotency_key", "idempotencyKey"])
  }
})

/** Errors that no call of a program can cause. */
const ofRequestsAlone: ReadonlyArray<Code> = [
  "not_found",
  "method_not_allowed",
  "invalid_json",
  "unsupported_content_type",
  "request_too_large",
  "missing_operator_token",
  "invalid_operator_token",
  "clock_not_adjustable",
  // A key's own rule describes it.
  "invalid_idempotency_key",
]

it("no text speaks of requests, headers or variables to a program that makes calls", () => {
  const codes = (Object.keys(catalogue) as ReadonlyArray<Code>).filter(
    (code) => !ofRequestsAlone.includes(code),
  )
  for (const code of codes) {
    assert.notMatch(
      errorOfRefusal(refuse(code)).message,
      /[Rr]equest|header|body|Idempotency-Key|Retry-After|Authorization|this address|[A-Z]{3,}_/,
      code,
    )
  }
})

it("what is wrong with an idempotency key names the option", async () => {
  const messaging = await opened({ worker: false })
  const { api } = await aShop(messaging)
  const options = { idempotencyKey: "order 1" }
  await api.messages.send({ to: { phone }, text: "One" }, options)
  const reused = await failure(api.messages.send({ to: { phone }, text: "Two" }, options))
  assert.deepStrictEqual(
    [reused.code, reused.field, reused.message],
    [
      "idempotency_key_reused",
      "idempotencyKey",
      "idempotencyKey: was used for another command within 24 hours",
    ],
  )
  const running = errorOfRefusal(refuse("idempotency_in_progress"))
  assert.strictEqual(running.field, "idempotencyKey")
})

it("a refusal for a missing scope names it, with a key or without", async () => {
  const messaging = await opened({ worker: false })
  const { shop } = await aShop(messaging)
  const api = messaging.as(shop, { scopes: ["messages:read"] })
  const error = await failure(api.messages.send({ to: { phone }, text: "No" }))
  assert.deepStrictEqual(
    [error.code, error.message, error.details],
    [
      "missing_scope",
      "This caller lacks the scope messages:send.",
      { requiredScope: "messages:send" },
    ],
  )
})

it("the refusal of a wrong value names the accepted ones", async () => {
  const messaging = await opened({ worker: false })
  const { api } = await aShop(messaging)
  const to = { phone }
  const wrong: ReadonlyArray<readonly [string | null, RegExp, Promise<unknown>]> = [
    [
      "from",
      /^from: must be a whole number or null$/,
      api.messages.send({ to, text: "x", from: "1" } as never),
    ],
    [
      "events[0]",
      /^events\[0\]: must be "message\.\w+", .* or "[\w.]+"$/,
      api.webhooks.create({ url: "https://a.example/x", events: ["nope"] } as never),
    ],
    ["to", /^to: must be an object$/, api.messages.send({ to: "x", text: "x" } as never)],
    [null, /^The command must be an object\.$/, api.messages.send(null as never)],
  ]
  for (const [field, message, call] of wrong) {
    const error = await failure(call)
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
    assert.match(error.message, message)
  }
})
