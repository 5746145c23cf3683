/** Everything that a database of this version holds. */
import type { SqlFunction } from "../database/Statement.ts"
import { admitRequests } from "../key/admitRequests.ts"
import { revokeKey } from "../key/PostgresKeys.ts"
import { addLinking, reconnectLinking } from "../linking/beginLinking.ts"
import { finishLinking, giveUpLinking } from "../linking/endLinking.ts"
import { attachFile, commitFile, reserveFile } from "../media/incomingFiles.ts"
import { leftOverFiles } from "../media/PostgresMedia.ts"
import { acceptMessages } from "../message/acceptMessages.ts"
import { finishArrivals } from "../message/arrivals.ts"
import { endMessages, insertRefusedMessage } from "../message/endMessages.ts"
import { loadAcceptance } from "../message/loadAcceptance.ts"
import { messageIdAt } from "../message/listMessages.ts"
import { countPlanned, quotaRoomAt } from "../message/quota.ts"
import { removeLanes, removeNumber, setNumberStatus } from "../number/PostgresNumbers.ts"
import { answerCheck, claimChecks } from "../numberCheck/claimChecks.ts"
import { insertCheck } from "../numberCheck/PostgresNumberChecks.ts"
import { claimLanes, laneLimit } from "../queue/claimLanes.ts"
import { controlLane } from "../queue/controlLane.ts"
import { settleAttempts } from "../queue/settleAttempts.ts"
import { insertReminder, runReminder } from "../reminder/PostgresReminders.ts"
import { beginEpoch } from "../restore/beginEpoch.ts"
import { releaseHeld } from "../restore/PostgresRestore.ts"
import { claimKey, finishClaim, holdClaim } from "../PostgresIdempotency.ts"
import { endpointFunctions } from "../webhook/changeEndpoints.ts"
import { callbackPlaces, dueCallbackLanes } from "../webhook/claimShares.ts"
import { takeOverCallbacks } from "../webhook/queueDeliveries.ts"
import { settleAndClaimDeliveries } from "../webhook/settleAndClaimDeliveries.ts"
import { erasureFunctions } from "../workspace/PostgresErasure.ts"
import { deleteWorkspace } from "../workspace/PostgresWorkspaces.ts"
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
import { completedChecks } from "./0016_completed_checks.ts"
import { numbersOfWorkspace } from "./0017_numbers_of_workspace.ts"
import { sessions } from "./0018_sessions.ts"
import { leavingDevices } from "./0019_leaving_devices.ts"
import { shards } from "./0020_shards.ts"
import { pacing } from "./0021_pacing.ts"
import { lanesInDoubt } from "./0022_lanes_in_doubt.ts"
import { workspacesByName } from "./0023_workspaces_by_name.ts"
import { pausesBehind } from "./0024_pauses_behind.ts"
import { arrivals } from "./0025_arrivals.ts"
import { disabledWorkspaces } from "./0027_disabled_workspaces.ts"
import { noRoom } from "./0028_no_room.ts"
import { eventsById } from "./0029_events_by_id.ts"
import { testMessagesOfWorkspace } from "./0032_test_messages_of_workspace.ts"
import { epochs } from "./0033_epochs.ts"
import { retention } from "./0035_retention.ts"
import { erasure } from "./0036_erasure.ts"
import { firstAnswers } from "./0037_first_answers.ts"
import { eventsInOrder } from "./0038_events_in_order.ts"
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
  completedChecks,
  numbersOfWorkspace,
  sessions,
  leavingDevices,
  shards,
  pacing,
  lanesInDoubt,
  workspacesByName,
  pausesBehind,
  arrivals,
  disabledWorkspaces,
  noRoom,
  eventsById,
  testMessagesOfWorkspace,
  epochs,
  retention,
  erasure,
  firstAnswers,
  eventsInOrder,
]

export const functions: ReadonlyArray<SqlFunction> = [
  countPlanned,
  quotaRoomAt,
  finishArrivals,
  acceptMessages,
  claimKey,
  loadAcceptance,
  admitRequests,
  laneLimit,
  claimLanes,
  controlLane,
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
  ...endpointFunctions,
  deleteWorkspace,
  ...erasureFunctions,
  revokeKey,
  holdClaim,
  finishClaim,
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
  beginEpoch,
  releaseHeld,
]
