/**
 * The page about live WhatsApp numbers, followed word for word: the service really runs, and links
 * and sends over the protocol to a WhatsApp server on this machine. This test does what the page
 * asks of a person (scan, type, stop and start again).
 */
import { assert, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { make } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import jsQR from "jsqr"
import { PNG } from "pngjs"
import { aFolder, livePage } from "./tutorial/livePage.ts"
import { runTutorial } from "./tutorial/runTutorial.ts"

const { page, startLine } = livePage("docs/live.md")

/** The page without the way of linking that this reader does not take. */
const without = (heading: string, markdown: string): string => {
  const parts = markdown.split(/^(?=### )/m)
  const remaining = parts.filter((part) => !part.startsWith(`### ${heading}\n`))
  assert.strictEqual(remaining.length, parts.length - 1, `no part is called ${heading}`)
  return remaining.join("")
}

/** The page up to the connected number, for the second way there: the rest is the same for both. */
const untilConnected = (markdown: string): string => {
  const [first = "", ...rest] = markdown.split(/^(?=## Send, and see the ticks$)/m)
  assert.lengthOf(rest, 1)
  return first
}

const readQrCode = (url: string) =>
  Effect.promise(async (signal) => {
    const bytes = await (await fetch(url, { signal })).arrayBuffer()
    const { data, height, width } = PNG.sync.read(Buffer.from(bytes))
    return jsQR.default(Uint8ClampedArray.from(data), width, height)?.data ?? ""
  })

/** The phones in the page. */
const phone = "15550100001"
const recipient = "15550100002"

for (const [claimed, left, part] of [
  ["With a QR code", "With a pairing code", "the whole page"],
  ["With a pairing code", "With a QR code", "until it is connected"],
] as const) {
  it.live(`docs/live.md does what it says, line by line: ${claimed.toLowerCase()}, ${part}`, () =>
    Effect.gen(function* () {
      const whatsApp = yield* make()
      yield* whatsApp.person(phone)
      yield* whatsApp.person(recipient, { receipts: ["delivered"] })

      const { data, folder } = yield* aFolder
      const { environment, program } = yield* startLine
      const settings = {
        ...environment,
        WHATSAPP_URL: whatsApp.url,
        DATA_DIR: data,
        // Nothing is configured, as on the page: the process generates a key.
        SECRETS_KEY: "",
      }
      let service = yield* processes.startServer(program, { ...settings, PORT: "0" })
      const { port } = new URL(service.url)
      let isStartedAgain = false

      const byHand = (printed: string) =>
        Effect.gen(function* () {
          const [, url] = /"qr_code_url":"([^"]+)"/.exec(printed) ?? []
          if (url !== undefined) yield* whatsApp.scan(phone, yield* readQrCode(url))
          const [, code] = /"pairing_code":"([^"]+)"/.exec(printed) ?? []
          if (code !== undefined) {
            yield* whatsApp.until(() => whatsApp.codeRequested(phone))
            yield* whatsApp.typePairingCode(phone, code)
          }
          if (printed.startsWith('"since":')) {
            yield* whatsApp.write(recipient, phone, "Good morning")
          }
          if (printed.includes('"status":"delivered"') && !isStartedAgain) {
            isStartedAgain = true
            assert.strictEqual((yield* service.stop).code, 0)
            service = yield* processes.startServer(program, { ...settings, PORT: port })
          }
        })

      const isWhole = part === "the whole page"
      const ownWay = without(left, yield* page).replaceAll("8080", port)
      const followed = isWhole ? ownWay : untilConnected(ownWay)
      yield* runTutorial(followed, { folder, ports: [], meanwhile: byHand })

      assert.strictEqual(isStartedAgain, isWhole)
      // The page ends with an answer that is accepted, and soon sent.
      if (isWhole) yield* whatsApp.until(() => whatsApp.copies(recipient) === 3)
      const visible = whatsApp.decrypted(recipient)
      assert.deepStrictEqual(
        visible.map(({ arrivals, from, text }) => ({ arrivals, from, text })),
        (isWhole ? ["Hello", "Still here", "Good morning to you"] : []).map((text) => ({
          arrivals: 1,
          from: phone,
          text,
        })),
      )
      // One device, linked once, and never two connections of it.
      assert.deepStrictEqual(
        whatsApp.sessions(phone).map(({ max, open }) => ({ max, open })),
        [{ max: 1, open: 1 }],
      )
      assert.deepStrictEqual(whatsApp.complaints(), [])
      assert.strictEqual((yield* service.stop).code, 0)
    }).pipe(Effect.scoped),
  )
}
