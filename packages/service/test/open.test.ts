/** The facade in memory: opening, sending, reading, listing, cancelling, refusals, closing. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "vitest"
import { MessagingError, open } from "../src/index.ts"
import type { Api, Messaging, OpenOptions, Workspace } from "../src/index.ts"
import { aClosedPort, all, failure, phone } from "./Opened.ts"

let messaging: Messaging
let shop: Workspace
let api: Api

beforeAll(async () => {
  messaging = await open()
  shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
  api = messaging.as(shop)
})

afterAll(() => messaging.close())

describe("a trusted caller", () => {
  it("sends a message, and reads what became of it", async () => {
    const before = Date.now()
    const sent = await api.messages.send({ to: { phone }, text: "Hello" })
    assert.deepStrictEqual(
      { ...sent, id: 0, createdAt: null },
      {
        id: 0,
        workspaceId: shop.id,
        mode: "live",
        status: "queued",
        from: { id: sent.from.id, phone: "15550100001", platform: "whatsapp" },
        to: { phone, contactId: null },
        text: "Hello",
        media: null,
        sendAt: null,
        expiresAt: null,
        createdAt: null,
        sentAt: null,
        error: null,
        reference: null,
        replayed: false,
      },
    )
    assert.isAtLeast(sent.createdAt.getTime(), before)
    assert.isTrue((await messaging.drain()).finished)
    const after = await api.messages.get(sent.id)
    assert.strictEqual(after.status, "sent")
    assert.instanceOf(after.sentAt, Date)
  })

  it("takes dates and text for times, and shows dates", async () => {
    const sendAt = new Date(Date.now() + 3_600_000)
    const first = await api.messages.send({ to: { phone }, text: "Later", sendAt })
    const second = await api.messages.send({
      to: { phone },
      text: "Later",
      sendAt: sendAt.toISOString(),
    })
    assert.deepStrictEqual([first.sendAt, second.sendAt], [sendAt, sendAt])
    assert.strictEqual(first.status, "scheduled")
    assert.strictEqual((await api.messages.cancel(first.id)).status, "cancelled")
    const error = await failure(api.messages.cancel(first.id))
    assert.strictEqual(error.code, "not_cancellable")
    assert.deepStrictEqual(error.details, { status: "cancelled" })
  })

  it("does a thing once under one idempotency key", async () => {
    const command = { to: { phone }, text: "Once", sendAt: new Date(Date.now() + 3_600_000) }
    const first = await api.messages.send(command, { idempotencyKey: "order 1" })
    const second = await api.messages.send(command, { idempotencyKey: "order 1" })
    assert.deepStrictEqual(second, { ...first, replayed: true })
    const error = await failure(
      api.messages.send({ ...command, text: "Other" }, { idempotencyKey: "order 1" }),
    )
    assert.strictEqual(error.code, "idempotency_key_reused")
  })

  it("lists every page in a loop, or one page", async () => {
    const many = await messaging.workspaces.ensure("many", { numbers: [{ phone: "+15550100003" }] })
    const caller = messaging.as(many, { mode: "test" })
    const { messages } = await caller.messages.sendBatch({
      to: Array.from({ length: 7 }, () => ({ phone })),
      text: "Hello",
    })
    const listed: Array<number> = []
    for await (const message of caller.messages.list({ limit: 3 })) listed.push(message.id)
    assert.deepStrictEqual(listed, messages.map(({ id }) => id).toReversed())
    const page = await caller.messages.list({ limit: 3, status: ["queued", "sent"] }).page()
    assert.lengthOf(page.items, 3)
    const next = caller.messages.list({
      limit: 3,
      status: ["queued", "sent"],
      cursor: page.nextCursor ?? "",
    })
    assert.lengthOf((await next.page()).items, 3)
  })

  it("is refused with a code, a status and the field in the door's spelling", async () => {
    const error = await failure(
      api.messages.send({ to: { contactId: 7, phone }, text: "Hello" } as never),
    )
    assert.strictEqual(error.code, "validation_failed")
    assert.strictEqual(error.status, 400)
    assert.strictEqual(error.field, "to")
    assert.strictEqual(
      error.message,
      "to: must name exactly one of a phone, a group, a contact and a username",
    )
    const late = await failure(
      api.messages.send({ to: { phone }, text: "Hello", sendAt: new Date(0) }),
    )
    assert.deepStrictEqual([late.code, late.field], ["time_in_past", "sendAt"])
    const snake = await failure(
      api.messages.send({ to: { phone }, text: "Hello", send_at: new Date(0) } as never),
    )
    assert.deepStrictEqual([snake.code, snake.field], ["validation_failed", "send_at"])
    const invalid = await failure(
      api.messages.send({ to: { phone }, text: "Hello", sendAt: new Date(Number.NaN) }),
    )
    assert.deepStrictEqual([invalid.code, invalid.field], ["invalid_datetime", "sendAt"])
    const several = await failure(api.messages.send({ to: { phone: "1" }, expiresAt: "soon" }))
    assert.deepStrictEqual(
      [several, ...several.errors].map(({ code, field }) => [code, field]),
      [
        ["invalid_phone", "to.phone"],
        ["text_required", "text"],
        ["invalid_datetime", "expiresAt"],
      ],
    )
    const unknown = await failure(api.messages.get(-1))
    assert.deepStrictEqual([unknown.code, unknown.status], ["message_not_found", 404])
  })
})

it("a transaction needs a store that can take part in it", async () => {
  const transaction = { query: async () => ({ rows: [] }) }
  const error = await failure(api.messages.send({ to: { phone }, text: "No" }, { transaction }))
  assert.deepStrictEqual([error.code, error.field], ["validation_failed", "transaction"])
})

describe("a caller with a key", () => {
  it("may do what the key says, and is admitted at every call", async () => {
    const { keys } = messaging.operator(shop)
    const newKey = await keys.create({ version: 2, name: "Read", scopes: ["messages:read"] })
    const reader = messaging.withKey(newKey.key)
    assert.strictEqual((await reader.account()).key?.name, "Read")
    const refused = await failure(reader.messages.send({ to: { phone }, text: "Hello" }))
    assert.deepStrictEqual(
      [refused.code, refused.status, refused.details],
      ["missing_scope", 403, { requiredScope: "messages:send" }],
    )
    await keys.revoke(newKey.id)
    assert.strictEqual((await failure(reader.account())).code, "api_key_revoked")
    assert.strictEqual(
      (await failure(messaging.withKey("svc_live_nothing").account())).code,
      "invalid_api_key",
    )
  })
})

describe("ensuring a workspace", () => {
  it("makes one however many ask at once, and adds only the numbers that are missing", async () => {
    const expected = { numbers: [{ phone: "+15550100011" }] }
    const found = await Promise.all(
      Array.from({ length: 8 }, () => messaging.workspaces.ensure("again", expected)),
    )
    assert.lengthOf(new Set(found.map(({ id }) => id)), 1)
    const [first] = found
    const { numbers } = messaging.operator(first?.id ?? 0)
    assert.lengthOf(await numbers.list(), 1)
    const same = await messaging.workspaces.ensure("again", {
      demo: true,
      numbers: [{ phone: "+15550100012", label: "Second" }, { phone: "+15550100012" }],
    })
    assert.deepStrictEqual(same, first)
    assert.deepStrictEqual(
      (await numbers.list()).map(({ phone }) => phone),
      ["15550100011", "15550100012"],
    )
  })

  it("makes nothing when anything of it is wrong, and names the number", async () => {
    const wrong: ReadonlyArray<readonly [string, string, object | null]> = [
      [
        "invalid_phone",
        "numbers[1].phone",
        { numbers: [{ phone: "+15550100021" }, { phone: "5" }] },
      ],
      [
        "validation_failed",
        "numbers[0].lable",
        { numbers: [{ phone: "+15550100021", lable: "A" }] },
      ],
      [
        "validation_failed",
        "numbers[0].platform",
        { numbers: [{ phone: "+15550100021", platform: "sms" }] },
      ],
      ["validation_failed", "numbers[0]", { numbers: [null] }],
      ["validation_failed", "plans", { plans: null }],
      ["validation_failed", "wanted", null],
      ["validation_failed", "wanted", ["+15550100021"]],
    ]
    const names = async () => (await all(messaging.workspaces.list())).map(({ name }) => name)
    for (const [code, field, expected] of wrong) {
      const error = await failure(messaging.workspaces.ensure("wrong", expected as never))
      assert.deepStrictEqual([error.code, error.field], [code, field])
    }
    assert.notInclude(await names(), "wrong")
    // An existing one must meet the same rule.
    const error = await failure(messaging.workspaces.ensure("shop", { plans: null } as object))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", "plans"])
  })

  it("is refused as making one is", async () => {
    const error = await failure(messaging.workspaces.ensure(""))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", "name"])
  })
})

describe("a closed service", () => {
  it("refuses every call, and can be closed again", async () => {
    const other = await open({ worker: false })
    const closing = other.close()
    // From that moment on, not only after the end.
    const same = await failure(other.workspaces.create({ name: "Too late" }))
    assert.deepStrictEqual([same.code, same.status], ["closed", 503])
    assert.strictEqual(other.close(), closing)
    await closing
    const error = await failure(other.workspaces.create({ name: "Late" }))
    assert.deepStrictEqual([error.code, error.status], ["closed", 503])
    assert.throws(() => other.on("message.sent", () => undefined), MessagingError)
  })
})

describe("options", () => {
  it("that are wrong are refused before anything is made, in one line that names the field", async () => {
    const pool = { connect: () => Promise.reject(new Error("it was asked")) }
    const postgres = "postgres://127.0.0.1:1/none"
    const application = { apiId: 12_345, apiHash: "0123456789abcdef0123456789abcdef" }
    const wrong: ReadonlyArray<readonly [string, unknown]> = [
      ["options", null],
      ["options", "memory"],
      ["options", [{}]],
      ["store", { store: "disk" }],
      ["store", { store: {} }],
      ["store", { store: null }],
      ["store", { store: { embedded: "./data", postgres } }],
      ["store", { store: { pool, postgres } }],
      ["store", { store: { schema: "messaging" } }],
      ["store.embedded", { store: { embedded: "" } }],
      ["store.embedded", { store: { embedded: 5 } }],
      ["store.postgres", { store: { postgres: "mysql://host" } }],
      ["store.postgres", { store: { postgres: 5 } }],
      ["store.pool", { store: { pool: {} } }],
      ["store.schema", { store: { embedded: "./data", schema: "messaging" } }],
      ["store.schema", { store: { pool, schema: "Mine" } }],
      ["store.schema", { store: { postgres, schema: 5 } }],
      ["store.schema", { store: { postgres, schema: "" } }],
      ["store.shcema", { store: { postgres, shcema: "mine" } }],
      ["transport", { transport: "pigeon" }],
      ["transport", { transport: ["live"] }],
      ["transport.live", { transport: {} }],
      ["transport.live", { transport: { live: "yes" } }],
      ["transport.telegram", { transport: { live: {}, telegram: {} } }],
      ["transport.live.version", { transport: { live: { version: "2" } } }],
      ["transport.live.version", { transport: { live: { version: 2 } } }],
      ["transport.live.devicename", { transport: { live: { devicename: "Mine" } } }],
      ...[
        ["apiId", { apiId: "x" }],
        ["apiId", { apiId: 1.5 }],
        ["apiId", { apiId: undefined }],
        ["apiHash", { apiHash: "short" }],
        ["apiHash", { apiHash: undefined }],
        ["server", { server: "telegram" }],
        ["publicKey", { publicKey: "-----BEGIN" }],
        ["apiID", { apiID: 1 }],
      ].map(
        ([name, input]) =>
          [
            `transport.live.telegram.${String(name)}`,
            { transport: { live: { telegram: { ...application, ...Object(input) } } } },
          ] as const,
      ),
      ["dataDirectory", { dataDirectory: "" }],
      ["secretsKey", { secretsKey: "short" }],
      ["secretsKey", { secretsKey: 5 }],
      ["egress", { egress: "shut" }],
      ["logger", { logger: {} }],
      ["logger", { logger: null }],
      ["logLevel", { logLevel: "warning" }],
      ["worker", { worker: "no" }],
      ["worker", { worker: null }],
      ["telemetry.otlp", { telemetry: { otlp: "collector" } }],
      ["telemetry.otlp", { telemetry: { otlp: "ftp://collector" } }],
      ["telemetry.otlp", { telemetry: {} }],
      ["telemetry.headers", { telemetry: { otlp: "http://127.0.0.1:1", headers: { a: 1 } } }],
      ...[-1, Number.NaN, Infinity, 2 ** 31, "5"].map(
        (shutdownMillis) => ["shutdownMillis", { shutdownMillis }] as const,
      ),
      ...[0, -1, 1.5, Number.NaN, 100_001, "5"].map(
        (maxNumbers) => ["maxNumbers", { maxNumbers }] as const,
      ),
      ["http", { http: "https://shop.example.com" }],
      ...["shop.example.com", "ftp://shop.example.com", "https://shop.example.com/path", 5].map(
        (publicUrl) => ["http.publicUrl", { http: { publicUrl } }] as const,
      ),
      ["http.basePath", { http: { basePath: "/a?b" } }],
      ["http.basePath", { http: { basePath: 5 } }],
      ["http.operatorToken", { http: { operatorToken: "x".repeat(31) } }],
      ["http.operatorToken", { http: { operatorToken: `${"x".repeat(40)}\n` } }],
      ["http.trustProxy", { http: { trustProxy: 1 } }],
      ["http.clientAddress", { http: { clientAddress: "127.0.0.1" } }],
      ["publicUrl", { publicUrl: "https://shop.example.com" }],
    ]
    for (const [field, options] of wrong) {
      const error = await failure(open(options as never))
      assert.deepStrictEqual([error.code, error.field], ["cannot_start", field])
      assert.isTrue(error.message.startsWith(`${field} `), error.message)
      assert.notInclude(error.message, "\n")
    }
  })

  it("with an unusable location are named in the field and the message", async () => {
    const directory = await mkdtemp(join(tmpdir(), "messaging-"))
    onTestFinished(() => rm(directory, { recursive: true }))
    const file = join(directory, "file")
    await writeFile(file, "")
    const postgres = `postgres://shop:secret@127.0.0.1:${await aClosedPort()}/none`
    const secretsKey = "0123456789abcdef".repeat(4)
    const connect = () => Promise.reject(new Error("the pool is shut"))
    const places: ReadonlyArray<readonly [string, OpenOptions]> = [
      ["store.postgres", { store: { postgres }, dataDirectory: directory, secretsKey }],
      [
        "store.pool",
        { store: { pool: { connect } as never }, dataDirectory: directory, secretsKey },
      ],
      ["store.embedded", { store: { embedded: file } }],
      ["dataDirectory", { store: { postgres }, dataDirectory: file }],
    ]
    for (const [field, options] of places) {
      const error = await failure(open(options))
      assert.deepStrictEqual([error.code, error.field], ["cannot_start", field])
      assert.match(error.message, new RegExp(`^${field}:? `))
      assert.notInclude(error.message, "secret")
    }
  })

  it("that are misspelt get a suggestion, along with all other problems", async () => {
    const near: ReadonlyArray<readonly [object, string]> = [
      [{ secret_key: "5" }, "secret_key is not known here; did you mean secretsKey?"],
      [
        { http: { publicURL: "x" } },
        "http.publicURL is not known here; did you mean http.publicUrl?",
      ],
    ]
    for (const [options, message] of near) {
      assert.strictEqual((await failure(open(options))).message, message)
    }
    const { errors, field } = await failure(open({ colour: "red", maxNumbers: 0 } as object))
    assert.strictEqual(field, "maxNumbers")
    assert.deepStrictEqual(
      errors.map((each) => [each.code, each.field]),
      [["cannot_start", "colour"]],
    )
    assert.match(errors[0]?.message ?? "", /^colour is not known here; there is store, transport, /)
  })
})
