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
import { settleAndClaimDeliveries } from "../webhook/settleAndClaimDeliveries.ts"
import { erasureFunctions } from "../workspace/PostgresErasure.ts"
import { deleteWorkspace } from "../workspace/PostgresWorkspaces.ts"
import { sqlFiles } from "../sql.generated.ts"
import type { Schema } from "./migrate.ts"

/**
 * `sql/schema.sql` is what a new database gets. Once it is released, a change of it is also a file of
 * `sql/migrations`, which databases that exist get: `{ id: 2, name, sql: sqlFiles["migrations/0002_….sql"] }`.
 */
export const schema: Schema = { sql: sqlFiles["schema.sql"], migrations: [] }

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
