/**
 * How a simulated phone is linked. The codes come as the real ones do: the first QR code stands for
 * 60 s, five more for 20 s each, and then the connection has no further ones to give; a pairing code
 * stands for as long as it can be typed. That the phone takes a code is the work of the emulator's
 * scan, which reports it to the core: this file links nothing.
 */
import { Ids, NumberLinking, pairingCodeMillis } from "@messaging-service/core"
import type { LinkingEvent } from "@messaging-service/core"
import { Clock, Effect, Layer, Stream } from "effect"

const firstQrMillis = 60_000
const nextQrMillis = 20_000

/** How long each QR code of one connection stands. */
const qrMillis: ReadonlyArray<number> = [
  firstQrMillis,
  ...Array.from({ length: 5 }, () => nextQrMillis),
]

export const layerLinking: Layer.Layer<NumberLinking, never, Ids> = Layer.effect(
  NumberLinking,
  Effect.gen(function* () {
    const ids = yield* Ids

    const shownFor = (event: Effect.Effect<LinkingEvent>, millis: number) =>
      Stream.concat(Stream.fromEffect(event), Stream.fromEffectDrain(Effect.sleep(millis)))

    const qrCode = Effect.sync((): LinkingEvent => ({
      _tag: "QrShown",
      // A reference and three keys, as long as the real ones.
      text: `2@${[100, 44, 44, 44].map((length) => ids.alphanumeric(length)).join(",")}`,
    }))

    const pairingCode = Effect.map(Clock.currentTimeMillis, (now): LinkingEvent => ({
      _tag: "PairingCodeShown",
      pairingCode: {
        code: ids.alphanumeric(8).toUpperCase(),
        expiresAt: now + pairingCodeMillis,
      },
    }))

    return NumberLinking.of({
      link: ({ method }) =>
        method === "qr"
          ? Stream.flatMap(Stream.fromIterable(qrMillis), (millis) => shownFor(qrCode, millis))
          : shownFor(pairingCode, pairingCodeMillis),
    })
  }),
)
