/** A number of a server with `TRANSPORT=live`, linked as its owner does: the phone scans the code. */
import { processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import jsQR from "jsqr"
import { PNG } from "pngjs"

export interface NumberBody {
  readonly id: number
  readonly phone: string | null
  readonly status: string
  readonly connect: { readonly qr_code_url: string | null } | null
}

/** The content of the QR code behind a link. */
const qrText = (url: string) =>
  Effect.promise(async () => {
    const image = PNG.sync.read(Buffer.from(await (await fetch(url)).arrayBuffer()))
    return jsQR.default(new Uint8ClampedArray(image.data), image.width, image.height)?.data ?? ""
  })

const readNumber = (url: string, token: string, id: number) =>
  Effect.map(
    processes.call<NumberBody>("GET", `${url}/api/v2/numbers/${id}`, { token }),
    ({ body }) => body,
  )

/** Waits until the number is connected. */
export const untilConnected = (url: string, token: string, id: number) =>
  processes.waitUntil(
    `number ${id} is connected`,
    Effect.map(readNumber(url, token, id), (now) => (now.status === "connected" ? now : undefined)),
    processes.ofOneKey,
  )

/** A new number with a code that this phone has scanned; returns its id. */
export const scannedNumber = Effect.fnUntraced(function* (
  url: string,
  token: string,
  digits: string,
) {
  const { body } = yield* processes.call<NumberBody>("POST", `${url}/api/v2/numbers`, {
    token,
    body: {},
  })
  const link = yield* processes.waitUntil(
    "there is a QR code",
    Effect.map(readNumber(url, token, body.id), ({ connect }) => connect?.qr_code_url ?? undefined),
    processes.ofOneKey,
  )
  const remote = yield* WhatsAppServer
  yield* remote.scan(digits, yield* qrText(link))
  return body.id
})
