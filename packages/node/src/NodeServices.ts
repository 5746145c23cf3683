/**
 * Small services of the core on Node and its packages: unguessable ids, HMAC by the system's library,
 * the system's time whatever clock the service runs on, and QR codes.
 */
import { HmacSha256, Ids, QrImages, RealTime, fromIndexes } from "@messaging-service/core"
import { Clock, Duration, Effect, Layer } from "effect"
import { createHmac, randomFillSync } from "node:crypto"

/** Draws from a pool, because a call per symbol would cost more than the rest of an id. */
const poolBytes = 4096

/** The values of a byte. */
const byteValues = 256

/**
 * A source of uniform integers in `[0, bound)` for bounds of 1 to 256, from random bytes by `fill`. It
 * discards the uneven rest, so every value is equally likely.
 */
export const uniformIndexes = (fill: (pool: Uint8Array) => void): ((bound: number) => number) => {
  const pool = new Uint8Array(poolBytes)
  let used = poolBytes
  const uniformIndex = (bound: number): number => {
    // The largest multiple of `bound` within bytes: beyond it some remainders would be more frequent.
    const usable = byteValues - (byteValues % bound)
    for (;;) {
      if (used === poolBytes) {
        fill(pool)
        used = 0
      }
      const byte = pool[used++] ?? byteValues
      if (byte < usable) return byte % bound
    }
  }
  return uniformIndex
}

/** Unguessable ids. */
export const layerCryptoIds: Layer.Layer<Ids> = Layer.sync(Ids, () =>
  Ids.of(fromIndexes(uniformIndexes(randomFillSync))),
)

const nativeHmac = (key: string, text: string): string =>
  createHmac("sha256", key).update(text).digest("hex")

/** Several times as fast as the portable one. */
export const layerNativeHmac: Layer.Layer<never> = Layer.succeed(HmacSha256, nativeHmac)

/** Effect's default clock. */
export const systemClock: Clock.Clock = Clock.Clock.defaultValue()

/** Interval of the checks for a clock jump, and the milliseconds that count as one. */
const clockJumpCheckMillis = 5000
const leapMillis = 1000

/** How far the clock is ahead of the steady one, which stops while the machine is paused. */
const lead = (): number => Date.now() - performance.now()

/** See `RealTime`. */
export const untilLeaptOver = (
  sleep: (duration: Duration.Input) => Effect.Effect<void>,
  readLead: () => number = lead,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    let min = readLead()
    const check = Effect.map(sleep(clockJumpCheckMillis), () => {
      const found = readLead()
      // A clock set back makes no sleep too long, and may be corrected again.
      min = Math.min(min, found)
      return found - min >= leapMillis
    })
    return Effect.asVoid(Effect.repeat(check, { until: (leapt) => leapt }))
  })

const sleepOnSystemClock = (duration: Duration.Input): Effect.Effect<void> =>
  systemClock.sleep(Duration.fromInputUnsafe(duration))

/** Real time is the system's, even where an adjustable clock replaces `Clock`. */
export const realTimeLayer: Layer.Layer<never> = Layer.succeed(RealTime, {
  sleep: sleepOnSystemClock,
  // The steady clock stops while a machine is suspended; the other one may be set back.
  stopwatch: Effect.sync(() => {
    const [wall, steady] = [Date.now(), performance.now()]
    return () => Math.max(Date.now() - wall, performance.now() - steady)
  }),
  clockJumped: untilLeaptOver(sleepOnSystemClock),
  systemMillis: Effect.sync(Date.now),
})

/** Pixels across one module, and the quiet zone around the code in modules. */
const scale = 8
const margin = 4

/** Loads with the first picture: most programs show none. */
const loadQrCode = () => import("qrcode")

export const layerQrCodeImages: Layer.Layer<QrImages> = Layer.succeed(QrImages, {
  png: (text) =>
    Effect.promise(async () => {
      const { toBuffer } = await loadQrCode()
      return toBuffer(text, { type: "png", errorCorrectionLevel: "M", scale, margin })
    }).pipe(Effect.withSpan("QrImages.png")),
})

/** Dark on light, whatever the terminal's colours: not every phone reads the reverse. */
const [darkOnLight, ownColours] = ["\u001b[30;107m", "\u001b[0m"]

/** A QR code for a terminal, in lines of half blocks. */
export const qrCodeForTerminal = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(async () => {
      const { toString } = await loadQrCode()
      return toString(text, { type: "utf8", errorCorrectionLevel: "L", margin: 2 })
    }),
    (code) =>
      code
        .split("\n")
        .map((line) => `${darkOnLight}${line}${ownColours}\n`)
        .join(""),
  )
