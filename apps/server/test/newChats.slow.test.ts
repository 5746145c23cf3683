/**
 * WhatsApp lets a number write to no new people for an hour, and says so as it refuses one (conversations, section 9):
 * the server with `TRANSPORT=live` on its embedded PostgreSQL, against a WhatsApp server on this machine.
 */
import { assert, it } from "@effect/vitest"
import { listenOnLoopback, processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { appendFile, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { join } from "node:path"
import { aDataDirectory, program } from "./aServer.ts"
import { scannedNumber, untilConnected } from "./LinkedNumber.ts"

const operatorToken = "t".repeat(40)

const [ownPhone, friend, stranger] = ["4915100000001", "4915100000002", "4915100000003"] as const

const minute = 60_000

/** Over an hour, and over what is drawn after it. */
const leapMillis = 66 * minute

/**
 * The clock of a process leaps with each byte of a file, and that of its database, which runs in a thread: the
 * service takes a leap that both share for the time.
 */
const leapingClock = (file: string) => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    `import { statSync } from "node:fs"
    const now = Date.now
    let ahead = 0
    let lookedAt = -Infinity
    Date.now = () => {
      if (performance.now() - lookedAt > 20) {
        lookedAt = performance.now()
        ahead = statSync(${JSON.stringify(file)}).size * ${leapMillis}
      }
      return now() + ahead
    }`,
  )}`,
})

interface Call {
  readonly headers: IncomingHttpHeaders
  readonly raw: string
}

interface EventBody {
  readonly id: string
  readonly type: string
  readonly data: {
    readonly message?: { readonly id: number }
    readonly restrictions?: unknown
  }
}

/** An endpoint of the workspace, and what came to it. */
const anEndpoint = Effect.fnUntraced(function* (
  url: string,
  token: string,
  events: ReadonlyArray<string>,
) {
  const calls: Array<Call> = []
  const origin = yield* listenOnLoopback(
    createServer((request, response) => {
      const parts: Array<Buffer> = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("end", () => {
        calls.push({ headers: request.headers, raw: Buffer.concat(parts).toString() })
        response.writeHead(204).end()
      })
    }),
  )
  const { body } = yield* processes.call<{ readonly secret: string }>(
    "POST",
    `${url}/api/v2/webhooks`,
    { token, body: { url: `${origin}/hook`, events } },
  )
  const isSigned = ({ headers, raw }: Call) => {
    const signed = `${String(headers["service-timestamp"])}.${raw}`
    const mac = createHmac("sha256", body.secret).update(signed).digest("hex")
    return headers["service-signature"] === `v1=${mac}`
  }
  return { calls, isSigned, read: () => calls.map(({ raw }): EventBody => JSON.parse(raw)) }
})

it.effect("a refused new chat waits for the end that WhatsApp names, and leaves once", () =>
  Effect.gen(function* () {
    const remote = yield* WhatsAppServer
    for (const digits of [ownPhone, friend, stranger]) yield* remote.person(digits)
    const directory = yield* aDataDirectory
    const clock = join(directory, "../clock")
    yield* Effect.promise(() => writeFile(clock, ""))
    const leap = Effect.promise(() => appendFile(clock, "."))
    const server = yield* processes.startServer(program, {
      PORT: "0",
      DATA_DIR: directory,
      OPERATOR_TOKEN: operatorToken,
      TRANSPORT: "live",
      WHATSAPP_URL: remote.url,
      ALLOW_PRIVATE_TARGETS: "true",
      ...leapingClock(clock),
    })
    const { url } = server
    const { aKey, aWorkspace, request } = processes.anOperator(url, operatorToken)
    const workspace = yield* aWorkspace()
    const own = `/workspaces/${workspace.id}`
    yield* request("PUT", `${own}/conversations`, { hold_new_chats: true })
    const { key: token } = yield* aKey(workspace, { scopes: "all" })
    const { calls, isSigned, read } = yield* anEndpoint(url, token, [
      "message.sent",
      "message.failed",
      "number.restricted",
      "number.unrestricted",
    ])
    const number = yield* scannedNumber(url, token, ownPhone)
    yield* untilConnected(url, token, number)
    const caller = processes.aCaller(url, token)
    const send = (digits: string, text: string) =>
      Effect.map(caller.send(text, { to: { phone: `+${digits}` } }), ({ body }) => body.id)
    const texts = (digits: string) => remote.decrypted(digits).map(({ text }) => text)
    const heard = (type: string, count: number) =>
      processes.waitUntil(
        `${type} was announced`,
        Effect.sync(() => {
          const found = read().filter((event) => event.type === type)
          return found.length >= count ? found : undefined
        }),
      )
    const first = yield* send(friend, "first")
    yield* caller.until(first, "sent")

    const until = Math.floor(Date.now() / 1000) * 1000 + 60 * minute
    yield* remote.nextMessage({ outcome: { closeNewChats: { until } }, to: stranger })
    const refused = yield* send(stranger, "refused")
    const [restricted] = yield* heard("number.restricted", 1)
    assert.deepInclude(restricted?.data.restrictions, {
      number_id: number,
      state: "new_chats_closed",
      until: new Date(until).toISOString().replace(".000", ""),
    })
    const behind = yield* send(stranger, "behind")
    const passing = yield* send(friend, "passing")
    yield* caller.until(passing, "sent")
    for (const id of [refused, behind]) {
      assert.strictEqual((yield* caller.read(id)).body.status, "queued")
      const { body } = yield* request<{
        readonly waiting: {
          readonly for: ReadonlyArray<
            { readonly until: string } & Readonly<Record<string, unknown>>
          >
        } | null
      }>("GET", `${own}/messages/${id}/timeline`)
      const [reason] = body.waiting?.for ?? []
      assert.deepInclude(reason, { reason: "new_chats_closed", because: null })
      const wait = Date.parse(String(reason?.["until"])) - until
      assert.isTrue(wait >= minute && wait <= 5 * minute + 1000, String(wait))
    }
    assert.deepStrictEqual([texts(stranger), texts(friend)], [[], ["first", "passing"]])

    yield* remote.openNewChats(ownPhone, "none")
    yield* leap
    yield* caller.until(refused, "sent")
    yield* caller.until(behind, "sent")
    yield* remote.openNewChats(ownPhone)
    yield* heard("number.unrestricted", 1)
    yield* heard("message.sent", 4)
    assert.deepStrictEqual(texts(stranger), ["refused", "behind"])
    const events = read()
    assert.deepStrictEqual(
      events.map(({ data, type }) => `${type} ${data.message?.id ?? ""}`).toSorted(),
      [
        ...[first, passing, refused, behind].map((id) => `message.sent ${id}`).toSorted(),
        "number.restricted ",
        "number.unrestricted ",
      ],
    )
    assert.isTrue(calls.every(isSigned))
    assert.deepStrictEqual(remote.complaints(), [])
  }).pipe(Effect.provide(WhatsAppServer.layer({ asksForFewPreKeys: true }))),
)
