/**
 * Everything that the core offers, by the folder it stands in: the layers and services that a program
 * calls, the ports that stores and transports implement, the records that both speak of, and the rules
 * over them.
 */
export { Ids, fromIndexes, parseId, requestId } from "./Ids.ts"
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
export { layer, layerServices, layerWorker } from "./MessagingService.ts"
export { Version1ListStore, Version1Lists, offsetOfPage } from "./Version1Lists.ts"
export type { OffsetPage, OffsetQuery, Period } from "./Version1Lists.ts"
export { version } from "./version.ts"
export {
  callbackContentType,
  callbackTypes,
  connectionCallback,
  failureText,
  isReportedTo,
} from "./callback/Callback.ts"
export type {
  Callback,
  CallbackAttempt,
  CallbackType,
  ConnectionEvent,
} from "./callback/Callback.ts"
export { CallbackSalts, CallbackSecretJson, CallbackSecrets } from "./callback/CallbackSecrets.ts"
export { CallbackUrls } from "./callback/CallbackUrls.ts"
export type { CallbackUrl } from "./callback/CallbackUrls.ts"
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
export { catalogue } from "./error/Catalogue.ts"
export type { Code } from "./error/Catalogue.ts"
export { Refusal, maximumErrors, refusalOfStore, refuse } from "./error/Refusal.ts"
export type { Failure } from "./error/Refusal.ts"
export { StoreUnavailable } from "./error/StoreUnavailable.ts"
export { EventFeed, EventSignal } from "./event/EventFeed.ts"
export type { MessageEvent } from "./event/MessageEvent.ts"
export { Outbox } from "./event/Outbox.ts"
export type { OutboxEvent } from "./event/Outbox.ts"
export { Admission } from "./key/Admission.ts"
export type { CredentialsV1 } from "./key/Admission.ts"
export {
  KeyStore,
  bearerToken,
  holdsAllKeys,
  isCounted,
  keyLimit,
  keyRefusal,
  scopes,
} from "./key/ApiKey.ts"
export type {
  AdmitQuery,
  AdmitV1Query,
  Admitted,
  AdmittedV1,
  ApiKey,
  NewKey,
  RequestCount,
  Scope,
} from "./key/ApiKey.ts"
export { Caller, operations, permit } from "./key/Caller.ts"
export type { CallerScope, KeyCaller, OperationName, OperationRule, Trust } from "./key/Caller.ts"
export { KeyBody, Keys } from "./key/Keys.ts"
export type { CreateKey } from "./key/Keys.ts"
export { addressGroup } from "./key/WrongKeys.ts"
export { crowdedOf, givePlaces, heldBy, isCrowded, takeInRounds, takeShares } from "./limit/Held.ts"
export type { Capacity, Crowded, Shares } from "./limit/Held.ts"
export { makePlaces, makeRefusingPlaces } from "./limit/Places.ts"
export type { RefusingPlaces } from "./limit/Places.ts"
export { remembered } from "./limit/Remembered.ts"
export { sharedResources } from "./limit/sharedResources.ts"
export type { SharedResource } from "./limit/sharedResources.ts"
export { AttachmentBytes, Attachments } from "./media/Attachments.ts"
export type { Attachment } from "./media/Attachments.ts"
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
export { MediaReferenceJson, MediaStore } from "./media/Media.ts"
export type {
  BrokenMediaGuard,
  Leftover,
  MediaFile,
  MediaReference,
  Reservation,
} from "./media/Media.ts"
export { MediaDirectory, MediaQuery, maximumFileBytes } from "./media/MediaDirectory.ts"
export type { ListMedia, OpenedFile, Upload } from "./media/MediaDirectory.ts"
export {
  MediaFiles,
  MediaFilesError,
  filesUnavailable,
  noRoomForFile,
  refuseUnkept,
  unknownMimeType,
} from "./media/MediaFiles.ts"
export type { SpooledContent, StoredContent } from "./media/MediaFiles.ts"
export { MediaLinks } from "./media/MediaLinks.ts"
export type { MediaLink } from "./media/MediaLinks.ts"
export { OutgoingMediaSource } from "./media/OutgoingMediaSource.ts"
export { mediaTypeOf, mediaTypes } from "./media/contentType.ts"
export type { MediaType } from "./media/contentType.ts"
export { uploadedFileName } from "./media/fileName.ts"
export { CallersTransactions, CannotJoin } from "./message/CallersTransactions.ts"
export type { TransactionClient } from "./message/CallersTransactions.ts"
export { ListQuery } from "./message/ListRequest.ts"
export type { ListMessages } from "./message/ListRequest.ts"
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
export { MessageJson } from "./message/MessageAnswer.ts"
export { endMessage, refusedMessage } from "./message/MessageChange.ts"
export type { Ending, MessageChange } from "./message/MessageChange.ts"
export { MessageOperations } from "./message/MessageOperations.ts"
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
export { Messages } from "./message/Messages.ts"
export type { Sent } from "./message/Messages.ts"
export {
  DailyQuota,
  countExactly,
  countsInQuota,
  dailyQuota,
  fitsByBound,
  fitsExactly,
  fullUntil,
  fullUntilAfter,
  isInBound,
  quotaVerdict,
} from "./message/Quota.ts"
export type { ExactQuota, PlannedQuota, QuotaFacts, QuotaLimit } from "./message/Quota.ts"
export { BatchBody, SendBody, maximumRecipients, sendRequestParser } from "./message/SendRequest.ts"
export type { SendBatch, SendMessage } from "./message/SendRequest.ts"
export { SentTexts } from "./message/SentTexts.ts"
export { messageJson } from "./message/messageJson.ts"
export { waitsFor } from "./message/waitsFor.ts"
export type { WaitReason, WaitsFor } from "./message/waitsFor.ts"
export { Readiness, notReadyReasons } from "./monitoring/Readiness.ts"
export type { NotReadyReason } from "./monitoring/Readiness.ts"
export { ServiceFigures, mostCounted } from "./monitoring/ServiceFigures.ts"
export type { Figures, NumberCount } from "./monitoring/ServiceFigures.ts"
export { counted, startCounting } from "./monitoring/counters.ts"
export { logTrouble, rarely } from "./monitoring/rareLog.ts"
export {
  endOf,
  givenUpReasons,
  keepsAway,
  noPauses,
  noStrikes,
  pausedUntil,
  pausesAfter,
  pausesOnceLinked,
  reasonOnceResumed,
} from "./number/Breaker.ts"
export type { Pause, PauseReason, Pauses, Strikes } from "./number/Breaker.ts"
export { changedTo, connectionStates } from "./number/Connection.ts"
export type {
  ConnectionFacts,
  ConnectionReport,
  ConnectionState,
  KeptReport,
} from "./number/Connection.ts"
export { ConnectBody, Connections } from "./number/Connections.ts"
export type { ConnectNumber } from "./number/Connections.ts"
export { makeLinkProgress } from "./number/LinkProgress.ts"
export {
  LinkingStore,
  canBeLinked,
  hasEnded,
  hasPhone,
  holdsAllNumbers,
  linkingMillis,
  linksItself,
  madeUpPhone,
  nothingShown,
  pairingCodeMillis,
  phoneWithStatus,
  phoneWithoutLink,
} from "./number/Linking.ts"
export type {
  BrokenLinkingGuard,
  ConnectView,
  EndReports,
  GivenUp,
  HeldAttempt,
  LinkingAttempt,
  LinkingOutcome,
  LinkingView,
  NewAttempt,
} from "./number/Linking.ts"
export { NumberOperations, PauseBody } from "./number/NumberOperations.ts"
export type { NumberConnection, PauseNumber } from "./number/NumberOperations.ts"
export { NumberStore } from "./number/NumberStore.ts"
export type {
  NumberChange,
  NumberInsertion,
  NumberSettings,
  SealedProxy,
} from "./number/NumberStore.ts"
export {
  ConnectedFromTheStart,
  NumberBody,
  NumberPatch,
  Numbers,
  makeConnectionChanged,
} from "./number/Numbers.ts"
export type { ChangeNumber, CreateNumber, OperatedNumber } from "./number/Numbers.ts"
export { StartingPacing, changedPacing, liveWhatsAppPacing } from "./number/Pacing.ts"
export type { Pacing } from "./number/Pacing.ts"
export { NumberProxies } from "./number/Proxy.ts"
export { QrImages, QrLinks } from "./number/QrLinks.ts"
export {
  connectionReasons,
  isSameNumber,
  isSeenBy,
  loginMethods,
  modesSeenBy,
  numberStatuses,
  platforms,
} from "./number/SendingNumber.ts"
export type {
  ConnectionReason,
  NumberStatus,
  Platform,
  SendingNumber,
  ShownNumber,
} from "./number/SendingNumber.ts"
export {
  TelegramCodeBody,
  TelegramLoginBody,
  TelegramLogins,
  TelegramPasswordBody,
} from "./number/TelegramLogins.ts"
export type {
  BeginTelegramLogin,
  GiveTelegramCode,
  GiveTelegramPassword,
} from "./number/TelegramLogins.ts"
export {
  NumberCheckStore,
  canBeAsked,
  checkAfter,
  checkResultStatuses,
  isAskedBy,
  isRegisteredInTestMode,
  numberCheckStatuses,
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
export {
  NumberCheckBody,
  NumberChecks,
  ResultsQuery,
  maximumPhones,
} from "./numberCheck/NumberChecks.ts"
export type { CheckNumbers, ListCheckResults } from "./numberCheck/NumberChecks.ts"
export { DeliveryQueue } from "./queue/DeliveryQueue.ts"
export type { ClaimedDelivery, DeliveryQuery, DeliveryResult } from "./queue/DeliveryQueue.ts"
export {
  cappedUntil,
  holdsLease,
  holdsUntil,
  isClaimable,
  isInHands,
  isInWindow,
  isLeased,
  limitedUntil,
  mayBeHandedOut,
  mayHaveLeft,
  nextDueAfter,
  stoppedUntil,
} from "./queue/Lane.ts"
export type { LaneChange, LaneDue } from "./queue/Lane.ts"
export { LaneQueue, noAftermath } from "./queue/LaneQueue.ts"
export { maximumInterruptions } from "./message/attemptOutcome.ts"
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
export { ContactStore } from "./recipient/Contact.ts"
export type { Contact } from "./recipient/Contact.ts"
export { ContactBody, Contacts } from "./recipient/Contacts.ts"
export type { CreateContact } from "./recipient/Contacts.ts"
export { parsePhone, phoneDescribed, phoneDigits } from "./recipient/Phone.ts"
export type { Phone } from "./recipient/Phone.ts"
export {
  isGroupName,
  parseUsername,
  recipientName,
  requestedRecipientJson,
} from "./recipient/Recipient.ts"
export type { Recipient, RequestedRecipient, Target } from "./recipient/Recipient.ts"
export { RequestedRecipientJson } from "./recipient/recipientJson.ts"
export { parseCron } from "./reminder/Cron.ts"
export type { Cron, CronProblem } from "./reminder/Cron.ts"
export {
  ReminderStore,
  contentOf,
  isRunForgotten,
  maximumReminderNameLength,
} from "./reminder/Reminder.ts"
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
export {
  ReminderBody,
  ReminderChangeBody,
  ReminderQuery,
  reminderRequestParser,
} from "./reminder/ReminderRequest.ts"
export type { ChangeReminder, CreateReminder, ListReminders } from "./reminder/ReminderRequest.ts"
export { runRefusalMessage } from "./reminder/ReminderRun.ts"
export { Reminders } from "./reminder/Reminders.ts"
export { nextRunAfter } from "./reminder/Schedule.ts"
export type { ReminderSchedule } from "./reminder/Schedule.ts"
export { formatInZone, momentInZone, parseTimeZone } from "./reminder/TimeZone.ts"
export type { TimeZone } from "./reminder/TimeZone.ts"
export { IdJson, PublicUrl, TimeJson } from "./request/Answer.ts"
export { described, describedKeys } from "./request/Described.ts"
export {
  IdempotencyStore,
  answerKeptMillis,
  claimKeptMillis,
  claimOutcome,
  fingerprint,
  isClaimVoid,
  isRecordVoid,
  parseIdempotencyKey,
} from "./request/Idempotency.ts"
export type {
  ClaimOutcome,
  FirstShown,
  IdempotencyClaim,
  IdempotencyKey,
  IdempotencyRecord,
  KeyStanding,
  Repeatable,
} from "./request/Idempotency.ts"
export { bodyRule, decoded, inputDecoder, parsed, textBetween } from "./request/Input.ts"
export { makeCursors, pageOf } from "./request/Page.ts"
export type { CursorPage, JsonPage, PageOf, PageQuery } from "./request/Page.ts"
export {
  PageInput,
  pageFields,
  queryDecoder,
  queryId,
  refuseParameters,
} from "./request/PageInput.ts"
export type { ListPage } from "./request/PageInput.ts"
export {
  countRequest,
  dayMillis,
  dayStart,
  minuteMillis,
  minuteStart,
  ratePolicy,
  requestsPerDay,
  requestsPerMinute,
} from "./request/RateWindow.ts"
export type { RateState, RequestWindow } from "./request/RateWindow.ts"
export { canonicalJson } from "./request/canonicalJson.ts"
export { isBlank } from "./request/text.ts"
export { HeldBody, Restoration, RestoredBody, beginEpoch } from "./restore/Restoration.ts"
export type { DecidedHeld, SelectHeld, StoreRestored } from "./restore/Restoration.ts"
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
export {
  OlderSecretsKeys,
  Secrets,
  SecretsKey,
  WrongSecretsKey,
  newSecretsKey,
  parseSecretsKey,
  parseSecretsKeys,
  secretsKeyRule,
} from "./secret/Secrets.ts"
export type { CannotOpen, SecretsKeys } from "./secret/Secrets.ts"
export { ServiceSecrets } from "./secret/ServiceSecrets.ts"
export { formatInstant, instantOrNull, parseInstant } from "./time/Instant.ts"
export type { Instant } from "./time/Instant.ts"
export { ClockStore, DeferrableSleep, RealTime, sleep as sleepInRealTime } from "./time/RealTime.ts"
export { reconnectPauseMillis } from "./transport/LiveNumber.ts"
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
export { SessionStore } from "./transport/SessionStore.ts"
export type { Exchanged, KeptSession, KeyChange, LoggedIn } from "./transport/SessionStore.ts"
export { SessionVault } from "./transport/SessionVault.ts"
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
export {
  TelegramLogin,
  codeWays,
  telegramLoginMillis,
  telegramLoginStates,
} from "./transport/TelegramLogin.ts"
export type {
  AfterSecret,
  TelegramLoginPort,
  TelegramLoginRequest,
  TelegramLoginState,
  TelegramLoginView,
} from "./transport/TelegramLogin.ts"
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
export type { AfterClose, Connecting, LiveSettings } from "./transport/keepConnected.ts"
export { makeHold, retryUntilStoreAnswers } from "./transport/retryUntilStoreAnswers.ts"
export type { Hold } from "./transport/retryUntilStoreAnswers.ts"
export { EndpointBody } from "./webhook/EndpointRequest.ts"
export type { CreateWebhook } from "./webhook/EndpointRequest.ts"
export {
  canBeRedelivered,
  deliveredSinceAfter,
  deliveryErrors,
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
export { RedeliverBody, WebhookOperations, Webhooks } from "./webhook/Webhooks.ts"
export type { EndpointWithSecret, QueuedEvent, RedeliverEvent } from "./webhook/Webhooks.ts"
export { HmacSha256, SigningSecrets, secretOfSalt, webhookUserAgent } from "./webhook/signature.ts"
export type { SaltedSecrets } from "./webhook/signature.ts"
export { callsPerTarget, deliveryLeaseMillis, makeDeliverer } from "./worker/Deliverer.ts"
export { makeDispatcher } from "./worker/Dispatcher.ts"
export { makeTestModeSender } from "./worker/DueMessages.ts"
export { Housekeeping, HousekeepingRest } from "./worker/Housekeeper.ts"
export { StopMillis } from "./worker/LeasedWork.ts"
export { Settled } from "./worker/Settled.ts"
export { WorkGate } from "./worker/WorkGate.ts"
export type { GateCause } from "./worker/WorkGate.ts"
export { Worker } from "./worker/Worker.ts"
export { EnsuredWorkspaces } from "./workspace/EnsuredWorkspaces.ts"
export type { EnsureWorkspace } from "./workspace/EnsuredWorkspaces.ts"
export {
  ErasureStore,
  RetentionDays,
  TestMessagesKept,
  erasedAtOnce,
  retentionDaysMost,
} from "./workspace/Erasure.ts"
export type {
  DeletedWorkspace,
  EndedBefore,
  RemovalsKept,
  RetainedWorkspace,
} from "./workspace/Erasure.ts"
export {
  clientId,
  coversMessages,
  isLimited,
  messagesRemaining,
  roles,
  unlimitedPlan,
  withMessages,
} from "./workspace/Workspace.ts"
export type { Admits, Mode, Plan, Role, Workspace } from "./workspace/Workspace.ts"
export { WorkspaceStore } from "./workspace/WorkspaceStore.ts"
export type { NewWorkspace, WantedNumber } from "./workspace/WorkspaceStore.ts"
export { WorkspaceBody, WorkspacePatch, Workspaces } from "./workspace/Workspaces.ts"
export type { ChangeWorkspace, CreateWorkspace } from "./workspace/Workspaces.ts"
