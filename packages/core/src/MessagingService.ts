/**
 * The core put together: every service over the ports. An embedder provides a store, a transport, a
 * way out, media files and ids, and has the whole service inside its own process.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { BrowserSessions } from "./service/BrowserSessions.ts"
import { PortalLinks } from "./service/PortalLinks.ts"
import { CampaignFiles } from "./service/CampaignFiles.ts"
import { layerCampaigns } from "./service/layerCampaigns.ts"
import { CallbackSecrets, CallbackUrls } from "./service/CallbackSettings.ts"
import { refuse } from "./model/Refusal.ts"
import type { Failure } from "./model/Refusal.ts"
import { EventFeed, EventSignal } from "./service/EventFeed.ts"
import { Chats } from "./service/Chats.ts"
import { Conversations } from "./service/Conversations.ts"
import { WorkspaceChangeFeed } from "./service/ChangeFeed.ts"
import { Admission, Keys } from "./service/Keys.ts"
import { MediaLinks } from "./model/Media.ts"
import { Attachments, MediaDirectory } from "./service/MediaDirectory.ts"
import { MessageOperations } from "./service/MessageOperations.ts"
import { Messages } from "./service/Messages.ts"
import { Readiness, WorkGate } from "./service/Readiness.ts"
import { layerCountedStore } from "./service/Settlements.ts"
import { WorkspaceFigures } from "./service/WorkspaceFigures.ts"
import { Connections, QrLinks } from "./service/Connections.ts"
import {
  ConnectedFromTheStart,
  newNumber,
  NumberBody,
  NumberOperations,
  Numbers,
  TelegramLogins,
} from "./service/Numbers.ts"
import { StartingPacing } from "./model/Pacing.ts"
import { platforms } from "./model/SendingNumber.ts"
import { NumberChecks } from "./service/NumberChecks.ts"
import { WakeUp } from "./store/DueWork.ts"
import { Contacts } from "./service/Contacts.ts"
import { Reminders } from "./service/Reminders.ts"
import { inputDecoder } from "./model/Input.ts"
import type { CommandOf } from "./model/Input.ts"
import { Restoration } from "./service/Restoration.ts"
import { layerWatchedStore } from "./service/StoreWatch.ts"
import { layerStoredSecrets } from "./service/layerStoredSecrets.ts"
import { layerClockWatch } from "./service/ClockSkew.ts"
import { Version1Lists } from "./service/Version1Lists.ts"
import { SigningSecrets } from "./model/WebhookEndpoint.ts"
import { WebhookOperations, Webhooks } from "./service/Webhooks.ts"
import { OutgoingMediaSource } from "./worker/Dispatcher.ts"
import { Housekeeping } from "./worker/Housekeeper.ts"
import { IdleMonitor, Worker } from "./worker/Worker.ts"
import type { Workspace } from "./model/Workspace.ts"
import { newWorkspace, WorkspaceBody, Workspaces } from "./service/Workspaces.ts"
import type { RequestedNumber } from "./store/WorkspaceStore.ts"
import { Store } from "./store/Store.ts"

// The workspace of a name, made if there is none, with the numbers that it needs: for programs that
// run the service and say at every start what they need, in several processes at once too. Everything is
// looked at before anything is made, and the store does it in one step.

const EnsureBody = Schema.Struct({
  ...WorkspaceBody.fields,
  numbers: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        ...NumberBody.fields,
        platform: Schema.optionalKey(Schema.Literals(platforms)),
      }),
    ),
  ),
})

/** A workspace that is to be there, and the numbers that it is to have; those of WhatsApp unless they say otherwise. */
export type EnsureWorkspace = CommandOf<typeof EnsureBody.Encoded>

const decode = inputDecoder(EnsureBody, { codes: ["invalid_phone"] })

export class EnsuredWorkspaces extends Context.Service<
  EnsuredWorkspaces,
  {
    /**
     * The oldest workspace of that name; when there is none, one is made as the command says. A number
     * that it does not have yet (by platform and phone) is added; others, and whatever else the
     * workspace is by now, stay as they are. Concurrent calls make one workspace. Fails as
     * `Workspaces.create` and `Numbers.create` do, with the number in the field (`numbers[1].phone`),
     * and makes nothing then.
     */
    ensure(
      command: EnsureWorkspace,
    ): Effect.Effect<
      Workspace,
      Failure<"validation_failed" | "invalid_phone" | "number_limit_reached">
    >
  }
>()("core/EnsuredWorkspaces") {
  static readonly layer = Layer.effect(
    EnsuredWorkspaces,
    Effect.gen(function* make() {
      const store = (yield* Store).workspaces
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const startingPacing = yield* StartingPacing

      return EnsuredWorkspaces.of({
        ensure: Effect.fn("EnsuredWorkspaces.ensure")(function* ensure(command) {
          const { numbers = [], ...input } = yield* Effect.fromResult(decode(command))
          const createdAt = yield* Clock.currentTimeMillis
          const requested: Array<RequestedNumber> = []
          for (const [index, { platform = "whatsapp", ...number }] of numbers.entries()) {
            const field = `numbers[${index}].status`
            requested.push({
              number: yield* Effect.fromResult(
                newNumber({ ...number, platform }, { connectedFromTheStart, createdAt }, field),
              ),
              pacing: startingPacing[platform],
            })
          }
          const { admits, workspace } = newWorkspace(input, createdAt)
          const ensured = yield* store.ensure(workspace, admits, requested)
          return ensured ?? (yield* refuse("number_limit_reached", { field: "numbers" }))
        }),
      })
    }),
  )
}

/**
 * Wakes the delivery loop when a commit of this process has queued deliveries. It runs with the
 * services and not in the loop, because a process without a worker makes events too.
 */
const layerWaking = Layer.effectDiscard(
  Effect.gen(function* () {
    const { wake } = yield* WakeUp
    yield* (yield* Store).webhooks.whenQueued(wake("deliveries"))
  }),
)

/** What callers use: admission, messages, and the operator's services. */
export const layerServices = Layer.mergeAll(
  BrowserSessions.layer,
  PortalLinks.layer,
  MessageOperations.layer,
  Chats.layer,
  Conversations.layer,
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
  CampaignFiles.layer,
  layerCampaigns,
  Reminders.layer,
  Restoration.layer,
  Version1Lists.layer,
  Layer.provideMerge(WorkspaceChangeFeed.layer, EventFeed.layer),
  EnsuredWorkspaces.layer,
  WorkspaceFigures.layer,
  IdleMonitor.layer,
).pipe(
  Layer.provideMerge(Layer.mergeAll(Admission.layer, Messages.layer)),
  Layer.provideMerge(Numbers.layer),
  Layer.provideMerge(Workspaces.layer),
  Layer.provideMerge(
    Layer.mergeAll(MediaLinks.layer, QrLinks.layer, SigningSecrets.layer, CallbackUrls.layer),
  ),
  Layer.provideMerge(layerStoredSecrets),
  // The worker's loops find the counted store here too.
  Layer.provideMerge(layerCountedStore),
  Layer.provideMerge(layerWatchedStore),
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
