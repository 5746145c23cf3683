/**
 * The recipes for receivers, as the documentation shows them: each judges one real delivery of a
 * webhook and one of a callback of version 1, and what others might make of them. A language whose interpreter is not on this machine is skipped.
 */
import { assert, describe, layer } from "@effect/vitest"
import { verifyCallback, verifyWebhook } from "@messaging-service/verify-webhook"
import type { WebhookRequest } from "@messaging-service/verify-webhook"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { aSender, bodyOf, operate, settle } from "../Records.ts"
import { aClient, sends } from "../v1/Asking.ts"
import { send } from "../v2/Asking.ts"
import { anEndpoint, layerWithWayOut } from "./Asking.ts"
import { aReceiver } from "./Receiver.ts"
import type { Delivery } from "./Receiver.ts"

const documentation = resolve(import.meta.dirname, "../../../../docs/webhooks.md")

/** What a recipe is asked, and what it must say. */
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

interface Captured {
  readonly kind: "a webhook" | "a callback"
  readonly secret: string
  readonly delivery: Delivery
}

/** A delivery as it was received. */
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
  const { secret } = bodyOf<{ readonly secret: string }>(yield* operate({ path }), 200)
  const captured: Captured = { kind: "a callback", secret, delivery: receiver.deliveries[0]! }
  return captured
})

const header = ({ headers }: Delivery, name: string): string => String(headers[name])

const casesOf = ({ delivery, kind, secret }: Captured): ReadonlyArray<Case> => {
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
    { ...real, what: "with a timestamp that is none", timestamp: "now", valid: false },
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
  const text = await readFile(documentation, "utf8")
  const block = new RegExp(`\`\`\`${language}\\n([^]*?)\n\`\`\``).exec(text)?.[1]
  assert.isDefined(block, `there is no recipe in ${language}`)
  return block ?? ""
}

interface Language {
  readonly name: string
  /** Of the code block in the documentation. */
  readonly fence: string
  /** Tells that there is an interpreter. */
  readonly probe: readonly [command: string, ...rest: ReadonlyArray<string>]
  /** The program's files, given the recipe. It reads the cases as JSON and prints the verdicts. */
  readonly files: (recipe: string) => Readonly<Record<string, string>>
  readonly run: readonly [command: string, ...rest: ReadonlyArray<string>]
}

const languages: ReadonlyArray<Language> = [
  {
    name: "Python",
    fence: "python",
    probe: ["python3", "--version"],
    files: (code) => ({
      "main.py": `${code}

import base64, json
with open("cases.json") as cases:
    print(json.dumps([
        verify_webhook(c["secret"], c["timestamp"], c["signature"], base64.b64decode(c["body"]), c["now"])
        for c in json.load(cases)
    ]))
`,
    }),
    run: ["python3", "main.py"],
  },
  {
    name: "Go",
    fence: "go",
    probe: ["go", "version"],
    files: (code) => ({
      "go.mod": "module recipe\n\ngo 1.18\n",
      "recipe.go": code.replace("package webhooks", "package main"),
      "main.go": `package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	text, _ := os.ReadFile("cases.json")
	var cases []struct {
		Secret, Timestamp, Signature, Body string
		Now                                int64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, c := range cases {
		body, _ := base64.StdEncoding.DecodeString(c.Body)
		verdicts = append(verdicts, VerifyWebhook(c.Secret, c.Timestamp, c.Signature, body, time.Unix(c.Now, 0)))
	}
	answer, _ := json.Marshal(verdicts)
	fmt.Println(string(answer))
}
`,
    }),
    run: ["go", "run", "."],
  },
  {
    name: "PHP",
    fence: "php",
    probe: ["php", "--version"],
    files: (code) => ({
      "main.php": `${code}

echo json_encode(array_map(
    fn ($c) => verify_webhook($c['secret'], $c['timestamp'], $c['signature'], base64_decode($c['body']), $c['now']),
    json_decode(file_get_contents('cases.json'), true)
));
`,
    }),
    run: ["php", "main.php"],
  },
]

const isHere = ({ probe: [command, ...rest] }: Language): boolean =>
  spawnSync(command, rest, { stdio: "ignore" }).status === 0

/** Runs a recipe over the cases; its verdicts. */
const verdicts = (language: Language, cases: ReadonlyArray<Case>) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "recipe-"))),
      (made) => Effect.promise(() => rm(made, { recursive: true })),
    )
    const code = yield* Effect.promise(() => recipe(language.fence))
    const files = { ...language.files(code), "cases.json": JSON.stringify(cases) }
    for (const [name, text] of Object.entries(files)) {
      yield* Effect.promise(() => writeFile(join(directory, name), text))
    }
    const [command, ...rest] = language.run
    const output = yield* Effect.callback<string>((resume) => {
      const environment = { ...process.env, GOFLAGS: "-mod=mod", GOPROXY: "off" }
      execFile(command, rest, { cwd: directory, env: environment }, (error, stdout, stderr) => {
        resume(error === null ? Effect.succeed(stdout) : Effect.die(new Error(stderr)))
      })
    })
    return JSON.parse(output) as ReadonlyArray<boolean>
  }).pipe(Effect.scoped)

/** A case as the package takes it. */
const requestOf = ({ body, now, secret, signature, timestamp }: Case): WebhookRequest => ({
  body: Buffer.from(body, "base64"),
  headers: { "service-timestamp": timestamp, "service-signature": signature },
  secret,
  now: now * 1000,
})

/** What each case is judged, for a message that tells. */
const told = (cases: ReadonlyArray<Case>, said: ReadonlyArray<boolean>) =>
  Object.fromEntries(cases.map(({ what }, index) => [what, said[index]]))

const expected = (cases: ReadonlyArray<Case>) =>
  told(
    cases,
    cases.map(({ valid }) => valid),
  )

describe("the recipe of the documentation", () => {
  layer(layerWithWayOut())("over real sockets", (it) => {
    it.effect("in JavaScript judges a real delivery rightly", () =>
      Effect.gen(function* () {
        for (const [captured, verify] of [
          [yield* aWebhook, verifyWebhook],
          [yield* aCallback, verifyCallback],
        ] as const) {
          const cases = casesOf(captured)
          const said = yield* Effect.forEach(cases, (one) =>
            Effect.promise(async () => (await verify(requestOf(one))).valid),
          )
          assert.deepStrictEqual(told(cases, said), expected(cases))
        }
      }),
    )

    it.effect("in JavaScript gives what was delivered", () =>
      Effect.gen(function* () {
        const webhook = yield* aWebhook
        const [sent] = casesOf(webhook)
        const verified = yield* Effect.promise(() => verifyWebhook(requestOf(sent!)))
        assert.deepStrictEqual<unknown>(verified, {
          valid: true,
          event: JSON.parse(webhook.delivery.raw.toString("utf8")),
        })

        const callback = yield* aCallback
        const [reported] = casesOf(callback)
        const { headers } = callback.delivery
        const reporting = yield* Effect.promise(() =>
          verifyCallback({ ...requestOf(reported!), headers }),
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

    for (const language of languages) {
      const here = isHere(language)
      it.effect.skipIf(!here)(
        `in ${language.name} judges a real delivery rightly${
          here ? "" : ` (${language.probe[0]} is not on this machine)`
        }`,
        () =>
          Effect.gen(function* () {
            const cases = [...casesOf(yield* aWebhook), ...casesOf(yield* aCallback)]
            assert.deepStrictEqual(told(cases, yield* verdicts(language, cases)), expected(cases))
          }),
        // A compiler that has compiled nothing yet takes its time.
        180_000,
      )
    }
  })
})
