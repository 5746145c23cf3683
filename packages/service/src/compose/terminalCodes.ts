/**
 * The QR codes of numbers that are being linked, shown where a person reads what the process prints: the
 * link to the picture that the interface gives needs a browser.
 */
import { NumberLinking } from "@messaging-service/core"
import type { LinkingEvent, NumberId } from "@messaging-service/core"
import { qrCodeForTerminal } from "@messaging-service/node"
import { Effect, Layer, Stream } from "effect"

/** Where codes that link a phone are written as text. */
type Write = (text: string) => void

/** Writes what a phone is to scan for that number. */
export const writeCode =
  (write: Write) =>
  (numberId: NumberId, text: string): Effect.Effect<void> =>
    Effect.map(qrCodeForTerminal(text), (code) =>
      write(`Scan this to link number ${numberId}:\n${code}`),
    )

/** Linking as it was, with each QR code also written as text. */
export const layerTerminalCodes = (
  write: Write,
): Layer.Layer<NumberLinking, never, NumberLinking> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* () {
      const { link } = yield* NumberLinking
      const show = (numberId: NumberId, event: LinkingEvent) =>
        event._tag === "QrShown" ? writeCode(write)(numberId, event.text) : Effect.void
      return NumberLinking.of({
        link: (request) => Stream.tap(link(request), (event) => show(request.numberId, event)),
      })
    }),
  )
