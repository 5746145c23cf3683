/**
 * The service over a store, without the worker's loops: the composition that the apps make, with
 * numbers behind a transport that accepts at once and sends nothing.
 */
import {
  Egress,
  NumberOwnership,
  OutgoingMediaSource,
  SecretsKey,
  TelegramTransport,
  WakeUp,
  WhatsAppTransport,
  layerServices,
} from "@messaging-service/core"
import type { OutgoingMessage, Transport } from "@messaging-service/core"
import {
  layerCryptoIds,
  layerDiskMediaFiles,
  layerNativeHmac,
  layerQrCodeImages,
} from "@messaging-service/node"
import { Effect, Layer } from "effect"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A transport that accepts at once, and calls `observed` for each message. */
const layerNoTransport = (observed: (message: OutgoingMessage) => void) => {
  const transport: Transport = {
    dropsCopies: true,
    send: (message) =>
      Effect.sync(() => {
        observed(message)
        return { _tag: "Accepted" } as const
      }),
    listen: () => Effect.never,
  }
  return Layer.merge(
    Layer.succeed(WhatsAppTransport, transport),
    Layer.succeed(TelegramTransport, transport),
  )
}

/** Of all processes of the benchmarks. */
export const secretsKey = "5e".repeat(32)

/** Says when messages are accepted: every commit of an acceptance is followed by its wake. */
export const noticingAcceptance = <E>(wakeUp: Layer.Layer<WakeUp, E>, accepted: () => void) =>
  Layer.effect(
    WakeUp,
    Effect.map(WakeUp, (inner) =>
      WakeUp.of({
        ...inner,
        wake: (work) =>
          Effect.suspend(() => {
            if (work === "lanes") accepted()
            return inner.wake(work)
          }),
      }),
    ),
  ).pipe(Layer.provide(wakeUp))

/**
 * Everything but the store and how loops are woken: both come from the caller. `egress`: the way
 * out to customers' addresses.
 */
export const layerService = (
  observed: (message: OutgoingMessage) => void = () => undefined,
  egress: Layer.Layer<Egress> = Egress.layerClosed,
) =>
  OutgoingMediaSource.layer.pipe(
    Layer.provideMerge(layerServices),
    Layer.provideMerge(
      Layer.mergeAll(
        layerNoTransport(observed),
        egress,
        NumberOwnership.layerAll,
        layerQrCodeImages,
        layerDiskMediaFiles({ directory: join(tmpdir(), "messaging-service-bench") }),
      ),
    ),
    Layer.provideMerge(SecretsKey.layerHex(secretsKey)),
    Layer.provideMerge(Layer.merge(layerCryptoIds, layerNativeHmac)),
  )
