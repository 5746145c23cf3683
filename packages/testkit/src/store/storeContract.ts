/**
 * The contract of all stores: one suite over the `Store`. A store's own tests
 * call `storeContract` with a layer of an empty store; every test creates its own workspaces in it.
 */
import { beforeAll, describe, layer } from "@effect/vitest"
import type { Store } from "@messaging-service/core"
import type { Layer } from "effect"
import { attachmentRaces } from "./contract/attachments.ts"
import { accepting } from "./contract/acceptance.ts"
import { allowance } from "./contract/allowance.ts"
import { browserSessions } from "./contract/browserSessions.ts"
import { subscriptions } from "./contract/subscriptions.ts"
import { campaigning } from "./contract/campaigning.ts"
import { campaignRows } from "./contract/campaignRows.ts"
import { choices } from "./contract/choices.ts"
import { erasure } from "./contract/erasure.ts"
import { callbacks } from "./contract/callbacks.ts"
import { connectionCallbacks } from "./contract/connectionCallbacks.ts"
import { deliveries } from "./contract/deliveries.ts"
import { deliveryLanes } from "./contract/deliveryLanes.ts"
import { deliveryBodies } from "./contract/deliveryBodies.ts"
import { deliveryShares } from "./contract/deliveryShares.ts"
import { deliveryLog } from "./contract/deliveryLog.ts"
import { departures } from "./contract/departures.ts"
import { disabledWorkspaces } from "./contract/disabledWorkspaces.ts"
import { contacts } from "./contract/directory.ts"
import { ending } from "./contract/ending.ts"
import { acceptanceFacts } from "./contract/facts.ts"
import { figures } from "./contract/figures.ts"
import { hourlyFigures } from "./contract/hourlyFigures.ts"
import { idempotency } from "./contract/idempotency.ts"
import { keys } from "./contract/keys.ts"
import { keysV1 } from "./contract/keysV1.ts"
import { lanes } from "./contract/lanes.ts"
import { leases } from "./contract/leases.ts"
import { turns } from "./contract/turns.ts"
import { linking } from "./contract/linking.ts"
import { linkingEnds } from "./contract/linkingEnds.ts"
import { lists } from "./contract/lists.ts"
import { media, mediaRaces } from "./contract/media.ts"
import { messagePhones } from "./contract/messagePhones.ts"
import { numberCheckRaces } from "./contract/numberChecks.ts"
import { numberCheckWork } from "./contract/numberCheckWork.ts"
import { news } from "./contract/changeFeed.ts"
import { numbers } from "./contract/numbers.ts"
import { version1Lists } from "./contract/version1Lists.ts"
import { outbox } from "./contract/outbox.ts"
import { quota } from "./contract/quota.ts"
import { connections } from "./contract/connections.ts"
import { pacing } from "./contract/pacing.ts"
import { pauses } from "./contract/pauses.ts"
import { reminderRaces } from "./contract/reminderRuns.ts"
import { refusedMessages } from "./contract/refused.ts"
import { acceptanceRaces } from "./contract/racesOfAcceptance.ts"
import { callbackRaces } from "./contract/racesOfCallbacks.ts"
import { deliveryRaces } from "./contract/racesOfDeliveries.ts"
import { endingRaces } from "./contract/racesOfEnding.ts"
import { restores } from "./contract/restores.ts"
import { sendingRaces } from "./contract/racesOfSending.ts"
import { workerRaces } from "./contract/racesOfWorkers.ts"
import { clock, secrets } from "./contract/service.ts"
import { sessionFences } from "./contract/sessionFences.ts"
import { sessions } from "./contract/sessions.ts"
import { simulatedPhones } from "./contract/simulatedPhones.ts"
import { storms } from "./contract/storms.ts"
import { orphaned } from "./contract/orphaned.ts"
import { testMessages } from "./contract/testMessages.ts"
import { conversations } from "./contract/conversations.ts"
import { answers } from "./contract/answers.ts"
import { entriesOfChats } from "./contract/entries.ts"
import { readMarks } from "./contract/readMarks.ts"
import { receivedFiles } from "./contract/receivedFiles.ts"
import { newChats } from "./contract/newChats.ts"
import { receiving } from "./contract/receiving.ts"
import { missing } from "./contract/missing.ts"
import { changes } from "./contract/changes.ts"
import { restrictions } from "./contract/restrictions.ts"
import { ticks } from "./contract/ticks.ts"
import { timelines } from "./contract/timelines.ts"
import { webhooks } from "./contract/webhooks.ts"
import { workspaces } from "./contract/workspaces.ts"
import { workStatus } from "./contract/dueWork.ts"
import type { StoreContractOptions, Topic } from "./Topic.ts"
import { anotherStore } from "./Records.ts"

/** In the order in which they run: an empty store's answer comes first. */
const topics = {
  workspaces,
  keys,
  "keys of version 1": keysV1,
  numbers,
  linking,
  "ends of linking": linkingEnds,
  contacts,
  media,
  "work on number checks": numberCheckWork,
  "facts of an acceptance": acceptanceFacts,
  acceptance: accepting,
  idempotency,
  allowance,
  quota,
  "refused messages": refusedMessages,
  lanes,
  leases,
  turns,
  departures,
  pacing,
  pauses,
  "disabled workspaces": disabledWorkspaces,
  "connections of numbers": connections,
  ending,
  "test messages": testMessages,
  orphaned,
  ticks,
  conversations,
  receiving,
  "new chats": newChats,
  changes,
  missing,
  answers,
  "read marks": readMarks,
  "received files": receivedFiles,
  "entries of chats": entriesOfChats,
  "restrictions of numbers": restrictions,
  timelines,
  lists,
  choices,
  "phones of messages": messagePhones,
  outbox,
  webhooks,
  deliveries,
  "lanes of deliveries": deliveryLanes,
  "shares of deliveries": deliveryShares,
  "delivery log": deliveryLog,
  "delivery bodies": deliveryBodies,
  erasure,
  callbacks,
  "callbacks of connections": connectionCallbacks,
  "lists by offset": version1Lists,
  "what is due": workStatus,
  figures,
  "figures by hour": hourlyFigures,
  "rows of campaigns": campaignRows,
  campaigns: campaigning,
  "simulated phones": simulatedPhones,
  clock,
  secrets,
  sessions,
  "fences of sessions": sessionFences,
  "browser sessions": browserSessions,
  subscriptions,
  news,
  "races of media": mediaRaces,
  "races of attachments": attachmentRaces,
  "races of number checks": numberCheckRaces,
  "races of acceptance": acceptanceRaces,
  "races of sending": sendingRaces,
  "races of workers": workerRaces,
  "races of ending": endingRaces,
  "races of deliveries": deliveryRaces,
  "races of callbacks": callbackRaces,
  "races of reminders": reminderRaces,
  storms,
  // Holds all that waits in the store.
  restores,
} satisfies Readonly<Record<string, Topic>>

export type StoreTopic = keyof typeof topics

/** In the order in which they run. */
export const storeTopics = Object.keys(topics) as ReadonlyArray<StoreTopic>

/**
 * Declares the suite under `name`. The layer is built once and must be of an unused store; the
 * clock is the real one, because every time is passed in.
 */
export const storeContract = (
  name: string,
  stores: Layer.Layer<Store, unknown>,
  {
    only = storeTopics,
    ...options
  }: StoreContractOptions & {
    /** Some topics, while a store is being written. Default all. */
    readonly only?: ReadonlyArray<StoreTopic>
  } = {},
): void => {
  const settled = { parallel: true, quick: false, ...options }
  layer(stores, { excludeTestServices: true })(name, (it) => {
    beforeAll(anotherStore)
    for (const topic of only) describe(topic, () => topics[topic](it, settled))
  })
}
