/** `QrImages` by the `qrcode` package. */
import { QrImages } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { toBuffer } from "qrcode"

/** Pixels across one module, and the quiet zone around the code in modules. */
const scale = 8
const margin = 4

export const layerQrCodeImages: Layer.Layer<QrImages> = Layer.succeed(QrImages, {
  png: (text) =>
    Effect.promise(() =>
      toBuffer(text, { type: "png", errorCorrectionLevel: "M", scale, margin }),
    ).pipe(Effect.withSpan("QrImages.png")),
})
