/**
 * The store in memory, over one set of tables that lives as long as the layer: for tests,
 * simulations, and embedders without a database. Nothing survives the process, and no other process
 * sees it.
 */
import { noCallersTransactions, Store } from "@messaging-service/core"
import { Effect, Layer, Record } from "effect"
import { browserSessionStore } from "./browserSessions.ts"
import { entrySteps } from "./entries.ts"
import { figureStore } from "./figures.ts"
import { contactStore, erasureStore, keyStore, restoreStore, workspaceStore } from "./workspaces.ts"
import { callbackSalts, deliveryQueue, webhookStore } from "./webhooks.ts"
import { idempotencyStore, Tables } from "./tables.ts"
import { laneQueue } from "./laneQueue.ts"
import { linkingStore, numberStore } from "./numbers.ts"
import { mediaStore } from "./media.ts"
import { messageStore, version1ListStore } from "./messages.ts"
import { changeFeedStore } from "./changeFeed.ts"
import { numberCheckStore } from "./numberChecks.ts"
import { campaignStore } from "./campaigns.ts"
import { chatStore } from "./chats.ts"
import { receivingSteps } from "./receive.ts"
import { receivedFileStore } from "./receivedFiles.ts"
import { reminderStore } from "./reminders.ts"
import { dueWork, processStore, serviceFigures } from "./service.ts"
import { clockStore, outbox, subscriptionStore, serviceSecrets } from "./serviceStores.ts"
import { sessionStore, shardLeases } from "./sessions.ts"
import { readMarkSteps } from "./readMarks.ts"
import { simulatedPhones } from "./simulatedPhones.ts"
import type { Steps } from "./collections.ts"

type Operation = (...input: ReadonlyArray<never>) => unknown

const asEffect =
  (operation: Operation) =>
  (...input: ReadonlyArray<never>) =>
    Effect.suspend(() => {
      const answer = operation(...input)
      return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
    })

/** A service with these operations; each runs when its effect does. */
const operations = <Service extends object>(steps: Steps<Service>): Service =>
  Record.map(steps as Readonly<Record<string, Operation>>, (operation) =>
    Effect.isEffect(operation) ? operation : asEffect(operation),
  ) as Service

type Namespaces = typeof Store.Service

/** The whole store over those tables. */
export const memoryStore = (tables: Tables): Namespaces => {
  const namespaces: { readonly [Name in keyof Namespaces]: Steps<Namespaces[Name]> } = {
    messages: { ...messageStore(tables), ...idempotencyStore(tables) },
    queue: { ...laneQueue(tables), ...dueWork(tables) },
    numbers: { ...numberStore(tables), ...linkingStore(tables) },
    sessions: { ...sessionStore(tables), ...shardLeases(tables) },
    workspaces: {
      ...workspaceStore(tables),
      ...keyStore(tables),
      ...contactStore(tables),
      ...callbackSalts(tables),
    },
    webhooks: {
      ...webhookStore(tables),
      ...deliveryQueue(tables),
      ...outbox(tables),
      ...subscriptionStore(tables),
    },
    media: mediaStore(tables),
    numberChecks: numberCheckStore(tables),
    reminders: reminderStore(tables),
    campaigns: campaignStore(tables),
    chats: {
      ...chatStore(tables),
      ...entrySteps(tables),
      ...readMarkSteps(tables),
      ...receivingSteps(tables),
    },
    receivedFiles: receivedFileStore(tables),
    browserSessions: browserSessionStore(tables),
    news: changeFeedStore(tables),
    figures: figureStore(tables),
    version1Lists: version1ListStore(tables),
    phones: simulatedPhones(tables),
    system: {
      ...clockStore(tables),
      ...serviceSecrets(tables),
      ...serviceFigures(tables),
      ...processStore(tables),
      ...restoreStore(tables),
      ...erasureStore(tables),
      ...noCallersTransactions,
    },
  }
  return Record.map(
    namespaces as Record<string, Steps<object>>,
    operations,
  ) as unknown as Namespaces
}

/** An empty store, a new one for each build of the layer. */
export const layer: Layer.Layer<Store> = Layer.sync(Store, () => memoryStore(new Tables()))
