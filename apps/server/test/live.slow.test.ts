/** The server with `TRANSPORT=live`, against a WhatsApp server on this machine. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import jsQR from "jsqr"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PNG } from "pngjs"
import { program } from "./aServer.ts"

const operatorToken = "t".repeat(40)

const [ownPhone, otherPhone] = ["4915100000001", "4915100000002"] as const

interface NumberBody {
  readonly id: number
  readonly phone: string | null
  readonly status: string
  readonly connect: { readonly qr_code_url: string | null } | null
}

/** What the QR code behind a link says. */
const qrText = (url: string) =>
  Effect.promise(async () => {
    const image = PNG.sync.read(Buffer.from(await (await fetch(url)).arrayBuffer()))
    return jsQR.default(new Uint8ClampedArray(image.data), image.width, image.height)?.data ?? ""
  })

// They wait for what a killed process held to run out.
describe.concurrent("live numbers", () => {
  it.effect(
    "a number is linked by its QR code, sends, and comes back after the process was killed",
    () =>
      Effect.gen(function* () {
        const far = yield* WhatsAppServer
        yield* far.person(ownPhone)
        yield* far.person(otherPhone, { receipts: ["delivered", "read"] })
        const directory = yield* processes.temporaryDirectory
        const certificate = join(directory, "media.pem")
        yield* Effect.promise(() => writeFile(certificate, far.mediaCertificate))
        const started = processes.startServer(program, {
          PORT: "0",
          DATA_DIR: join(directory, "data"),
          OPERATOR_TOKEN: operatorToken,
          TRANSPORT: "live",
          WHATSAPP_URL: far.url,
          LINKED_DEVICE_NAME: "Acme",
          NODE_EXTRA_CA_CERTS: certificate,
        })

        const first = yield* started
        const { ask } = processes.anOperator(first.url, operatorToken)
        // The emulator controls belong to simulated phones.
        assert.strictEqual((yield* ask("GET", "/simulator/clock")).status, 404)
        yield* ask("POST", "/workspaces", { name: "Live" })
        const { body: issued } = yield* ask<{ readonly key: string }>(
          "POST",
          "/workspaces/1/keys",
          {
            version: 2,
            name: "Live",
          },
        )
        const token = issued.key
        const numbers = `${first.url}/api/v2/numbers`
        const { body: made } = yield* processes.call<NumberBody>("POST", numbers, {
          token,
          body: {},
        })
        const number = Effect.map(
          processes.call<NumberBody>("GET", `${numbers}/${made.id}`, { token }),
          ({ body }) => body,
        )
        const link = yield* processes.waitUntil(
          "there is a QR code",
          Effect.map(number, ({ connect }) => connect?.qr_code_url ?? undefined),
          processes.ofOneKey,
        )
        yield* far.scan(ownPhone, yield* qrText(link))
        const linked = yield* processes.waitUntil(
          "the number is connected",
          Effect.map(number, (now) => (now.status === "connected" ? now : undefined)),
          processes.ofOneKey,
        )
        assert.strictEqual(linked.phone, ownPhone)

        const to = { phone: `+${otherPhone}` }
        const caller = processes.aCaller(first.url, token)
        const text = "Grüße *👋*  https://example.com \n"
        const { body: sent } = yield* caller.send(text, { to })
        yield* caller.until(sent.id, "read")
        assert.deepStrictEqual(
          far.decrypted(otherPhone).map((shown) => shown.text),
          [text],
        )
        const { stdout: firstWords } = yield* first.kill

        const second = yield* started
        const again = processes.aCaller(second.url, token)
        const { body: next } = yield* again.send("Again", { to })
        yield* again.until(next.id, "read")
        assert.strictEqual(far.copies(otherPhone), 2)
        // One device, which was never connected twice at once.
        assert.deepStrictEqual(
          far.sessions(ownPhone).map(({ most }) => most),
          [1],
        )
        const words = `${firstWords}${yield* second.stdout}`
        assert.notMatch(words, /noiseKey|privKey|Closing session|Example/)
        assert.deepStrictEqual(far.complaints(), [])
      }).pipe(Effect.provide(WhatsAppServer.layer())),
  )

  it.live(
    "a process that is killed while a number is linked goes on with the link that was made",
    () =>
      Effect.gen(function* () {
        const far = yield* WhatsAppServer
        yield* far.person(ownPhone)
        yield* far.person(otherPhone, { receipts: ["delivered", "read"] })
        const directory = yield* processes.temporaryDirectory
        const started = processes.startServer(program, {
          PORT: "0",
          DATA_DIR: join(directory, "data"),
          OPERATOR_TOKEN: operatorToken,
          TRANSPORT: "live",
          WHATSAPP_URL: far.url,
        })

        const first = yield* started
        const { ask } = processes.anOperator(first.url, operatorToken)
        yield* ask("POST", "/workspaces", { name: "Live" })
        const { body: issued } = yield* ask<{ readonly key: string }>(
          "POST",
          "/workspaces/1/keys",
          {
            version: 2,
            name: "Live",
          },
        )
        const token = issued.key
        const numberAt = (url: string, id: number) =>
          Effect.map(
            processes.call<NumberBody>("GET", `${url}/api/v2/numbers/${id}`, { token }),
            ({ body }) => body,
          )
        const { body: made } = yield* processes.call<NumberBody>(
          "POST",
          `${first.url}/api/v2/numbers`,
          { token, body: {} },
        )
        const link = yield* processes.waitUntil(
          "there is a QR code",
          Effect.map(
            numberAt(first.url, made.id),
            ({ connect }) => connect?.qr_code_url ?? undefined,
          ),
          processes.ofOneKey,
        )
        // It is killed as soon as the far side has the device.
        yield* far.scan(ownPhone, yield* qrText(link))
        yield* first.kill

        const second = yield* started
        yield* processes.waitUntil(
          "the number is connected, and no code was scanned again",
          Effect.map(numberAt(second.url, made.id), ({ status }) =>
            status === "connected" ? true : undefined,
          ),
          processes.ofOneKey,
        )
        assert.lengthOf(far.sessions(ownPhone), 1)
        const caller = processes.aCaller(second.url, token)
        const { body: sent } = yield* caller.send("Linked", { to: { phone: `+${otherPhone}` } })
        yield* caller.until(sent.id, "read")
        assert.strictEqual(far.copies(otherPhone), 1)
      }).pipe(Effect.scoped, Effect.provide(WhatsAppServer.layer())),
  )
})
