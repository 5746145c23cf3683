/** The port that draws QR codes. */
import { Context } from "effect"
import type { Effect } from "effect"

export class QrImages extends Context.Service<
  QrImages,
  {
    /** A PNG whose QR code says exactly that text. */
    png(text: string): Effect.Effect<Uint8Array>
  }
>()("core/QrImages") {}
