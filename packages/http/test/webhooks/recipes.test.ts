/**
 * The documentation's recipes for receivers: each judges a real delivery of a webhook and of a
 * version 1 callback, and forgeries. Python is skipped where it is not installed.
 */
import { assert, describe, layer } from "@effect/vitest"
import { verifyCallback, verifyWebhook } from "@messaging-service/client/webhook"
import type { WebhookRequest } from "@messaging-service/client/webhook"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { createHmac } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { aSender, expectBody, operate, settle } from "../Records.ts"
import { aClient, sends } from "../v1/Asking.ts"
import { send } from "../v2/Asking.ts"
import { anEndpoint, ask, layerWithWayOut } from "./Asking.ts"
import type { EndpointBody } from "./Asking.ts"
import { aReceiver } from "./Receiver.ts"
import type { Delivery } from "./Receiver.ts"

const docs = resolve(import.meta.dirname, "../../../../docs")

/** A recipe's input, and its expected verdict. */
interface Case {
  readonly what: string
  readonly secret: string
  readonly timestamp: string
  readonly signature: string
  /** In Base64. */
  readonly body: string
  /** Unix seconds. */
  readonly now: number
  readonly valid: boolean
}

/** The test vectors of the documentation. */
const vectors = async (): Promise<ReadonlyArray<Case>> => {
  const text = await readFile(join(docs, "webhook-vectors.json"), "utf8")
  return (JSON.parse(text) as ReadonlyArray<Case>).map((vector) => ({
    ...vector,
    body: Buffer.from(vector.body).toString("base64"),
  }))
}

interface Captured {
  readonly kind: "a webhook" | "a callback"
  readonly secret: string
  readonly delivery: Delivery
}

/** A received delivery. */
const aWebhook = Effect.gen(function* () {
  const receiver = yield* aReceiver
  const { token } = yield* aSender()
  const { secret } = yield* anEndpoint(token, receiver)
  yield* send(token, { text: 'Grüße, "quoted" \\ \n 🦉' })
  yield* settle
  assert.lengthOf(receiver.deliveries, 1)
  const captured: Captured = { kind: "a webhook", secret, delivery: receiver.deliveries[0]! }
  return captured
})

const aCallback = Effect.gen(function* () {
  const receiver = yield* aReceiver
  const { credentials, workspace } = yield* aClient()
  yield* sends(credentials, { webhook: receiver.url })
  yield* settle
  assert.lengthOf(receiver.deliveries, 1)
  const path = `/admin/v1/workspaces/${workspace.id}/callback-secret`
  const { secret } = expectBody<{ readonly secret: string }>(yield* operate({ path }), 200)
  const captured: Captured = { kind: "a callback", secret, delivery: receiver.deliveries[0]! }
  return captured
})

const header = ({ headers }: Delivery, name: string): string => String(headers[name])

const getCases = ({ delivery, kind, secret }: Captured): ReadonlyArray<Case> => {
  const timestamp = header(delivery, "service-timestamp")
  const sent = Number(timestamp)
  const real: Case = {
    what: "as it was sent",
    secret,
    timestamp,
    signature: header(delivery, "service-signature"),
    body: delivery.raw.toString("base64"),
    now: sent,
    valid: true,
  }
  const changed = Buffer.from(delivery.raw)
  changed[changed.length - 2] = 0x20
  const cases: ReadonlyArray<Case> = [
    real,
    { ...real, what: "five minutes later", now: sent + 300 },
    { ...real, what: "by a clock that is five minutes behind", now: sent - 300 },
    { ...real, what: "later still", now: sent + 301, valid: false },
    { ...real, what: "by a clock that is further behind", now: sent - 301, valid: false },
    { ...real, what: "with another secret", secret: "a".repeat(64), valid: false },
    { ...real, what: "with a changed body", body: changed.toString("base64"), valid: false },
    { ...real, what: "without a body", body: "", valid: false },
    { ...real, what: "with another timestamp", timestamp: String(sent + 1), valid: false },
    { ...real, what: "with an invalid timestamp", timestamp: "now", valid: false },
    { ...real, what: "without a signature", signature: "", valid: false },
    {
      ...real,
      what: "with half a signature",
      signature: real.signature.slice(0, 35),
      valid: false,
    },
    { ...real, what: "with another scheme", signature: real.signature.slice(3), valid: false },
  ]
  return cases.map((one) => ({ ...one, what: `${kind} ${one.what}` }))
}

/** The documentation's code in that language. */
const recipe = async (language: string): Promise<string> => {
  const text = await readFile(join(docs, "webhooks.md"), "utf8")
  const block = new RegExp(`\`\`\`${language}\\n([^]*?)\n\`\`\``).exec(text)?.[1]
  assert.isDefined(block, `there is no recipe in ${language}`)
  return block ?? ""
}

/** The recipe, wrapped to read the cases as JSON and print the verdicts. */
const inPython = async () => `${await recipe("python")}

import base64, json, sys
print(json.dumps([
    verify_webhook(c["secret"], c["timestamp"], c["signature"], base64.b64decode(c["body"]), c["now"])
    for c in json.load(sys.stdin)
]))
`

const hasPython = spawnSync("python3", ["--version"], { stdio: "ignore" }).status === 0

/** Runs the recipe over the cases; returns its verdicts. */
const verdicts = (cases: ReadonlyArray<Case>) =>
  Effect.promise(async () => {
    const { stderr, stdout } = spawnSync("python3", ["-c", await inPython()], {
      input: JSON.stringify(cases),
      encoding: "utf8",
    })
    assert.strictEqual(stderr, "")
    return JSON.parse(stdout) as ReadonlyArray<boolean>
  })

type Handle = (request: Request, secret: string) => Promise<Response>

/** The documentation's handler, as Node runs it. */
const inTypeScript = async (): Promise<Handle> => {
  const name = "@messaging-service/client/webhook"
  const installed = pathToFileURL(createRequire(import.meta.url).resolve(name)).href
  const program = stripTypeScriptTypes(await recipe("ts")).replace(`"${name}"`, `"${installed}"`)
  const { handle } = await import(`data:text/javascript,${encodeURIComponent(program)}`)
  return handle as Handle
}

/** A case in the package's format. */
const toRequest = ({ body, now, secret, signature, timestamp }: Case): WebhookRequest => ({
  body: Buffer.from(body, "base64"),
  headers: { "service-timestamp": timestamp, "service-signature": signature },
  secret,
  now,
})

/** The verdict of each case, for a readable message. */
const told = (cases: ReadonlyArray<Case>, said: ReadonlyArray<boolean>) =>
  Object.fromEntries(cases.map(({ what }, index) => [what, said[index]]))

const expected = (cases: ReadonlyArray<Case>) =>
  told(
    cases,
    cases.map(({ valid }) => valid),
  )

const parsed = (json: string) => JSON.parse(json) as Readonly<Record<string, unknown>>

layer(layerWithWayOut())("the page about webhooks shows", (it) => {
  it.effect("a request that adds an endpoint", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const text = yield* Effect.promise(() => recipe("sh"))
      const [, path = "", json = ""] =
        /^curl https:\/\/messages\.example\.com(\S+) [^]* -d '([^']+)'$/.exec(text) ?? []
      const { secret } = expectBody<EndpointBody>(
        yield* ask({ method: "POST", path, token, json: parsed(json) }),
        201,
      )
      assert.match(secret, /^[0-9a-f]{64}$/)
    }),
  )

  it.effect("an event as it arrives", () =>
    Effect.gen(function* () {
      const shown = parsed(yield* Effect.promise(() => recipe("json")))
      const { delivery } = yield* aWebhook
      const event = parsed(delivery.raw.toString("utf8"))
      assert.deepStrictEqual(Object.keys(shown), Object.keys(event))
      const toMessage = ({ data }: typeof event) => (data as { readonly message: object }).message
      const { "…": _, ...message } = { "…": "", ...toMessage(shown) }
      assert.containsAllKeys(toMessage(event), Object.keys(message))
    }),
  )

  it.effect("a callback as it arrives", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { credentials } = yield* aClient()
      const toGroup = { phone: null, group_name: "No such group", webhook: receiver.url }
      yield* sends(credentials, toGroup)
      yield* settle
      assert.lengthOf(receiver.deliveries, 1)
      const { headers, method, raw } = receiver.deliveries[0]!
      const form = raw.toString("utf8").replace(/\d+/, "17")
      assert.strictEqual(
        yield* Effect.promise(() => recipe("text")),
        `${method} /callback\nContent-Type: ${headers["content-type"]}\n\n${form}`,
      )
    }),
  )
})

describe("the recipe of the documentation", () => {
  layer(layerWithWayOut())("over real sockets", (it) => {
    it.effect("in JavaScript judges a real delivery correctly", () =>
      Effect.gen(function* () {
        for (const [captured, verify] of [
          [yield* aWebhook, verifyWebhook],
          [yield* aCallback, verifyCallback],
        ] as const) {
          const cases = getCases(captured)
          const said = yield* Effect.forEach(cases, (one) =>
            Effect.promise(async () => (await verify(toRequest(one))).valid),
          )
          assert.deepStrictEqual(told(cases, said), expected(cases))
        }
      }),
    )

    it.effect("in JavaScript returns the delivered event", () =>
      Effect.gen(function* () {
        const webhook = yield* aWebhook
        const [sent] = getCases(webhook)
        const verified = yield* Effect.promise(() => verifyWebhook(toRequest(sent!)))
        assert.deepStrictEqual<unknown>(verified, {
          valid: true,
          event: JSON.parse(webhook.delivery.raw.toString("utf8")),
        })

        const callback = yield* aCallback
        const [reported] = getCases(callback)
        const { headers } = callback.delivery
        const reporting = yield* Effect.promise(() =>
          verifyCallback({ ...toRequest(reported!), headers }),
        )
        const form = new URLSearchParams(callback.delivery.raw.toString("utf8"))
        assert.deepStrictEqual<unknown>(reporting, {
          valid: true,
          id: header(callback.delivery, "service-event-id"),
          report: {
            kind: "message",
            msg_id: Number(form.get("msg_id")),
            status: "SENT",
            error: null,
          },
        })
      }),
    )

    it.effect("in TypeScript answers a real delivery, and refuses others", () =>
      Effect.gen(function* () {
        const { delivery, secret } = yield* aWebhook
        // It uses the clock of its process.
        const timestamp = String(Math.floor(Date.now() / 1000))
        const signature = createHmac("sha256", secret).update(`${timestamp}.`).update(delivery.raw)
        const headers = {
          "service-timestamp": timestamp,
          "service-signature": `v1=${signature.digest("hex")}`,
        }
        const answers = yield* Effect.promise(async () => {
          const handle = await inTypeScript()
          const received = () =>
            new Request("https://example.org/hook", { method: "POST", headers, body: delivery.raw })
          return Promise.all([handle(received(), secret), handle(received(), "a".repeat(64))])
        })
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [204, 400],
        )
        const reason = yield* Effect.promise(async () => answers[1]?.text())
        assert.strictEqual(reason, "wrong_signature")
      }),
    )

    it.effect.skipIf(!hasPython)(
      `in Python judges real deliveries and every test vector rightly${
        hasPython ? "" : " (python3 is not on this machine)"
      }`,
      () =>
        Effect.gen(function* () {
          const cases = [
            ...(yield* Effect.promise(vectors)),
            ...getCases(yield* aWebhook),
            ...getCases(yield* aCallback),
          ]
          assert.deepStrictEqual(told(cases, yield* verdicts(cases)), expected(cases))
        }),
    )
  })
})
