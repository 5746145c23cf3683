/** Everything that a database of this version holds. */
import { takeOverCallbacks } from "../callback/writeCallbacks.ts"
import { setNumberStatus } from "../number/setNumberStatus.ts"
import { admitRequests } from "../key/admitRequests.ts"
import { acceptMessages } from "../message/acceptMessages.ts"
import { addLinking, reconnectLinking } from "../linking/beginLinking.ts"
import { finishLinking, giveUpLinking } from "../linking/endLinking.ts"
import { attachFile } from "../media/attachFile.ts"
import { commitFile } from "../media/commitFile.ts"
import { leftOverFiles } from "../media/leftOverFiles.ts"
import { reserveFile } from "../media/reserveFile.ts"
import { endMessages } from "../message/endMessages.ts"
import { insertRefusedMessage } from "../message/insertRefused.ts"
import { loadAcceptanceFunctions } from "../message/loadAcceptance.ts"
import { messageIdAt } from "../message/messageIdAt.ts"
import { countPlanned, quotaFullUntil, quotaRoomAt } from "../message/quota.ts"
import { answerCheck } from "../numberCheck/settleCheck.ts"
import { claimChecks } from "../numberCheck/claimChecks.ts"
import { insertCheck } from "../numberCheck/insertCheck.ts"
import { removeLanes, removeNumber } from "../number/removeLanes.ts"
import { claimLanes } from "../queue/claimLanes.ts"
import { settleAttempts } from "../queue/settleAttempts.ts"
import { finishClaim, holdClaim } from "../request/finishClaim.ts"
import { insertReminder } from "../reminder/insertReminder.ts"
import { runReminder } from "../reminder/runReminder.ts"
import type { SqlFunction } from "../database/SqlFunction.ts"
import { callbackPlaces, dueCallbackLanes } from "../webhook/callbackShare.ts"
import { endEndpointFunctions } from "../webhook/endEndpoints.ts"
import { insertEndpoint, resumeEndpoint } from "../webhook/openEndpoint.ts"
import { queueDeliveryFunctions } from "../webhook/queueDelivery.ts"
import { settleAndClaimDeliveries } from "../webhook/settleAndClaimDeliveries.ts"
import { revokeKey } from "../key/revokeKey.ts"
import { deleteWorkspace } from "../workspace/deleteWorkspace.ts"
import { initial } from "./0001_initial.ts"
import { webhooks } from "./0002_webhooks.ts"
import { reminders } from "./0003_reminders.ts"
import { media } from "./0004_media.ts"
import { numberChecks } from "./0005_number_checks.ts"
import { linking } from "./0006_linking.ts"
import { version1 } from "./0007_version_1.ts"
import { shares } from "./0008_shares.ts"
import { lists } from "./0009_lists.ts"
import { sealedSecrets } from "./0010_sealed_secrets.ts"
import { departures } from "./0011_departures.ts"
import { settledLater } from "./0012_settled_later.ts"
import { attachmentBytes } from "./0013_attachment_bytes.ts"
import { keylessEndpoints } from "./0014_keyless_endpoints.ts"
import { callbackLanes } from "./0015_callback_lanes.ts"
import type { Migration } from "./migrate.ts"

/** In their order. A migration that has been released never changes; a new one follows. */
export const migrations: ReadonlyArray<Migration> = [
  initial,
  webhooks,
  reminders,
  media,
  numberChecks,
  linking,
  version1,
  shares,
  lists,
  sealedSecrets,
  departures,
  settledLater,
  attachmentBytes,
  keylessEndpoints,
  callbackLanes,
]

export const functions: ReadonlyArray<SqlFunction> = [
  countPlanned,
  quotaRoomAt,
  quotaFullUntil,
  acceptMessages,
  ...loadAcceptanceFunctions,
  admitRequests,
  claimLanes,
  settleAttempts,
  endMessages,
  insertRefusedMessage,
  messageIdAt,
  removeLanes,
  removeNumber,
  setNumberStatus,
  addLinking,
  reconnectLinking,
  finishLinking,
  giveUpLinking,
  ...endEndpointFunctions,
  deleteWorkspace,
  revokeKey,
  holdClaim,
  finishClaim,
  insertEndpoint,
  resumeEndpoint,
  ...queueDeliveryFunctions,
  takeOverCallbacks,
  dueCallbackLanes,
  callbackPlaces,
  settleAndClaimDeliveries,
  reserveFile,
  attachFile,
  commitFile,
  leftOverFiles,
  insertCheck,
  claimChecks,
  answerCheck,
  insertReminder,
  runReminder,
]
