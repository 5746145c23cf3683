/**
 * The QR codes of numbers that are being linked, shown where a person reads what the process prints: the
 * link to the picture that the interface gives needs a browser.
 */
import { NumberLinking } from "@messaging-service/core/ports"
import type { LinkingEvent, NumberId } from "@messaging-service/core/ports"
import { qrCodeForTerminal } from "@messaging-service/node"
import { Effect, Layer, Stream } from "effect"

/** Linking as it was, with each QR code also written as text. */
export const layerTerminalCodes = (
  write: (text: string) => void,
): Layer.Layer<NumberLinking, never, NumberLinking> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* () {
      const { link } = yield* NumberLinking
      const show = (numberId: NumberId, event: LinkingEvent) =>
        event._tag === "QrShown"
          ? Effect.map(qrCodeForTerminal(event.text), (code) =>
              write(`Scan this to link number ${numberId}:\n${code}`),
            )
          : Effect.void
      return NumberLinking.of({
        link: (request) => Stream.tap(link(request), (event) => show(request.numberId, event)),
      })
    }),
  )
