/**
 * The store: all that the service keeps, as one service. It holds no rules: those are core's, and
 * limits and times come with each call. The interface of each namespace is with its noun, and
 * each method says there what it promises. Every method keeps these promises:
 *
 * 1. One commit. What a method writes exists as a whole or not at all.
 * 2. Guards hold at that moment. When one no longer holds, the store writes nothing, the answer
 *    names it, and the service loads and decides again.
 * 3. Times come from outside, in epoch milliseconds. The store reads no clock of its own.
 * 4. One failure: `StoreUnavailable`, when the store did not answer. Refusals by rules are values.
 * 5. Ids grow. Lists are newest first by descending id, and pages continue from an id.
 * 6. Leases have numbers. Each claim gets a higher one, and a settlement that names an older one
 *    changes nothing.
 */
import { Context } from "effect"
import type { BrowserSessionStore } from "./BrowserSessionStore.ts"
import type { CampaignStore } from "./CampaignStore.ts"
import type { ChatStore } from "./ChatStore.ts"
import type { ReceivedFileStore } from "./ReceivedFileStore.ts"
import type { SubscriptionStore } from "./SubscriptionStore.ts"
import type { KeyStore } from "../model/Auth.ts"
import type { MediaStore } from "../model/Media.ts"
import type { MessageStore } from "./MessageStore.ts"
import type { ChangeFeedStore } from "./ChangeFeedStore.ts"
import type { FigureStore } from "../model/HourlyFigures.ts"
import type { ServiceFigures } from "./Metrics.ts"
import type { ProcessStore } from "./Processes.ts"
import type { LinkingStore } from "../model/Linking.ts"
import type { NumberStore } from "./NumberStore.ts"
import type { NumberCheckStore } from "./NumberCheckStore.ts"
import type { DueWork } from "./DueWork.ts"
import type { LaneQueue } from "../model/Lane.ts"
import type { ContactStore } from "../model/Recipient.ts"
import type { ReminderStore } from "../model/Reminder.ts"
import type { IdempotencyStore } from "../model/Idempotency.ts"
import type { ClockStore } from "../model/Time.ts"
import type { SessionStore, ShardLeases } from "../model/Shards.ts"
import type { SimulatedPhones } from "./SimulatedPhones.ts"
import type { Version1ListStore } from "./Version1ListStore.ts"
import type { DeliveryQueue, Outbox, WebhookStore } from "./WebhookStore.ts"
import type { CallersTransactions, RestoreStore, ServiceSecrets } from "./SystemStore.ts"
import type { CallbackSalts, ErasureStore, WorkspaceStore } from "./WorkspaceStore.ts"

export class Store
  extends /*#__PURE__*/ Context.Service<
    Store,
    {
      /** Messages and their acceptance, and which `Idempotency-Key` was answered. */
      readonly messages: MessageStore & IdempotencyStore
      /** The lane of each number: claims, leases, settlements, pauses; and what is due when. */
      readonly queue: LaneQueue & DueWork
      /** Numbers, and attempts to link them to phones. */
      readonly numbers: NumberStore & LinkingStore
      /** For live transports: sealed sessions, and which worker holds which numbers. */
      readonly sessions: SessionStore & ShardLeases
      /** Workspaces, and what belongs to one: keys, contacts, its callbacks' salt. */
      readonly workspaces: WorkspaceStore & KeyStore & ContactStore & CallbackSalts
      /** Webhook endpoints, deliveries to them and to callbacks, the outbox of events, and who has read it. */
      readonly webhooks: WebhookStore & DeliveryQueue & Outbox & SubscriptionStore
      /** The directory of files and the room that they take; not the bytes. */
      readonly media: MediaStore
      readonly numberChecks: NumberCheckStore
      readonly reminders: ReminderStore
      readonly campaigns: CampaignStore
      /** Conversations: what a workspace hears, and under which settings. */
      readonly chats: ChatStore
      /** Files of received messages. */
      readonly receivedFiles: ReceivedFileStore
      /** Signed-in browsers of the dashboard, and the links that sign one in. */
      readonly browserSessions: BrowserSessionStore
      /** What open pages learn of. */
      readonly news: ChangeFeedStore
      /** What happened in workspaces, counted by hour. */
      readonly figures: FigureStore
      /** Lists of version 1, by offset. */
      readonly version1Lists: Version1ListStore
      /** The remote server of simulated phones; live transports call none of it. */
      readonly phones: SimulatedPhones
      /** The service as a whole: clock, secrets, figures, processes, restores, erasure, callers' transactions. */
      readonly system: ClockStore &
        ServiceSecrets &
        ServiceFigures &
        ProcessStore &
        RestoreStore &
        ErasureStore &
        CallersTransactions
    }
  >()("core/Store") {}
