/** The server with `TRANSPORT=live`, against a WhatsApp server on this machine. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { WhatsAppServer, someProxies, withCredentials } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { aDataDirectory, program } from "./aServer.ts"
import { scannedNumber, untilConnected } from "./LinkedNumber.ts"
import type { NumberBody } from "./LinkedNumber.ts"

const operatorToken = "t".repeat(40)

const [ownPhone, otherPhone] = ["4915100000001", "4915100000002"] as const

/** A connection as operators see it. */
interface ConnectionBody {
  readonly state: string
  readonly reason: string | null
  readonly paused_until: string | null
  readonly reconnects: number
  readonly waiting: number
  readonly next_send_at: string | null
}

// They wait until leases of a killed process expire.
describe.concurrent("live numbers", () => {
  it.effect(
    "a number is linked by its QR code, sends, and reconnects after the process was killed",
    () =>
      Effect.gen(function* () {
        const remote = yield* WhatsAppServer
        yield* remote.person(ownPhone)
        yield* remote.person(otherPhone, { receipts: ["delivered", "read"] })
        const directory = yield* processes.temporaryDirectory
        const certificate = join(directory, "media.pem")
        yield* Effect.promise(() => writeFile(certificate, remote.mediaCertificate))
        const started = processes.startServer(program, {
          PORT: "0",
          DATA_DIR: yield* aDataDirectory,
          OPERATOR_TOKEN: operatorToken,
          TRANSPORT: "live",
          WHATSAPP_URL: remote.url,
          LINKED_DEVICE_NAME: "Acme",
          NODE_EXTRA_CA_CERTS: certificate,
        })

        const first = yield* started
        const { aKey, aWorkspace, request } = processes.anOperator(first.url, operatorToken)
        // The emulator controls belong to simulated phones.
        assert.strictEqual((yield* request("GET", "/simulator/clock")).status, 404)
        const { key: token } = yield* aKey(yield* aWorkspace())
        const id = yield* scannedNumber(first.url, token, ownPhone)
        const linked = yield* untilConnected(first.url, token, id)
        assert.strictEqual(linked.phone, ownPhone)

        const to = { phone: `+${otherPhone}` }
        const caller = processes.aCaller(first.url, token)
        const text = "Grüße *👋*  https://example.com \n"
        const { body: sent } = yield* caller.send(text, { to })
        yield* caller.until(sent.id, "read")
        assert.deepStrictEqual(
          remote.decrypted(otherPhone).map((visible) => visible.text),
          [text],
        )
        const { stdout: firstWords } = yield* first.kill

        const second = yield* started
        const again = processes.aCaller(second.url, token)
        const { body: next } = yield* again.send("Again", { to })
        yield* again.until(next.id, "read")
        assert.strictEqual(remote.copies(otherPhone), 2)
        // One device, which was never connected twice at once.
        assert.deepStrictEqual(
          remote.sessions(ownPhone).map(({ max }) => max),
          [1],
        )
        const words = `${firstWords}${yield* second.stdout}`
        assert.notMatch(words, /noiseKey|privKey|Closing session|Example/)
        assert.deepStrictEqual(remote.complaints(), [])
      }).pipe(Effect.provide(WhatsAppServer.layer())),
  )

  it.live(
    "a process killed during linking continues with the new link, not with simulated phones",
    () =>
      Effect.gen(function* () {
        const remote = yield* WhatsAppServer
        yield* remote.person(ownPhone)
        yield* remote.person(otherPhone, { receipts: ["delivered", "read"] })
        const withoutTransport = {
          PORT: "0",
          DATA_DIR: yield* aDataDirectory,
          OPERATOR_TOKEN: operatorToken,
        }
        const started = processes.startServer(program, {
          ...withoutTransport,
          TRANSPORT: "live",
          WHATSAPP_URL: remote.url,
        })

        const first = yield* started
        const { aKey, aWorkspace } = processes.anOperator(first.url, operatorToken)
        const { key: token } = yield* aKey(yield* aWorkspace())
        // It is killed as soon as the remote server has the device.
        const id = yield* scannedNumber(first.url, token, ownPhone)
        yield* first.kill

        const second = yield* started
        // No code is scanned again.
        yield* untilConnected(second.url, token, id)
        assert.lengthOf(remote.sessions(ownPhone), 1)
        const caller = processes.aCaller(second.url, token)
        const { body: sent } = yield* caller.send("Linked", { to: { phone: `+${otherPhone}` } })
        yield* caller.until(sent.id, "read")
        assert.strictEqual(remote.copies(otherPhone), 1)

        // Simulated phones would send in the number's place.
        yield* second.kill
        const { ended } = yield* processes.start(program, withoutTransport)
        const { code, stderr } = yield* ended
        assert.strictEqual(code, 1)
        assert.match(stderr, /^TRANSPORT=simulated [^\n]+\n$/)
      }).pipe(Effect.scoped, Effect.provide(WhatsAppServer.layer({ asksForFewPreKeys: true }))),
  )

  it.live("an operator paces, pauses, moves to a proxy, resumes and logs out a linked number", () =>
    Effect.gen(function* () {
      const remote = yield* WhatsAppServer
      yield* remote.person(ownPhone)
      yield* remote.person(otherPhone)
      const directory = yield* processes.temporaryDirectory
      const { url } = yield* processes.startServer(program, {
        PORT: "0",
        DATABASE_URL: "memory:",
        DATA_DIR: join(directory, "data"),
        OPERATOR_TOKEN: operatorToken,
        TRANSPORT: "live",
        WHATSAPP_URL: remote.url,
      })
      const { aKey, aWorkspace, request } = processes.anOperator(url, operatorToken)
      const { key: token } = yield* aKey(yield* aWorkspace())
      const id = yield* scannedNumber(url, token, ownPhone)
      const path = `/workspaces/1/numbers/${id}`

      const connection = Effect.map(
        request<ConnectionBody>("GET", `${path}/connection`),
        ({ body }) => body,
      )
      const until = (state: string, reason: string | null) =>
        processes.waitUntil(
          `the connection is ${state}, ${reason}`,
          Effect.map(connection, (now) =>
            now.state === state && now.reason === reason ? now : undefined,
          ),
        )
      const caller = processes.aCaller(url, token)
      const send = (text: string) =>
        Effect.map(
          caller.send(text, { from: id, to: { phone: `+${otherPhone}` } }),
          ({ body }) => body.id,
        )
      const format = () => remote.decrypted(otherPhone).map(({ text }) => text)
      const change = (body: object) =>
        Effect.map(request<{ readonly proxy: unknown }>("PATCH", path, body), (answer) => {
          assert.strictEqual(answer.status, 200)
          return answer.body
        })
      yield* until("connected", null)

      // One in an hour: the second message waits until that is allowed.
      yield* change({ pacing: { min_interval_ms: null, jitter_ms: null, per_hour: 1 } })
      yield* caller.until(yield* send("first"), "sent")
      const second = yield* send("second")
      const connectionBody = yield* processes.waitUntil(
        "the second one is held back",
        Effect.map(connection, (now) =>
          Date.parse(now.next_send_at ?? "") > Date.now() + 50 * 60_000 ? now : undefined,
        ),
      )
      assert.strictEqual(connectionBody.waiting, 1)
      assert.deepStrictEqual(format(), ["first"])
      yield* change({ pacing: { per_minute: null, per_hour: null } })
      yield* caller.until(second, "sent")

      const paused = yield* request<ConnectionBody>("POST", `${path}/pause`)
      assert.deepInclude(paused.body, { state: "connected", reason: "paused" })
      const third = yield* send("third")
      assert.deepInclude(yield* connection, { waiting: 1, next_send_at: null })
      assert.deepInclude((yield* request<ConnectionBody>("POST", `${path}/resume`)).body, {
        reason: null,
      })
      yield* caller.until(third, "sent")

      // The connection opens again, through the proxy.
      const { http } = (yield* someProxies).proxies
      const logins = () => remote.sessions(ownPhone)[0]?.logins ?? 0
      const before = logins()
      const moved = yield* change({ proxy_url: withCredentials(http) })
      assert.deepStrictEqual(moved.proxy, {
        host: "127.0.0.1",
        port: Number(new URL(http.address).port),
      })
      yield* processes.waitUntil(
        "it has logged in again",
        Effect.sync(() => (logins() > before ? true : undefined)),
      )
      assert.deepStrictEqual(http.passed, [new URL(remote.url).host])
      yield* until("connected", null)
      yield* caller.until(yield* send("through the proxy"), "sent")

      // The account is locked: nothing is tried until an operator acts.
      yield* remote.end(403, ownPhone)
      yield* until("disconnected", "restricted")
      const later = yield* send("after the lock")
      assert.strictEqual((yield* caller.read(later)).body.status, "queued")
      assert.strictEqual(http.passed.length, 1)
      yield* request("POST", `${path}/resume`)
      yield* until("connected", null)
      yield* caller.until(later, "sent")
      assert.strictEqual(http.passed.length, 2)
      assert.deepStrictEqual(format(), [
        "first",
        "second",
        "third",
        "through the proxy",
        "after the lock",
      ])

      const out = yield* request<NumberBody>("POST", `${path}/logout`)
      assert.deepInclude(out.body, { id, status: "disconnected" })
      // The phone no longer shows a linked device.
      assert.deepStrictEqual(remote.sessions(ownPhone), [])
      yield* until("disconnected", "logged_out")
      assert.deepStrictEqual(remote.complaints(), [])
    }).pipe(Effect.scoped, Effect.provide(WhatsAppServer.layer({ asksForFewPreKeys: true }))),
  )
})
