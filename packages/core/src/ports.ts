/**
 * What an adapter needs that stands under the service: the ports of storage, transports, clock,
 * queues, calls and ids, the types their methods speak of (records, ids, facts), and the rules that
 * stores run. A program that calls the service takes the types of records from here too.
 */
export { callbackTypes, connectionCallback, isReportedTo } from "./callback/Callback.ts"
export type {
  Callback,
  CallbackAttempt,
  CallbackType,
  ConnectionEvent,
} from "./callback/Callback.ts"
export { CallbackSalts } from "./callback/CallbackSecrets.ts"
export { ContactStore } from "./recipient/Contact.ts"
export type { Contact } from "./recipient/Contact.ts"
export { Egress, EgressError, OutboundRule } from "./egress/Egress.ts"
export type {
  EgressAnswer,
  FetchLimits,
  PostAnswer,
  PostLimits,
  PostRequest,
} from "./egress/Egress.ts"
export { isPublicAddress, parseOutboundUrl } from "./egress/PublicAddress.ts"
export type { OutboundUrl, OutboundUrlProblem } from "./egress/PublicAddress.ts"
export { StoreUnavailable } from "./error/StoreUnavailable.ts"
export type { MessageEvent } from "./event/MessageEvent.ts"
export { Outbox } from "./event/Outbox.ts"
export type { OutboxEvent } from "./event/Outbox.ts"
export { Ids, fromIndexes } from "./Ids.ts"
export type {
  ContactId,
  EventId,
  KeyId,
  LinkingId,
  MediaId,
  MessageId,
  NumberCheckId,
  NumberId,
  ReminderId,
  TransportId,
  WebhookId,
  WorkspaceId,
} from "./Ids.ts"
export { KeyStore, holdsAllKeys, isCounted, keyLimit, keyRefusal } from "./key/ApiKey.ts"
export type {
  AdmitQuery,
  AdmitV1Query,
  Admitted,
  AdmittedV1,
  ApiKey,
  NewKey,
  RequestCount,
} from "./key/ApiKey.ts"
export { crowdedOf, givePlaces, heldBy, isCrowded, takeInRounds, takeShares } from "./limit/Held.ts"
export type { Capacity, Crowded, Shares } from "./limit/Held.ts"
export { makePlaces, makeRefusingPlaces } from "./limit/Places.ts"
export type { RefusingPlaces } from "./limit/Places.ts"
export type { CallerScope } from "./key/Caller.ts"
export { addressGroup } from "./key/WrongKeys.ts"
export { sharedResources } from "./limit/sharedResources.ts"
export type { SharedResource } from "./limit/sharedResources.ts"
export {
  fileStates,
  fitsRoom,
  isFileEnded,
  isFileThere,
  isUnneeded,
  roomOf,
  sweptTo,
  unusedSinceAfter,
} from "./media/FileState.ts"
export type { AttachmentStanding, FileState } from "./media/FileState.ts"
export { MediaStore } from "./media/Media.ts"
export type {
  BrokenMediaGuard,
  Leftover,
  MediaFile,
  MediaReference,
  Reservation,
} from "./media/Media.ts"
export { MediaFiles, MediaFilesError, unknownMimeType } from "./media/MediaFiles.ts"
export type { SpooledContent, StoredContent } from "./media/MediaFiles.ts"
export type { MediaLink } from "./media/MediaLinks.ts"
export { mediaTypeOf } from "./media/contentType.ts"
export type { MediaType } from "./media/contentType.ts"
export { remembered } from "./limit/Remembered.ts"
export {
  hasExpired,
  messageStatuses,
  movedByTick,
  statesGivenBack,
  statusAt,
  transition,
  transitions,
} from "./message/Message.ts"
export type {
  Message,
  MessageError,
  MessageErrorCode,
  MessageEventType,
  MessageState,
  MessageStatus,
} from "./message/Message.ts"
export { CallersTransactions, CannotJoin } from "./message/CallersTransactions.ts"
export type { TransactionClient } from "./message/CallersTransactions.ts"
export { endMessage, refusedMessage } from "./message/MessageChange.ts"
export type { Ending, MessageChange } from "./message/MessageChange.ts"
export { MessageStore, connectedShown } from "./message/MessageStore.ts"
export type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  BrokenGuard,
  FoundMessage,
  MessageFilter,
  NewMessage,
  NumberFacts,
  RefusedMessage,
} from "./message/MessageStore.ts"
export {
  countExactly,
  countsInQuota,
  DailyQuota,
  dailyQuota,
  fitsByBound,
  fitsExactly,
  fullUntil,
  fullUntilAfter,
  isInBound,
  quotaVerdict,
} from "./message/Quota.ts"
export type { ExactQuota, PlannedQuota, QuotaFacts, QuotaLimit } from "./message/Quota.ts"
export { SentTexts } from "./message/SentTexts.ts"
export { logTrouble, rarely } from "./monitoring/rareLog.ts"
export { ServiceFigures, mostCounted } from "./monitoring/ServiceFigures.ts"
export type { Figures, NumberCount } from "./monitoring/ServiceFigures.ts"
export {
  endOf,
  givenUpReasons,
  keepsAway,
  noPauses,
  pausesOnceLinked,
  noStrikes,
  pausedUntil,
  pausesAfter,
  reasonOnceResumed,
} from "./number/Breaker.ts"
export type { Pause, PauseReason, Pauses, Strikes } from "./number/Breaker.ts"
export { changedTo } from "./number/Connection.ts"
export type {
  ConnectionFacts,
  ConnectionReport,
  ConnectionState,
  KeptReport,
} from "./number/Connection.ts"
export {
  LinkingStore,
  canBeLinked,
  hasEnded,
  hasPhone,
  holdsAllNumbers,
  linkingMillis,
  linksItself,
  nothingShown,
  pairingCodeMillis,
  phoneWithStatus,
  phoneWithoutLink,
} from "./number/Linking.ts"
export type {
  BrokenLinkingGuard,
  EndReports,
  GivenUp,
  HeldAttempt,
  LinkingAttempt,
  LinkingOutcome,
  LinkingView,
  NewAttempt,
} from "./number/Linking.ts"
export { changedPacing } from "./number/Pacing.ts"
export type { Pacing } from "./number/Pacing.ts"
export { QrImages } from "./number/QrLinks.ts"
export { NumberStore } from "./number/NumberStore.ts"
export type {
  NumberChange,
  NumberInsertion,
  NumberSettings,
  SealedProxy,
} from "./number/NumberStore.ts"
export { NumberProxies } from "./number/Proxy.ts"
export {
  connectionReasons,
  isSameNumber,
  isSeenBy,
  modesSeenBy,
  numberStatuses,
  platforms,
} from "./number/SendingNumber.ts"
export type {
  ConnectionReason,
  NumberStatus,
  Platform,
  SendingNumber,
} from "./number/SendingNumber.ts"
export {
  NumberCheckStore,
  canBeAsked,
  checkAfter,
  checkResultStatuses,
  isAskedBy,
  isRegisteredInTestMode,
} from "./numberCheck/NumberCheck.ts"
export type {
  BrokenCheckGuard,
  CheckClaimQuery,
  CheckInsertion,
  CheckResultStatus,
  CheckSettlement,
  ClaimedCheck,
  NewNumberCheck,
  NumberCheck,
  NumberCheckResult,
} from "./numberCheck/NumberCheck.ts"
export { DeliveryQueue } from "./queue/DeliveryQueue.ts"
export type { ClaimedDelivery, DeliveryQuery, DeliveryResult } from "./queue/DeliveryQueue.ts"
export {
  cappedUntil,
  holdsLease,
  holdsUntil,
  stoppedUntil,
  isClaimable,
  isInHands,
  isInWindow,
  isLeased,
  limitedUntil,
  mayBeHandedOut,
  mayHaveLeft,
  nextDueAfter,
} from "./queue/Lane.ts"
export type { LaneChange, LaneDue } from "./queue/Lane.ts"
export { LaneQueue, noAftermath } from "./queue/LaneQueue.ts"
export type {
  Aftermath,
  ClaimQuery,
  ClaimedMessage,
  LaneControl,
  SettledLanes,
  Settlement,
} from "./queue/LaneQueue.ts"
export { WakeUp, makeLocal as makeLocalWakeUp } from "./queue/WakeUp.ts"
export { WorkStatus, kindsOfWork, sharedWork } from "./queue/WorkStatus.ts"
export type { AttemptInHands, EarliestDue, SharedWork, Work, Workload } from "./queue/WorkStatus.ts"
export type { Phone } from "./recipient/Phone.ts"
export { recipientName } from "./recipient/Recipient.ts"
export type { Recipient, Target } from "./recipient/Recipient.ts"
export { ReminderStore, contentOf, isRunForgotten } from "./reminder/Reminder.ts"
export type {
  DueReminder,
  LastRun,
  LoggedRun,
  NewReminder,
  Reminder,
  ReminderContent,
  ReminderInsertion,
  ReminderRun,
  ReminderScope,
  RunCommit,
} from "./reminder/Reminder.ts"
export type { TimeZone } from "./reminder/TimeZone.ts"
export {
  answerKeptMillis,
  claimKeptMillis,
  claimOutcome,
  isClaimVoid,
  isRecordVoid,
  IdempotencyStore,
} from "./request/Idempotency.ts"
export type {
  ClaimOutcome,
  IdempotencyClaim,
  FirstShown,
  IdempotencyRecord,
  KeyStanding,
} from "./request/Idempotency.ts"
export { RestoreStore, idsSkipped, mayBeginEpoch } from "./restore/RestoreStore.ts"
export type {
  Epoch,
  HeldCount,
  HeldFilter,
  HeldReminder,
  HeldSelection,
  SeenMessages,
  StorePosition,
  StoreRisk,
} from "./restore/RestoreStore.ts"
export { pageOf } from "./request/Page.ts"
export type { PageOf, PageQuery } from "./request/Page.ts"
export {
  countRequest,
  dayMillis,
  dayStart,
  minuteMillis,
  minuteStart,
} from "./request/RateWindow.ts"
export type { RequestWindow } from "./request/RateWindow.ts"
export type { CannotOpen } from "./secret/Secrets.ts"
export { ServiceSecrets } from "./secret/ServiceSecrets.ts"
export { DeferrableSleep, RealTime, sleep as sleepInRealTime, ClockStore } from "./time/RealTime.ts"
export { reconnectPauseMillis } from "./transport/LiveNumber.ts"
export type { AfterClose, Connecting, LiveSettings } from "./transport/keepConnected.ts"
export type {
  ClosedReason,
  LiveConnection,
  LiveNumber,
  LiveStatus,
} from "./transport/LiveNumber.ts"
export { makeLiveNumbers } from "./transport/LiveNumbers.ts"
export type { LiveNumbers, LiveNumbersOptions } from "./transport/LiveNumbers.ts"
export { NumberLinking } from "./transport/NumberLinking.ts"
export type { LinkingEvent, LinkingRequest } from "./transport/NumberLinking.ts"
export { NumberMoved, NumberOwnership, WorkerName } from "./transport/NumberOwnership.ts"
export { TelegramLogin, telegramLoginMillis } from "./transport/TelegramLogin.ts"
export type {
  AfterSecret,
  TelegramLoginPort,
  TelegramLoginRequest,
  TelegramLoginState,
  TelegramLoginView,
} from "./transport/TelegramLogin.ts"
export { ShardLeases, isOwned, shardCount, shardOf, shareOut } from "./transport/Shards.ts"
export type {
  Fence,
  HeldShard,
  LiveWorker,
  Owned,
  Shard,
  ShardState,
  ShardTable,
  WorkerId,
} from "./transport/Shards.ts"
export { makeHold, retryUntilStoreAnswers } from "./transport/retryUntilStoreAnswers.ts"
export type { Hold } from "./transport/retryUntilStoreAnswers.ts"
export { SessionStore } from "./transport/SessionStore.ts"
export type { Exchanged, KeptSession, KeyChange, LoggedIn } from "./transport/SessionStore.ts"
export { SessionVault } from "./transport/SessionVault.ts"
export {
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  outcomeOnceExpired,
} from "./transport/Transport.ts"
export type {
  OutgoingMedia,
  OutgoingMessage,
  PhonesOutcome,
  SendOutcome,
  TakeEvent,
  Transport,
  TransportEvent,
} from "./transport/Transport.ts"
export { Version1ListStore } from "./Version1Lists.ts"
export type { OffsetPage, OffsetQuery, Period } from "./Version1Lists.ts"
export {
  canBeRedelivered,
  deliveredSinceAfter,
  disabledReasons,
  endpointLimit,
  holdsAllEndpoints,
  isRunning,
  isSilent,
  isToldOf,
  webhookEventTypes,
} from "./webhook/WebhookEndpoint.ts"
export type {
  DeliveryAttempt,
  DeliveryError,
  DisabledReason,
  WebhookEndpoint,
  WebhookEventType,
} from "./webhook/WebhookEndpoint.ts"
export { WebhookStore } from "./webhook/WebhookStore.ts"
export type {
  NewWebhook,
  Queueing,
  WebhookInsertion,
  WebhookScope,
} from "./webhook/WebhookStore.ts"
export { HmacSha256 } from "./webhook/signature.ts"
export {
  coversMessages,
  isLimited,
  messagesRemaining,
  unlimitedPlan,
  withMessages,
} from "./workspace/Workspace.ts"
export { ErasureStore, erasedAtOnce } from "./workspace/Erasure.ts"
export type {
  DeletedWorkspace,
  EndedBefore,
  RemovalsKept,
  RetainedWorkspace,
} from "./workspace/Erasure.ts"
export type { Admits, Mode, Plan, Workspace } from "./workspace/Workspace.ts"
export { WorkspaceStore } from "./workspace/WorkspaceStore.ts"
export type { NewWorkspace, WantedNumber } from "./workspace/WorkspaceStore.ts"
