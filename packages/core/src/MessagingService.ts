/**
 * The core put together: every service over the ports. An embedder provides a store, a transport, a
 * way out, media files and ids, and has the whole service inside its own process.
 */
import { Effect, Layer } from "effect"
import { CallbackSecrets } from "./callback/CallbackSecrets.ts"
import { CallbackUrls } from "./callback/CallbackUrls.ts"
import { Contacts } from "./recipient/Contacts.ts"
import { EventFeed, EventSignal } from "./event/EventFeed.ts"
import { Admission } from "./key/Admission.ts"
import { Keys } from "./key/Keys.ts"
import { Attachments } from "./media/Attachments.ts"
import { MediaDirectory } from "./media/MediaDirectory.ts"
import { MediaLinks } from "./media/MediaLinks.ts"
import { OutgoingMediaSource } from "./media/OutgoingMediaSource.ts"
import { MessageOperations } from "./message/MessageOperations.ts"
import { Messages } from "./message/Messages.ts"
import { layerCountedStores } from "./monitoring/countedStores.ts"
import { Readiness } from "./monitoring/Readiness.ts"
import { Connections } from "./number/Connections.ts"
import { NumberOperations } from "./number/NumberOperations.ts"
import { TelegramLogins } from "./number/TelegramLogins.ts"
import { Numbers } from "./number/Numbers.ts"
import { QrLinks } from "./number/QrLinks.ts"
import { NumberChecks } from "./numberCheck/NumberChecks.ts"
import { Reminders } from "./reminder/Reminders.ts"
import { DeliveryQueue } from "./queue/DeliveryQueue.ts"
import { WakeUp } from "./queue/WakeUp.ts"
import { Restoration } from "./restore/Restoration.ts"
import { layerWatchedStores } from "./restore/StoreWatch.ts"
import { Secrets } from "./secret/Secrets.ts"
import { Version1Lists } from "./Version1Lists.ts"
import { layerClockWatch } from "./time/ClockSkew.ts"
import { SigningSecrets } from "./webhook/signature.ts"
import { WebhookOperations, Webhooks } from "./webhook/Webhooks.ts"
import { Housekeeping } from "./worker/Housekeeper.ts"
import { Settled } from "./worker/Settled.ts"
import { WorkGate } from "./worker/WorkGate.ts"
import { Worker } from "./worker/Worker.ts"
import { EnsuredWorkspaces } from "./workspace/EnsuredWorkspaces.ts"
import { Workspaces } from "./workspace/Workspaces.ts"

/**
 * Wakes the delivery loop when a commit of this process has queued deliveries. It runs beside the
 * services and not in the loop, because a process without a worker makes events too.
 */
const layerWaking = Layer.effectDiscard(
  Effect.gen(function* () {
    const { wake } = yield* WakeUp
    yield* (yield* DeliveryQueue).whenQueued(wake("deliveries"))
  }),
)

/** What callers use: admission, messages, and the operator's services. */
export const layerServices = Layer.mergeAll(
  Admission.layer,
  MessageOperations.layer,
  Keys.layer,
  NumberOperations.layer,
  TelegramLogins.layer,
  Connections.layer,
  Contacts.layer,
  Webhooks.layer,
  WebhookOperations.layer,
  layerWaking,
  Housekeeping.layer,
  CallbackSecrets.layer,
  MediaDirectory.layer,
  Attachments.layer,
  NumberChecks.layer,
  Reminders.layer,
  Restoration.layer,
  Version1Lists.layer,
  EventFeed.layer,
  EnsuredWorkspaces.layer,
  Settled.layer,
).pipe(
  Layer.provideMerge(Messages.layer),
  Layer.provideMerge(Numbers.layer),
  Layer.provideMerge(Workspaces.layer),
  Layer.provideMerge(
    Layer.mergeAll(MediaLinks.layer, QrLinks.layer, SigningSecrets.layer, CallbackUrls.layer),
  ),
  Layer.provideMerge(Secrets.layer),
  // The worker's loops find the counted stores here too.
  Layer.provideMerge(layerCountedStores),
  Layer.provideMerge(layerWatchedStores),
  Layer.provideMerge(EventSignal.layer),
  Layer.provideMerge(layerClockWatch),
  Layer.provideMerge(WorkGate.layer),
  Layer.provideMerge(Readiness.layer),
)

/** The worker's loops, over the services. */
export const layerWorker = Worker.layer.pipe(Layer.provide(OutgoingMediaSource.layer))

/** The whole service in one process: the services, and the worker's loops running. */
export const layer = Worker.layerRunning.pipe(
  Layer.provideMerge(layerWorker),
  Layer.provideMerge(layerServices),
)
