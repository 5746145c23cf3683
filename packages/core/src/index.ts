/**
 * Everything that the core offers, by folder: the layers and services that a program
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
  SignInLinkId,
  TransportId,
  WebhookId,
  WorkspaceId,
} from "./Ids.ts"
export { layer, layerServices, layerWorker, EnsuredWorkspaces } from "./MessagingService.ts"
export { Version1Lists } from "./Version1Lists.ts"
export { offsetOfPage } from "./Version1ListStore.ts"
export type { Version1ListStore } from "./Version1ListStore.ts"
export type { OffsetPage, OffsetQuery, Period } from "./Version1ListStore.ts"
export { version } from "./version.ts"
export {
  BrowserSessions,
  SignInBody,
  sessionLimit,
  sessionRequestsPerMinute,
} from "./browser/BrowserSessions.ts"
export type { SignIn } from "./browser/BrowserSessions.ts"
export { PortalLinkBody, PortalLinks } from "./browser/PortalLinks.ts"
export type { CreatePortalLink } from "./browser/PortalLinks.ts"
export {
  hasSessionEnded,
  isSessionValid,
  linkWorks,
  operatorIdleMillis,
} from "./browser/BrowserSessionStore.ts"
export type { BrowserSessionStore } from "./browser/BrowserSessionStore.ts"
export type {
  BrowserSession,
  NewBrowserSession,
  NewSignInLink,
  SessionQuery,
  SignInLink,
} from "./browser/BrowserSessionStore.ts"
export {
  callbackContentType,
  callbackTypes,
  connectionCallback,
  failureText,
  isReportedTo,
  endMessage,
  mediaJson,
  messageJson,
  refusedMessage,
  reportedMessage,
} from "./event/MessageChange.ts"
export type {
  Callback,
  CallbackAttempt,
  CallbackType,
  ConnectionEvent,
  Ending,
  MediaJson,
  MessageChange,
  MessageJson,
  ReportedMessage,
} from "./event/MessageChange.ts"
export { CallbackSecrets, CallbackUrls } from "./callback/CallbackSettings.ts"
export type { CallbackSalts } from "./store/WorkspaceStore.ts"

export type { CallbackUrl } from "./callback/CallbackSettings.ts"
export {
  Egress,
  EgressError,
  OutboundRule,
  isLoopback,
  isPublicAddress,
  parseOutboundUrl,
} from "./egress/Egress.ts"
export type {
  EgressAnswer,
  FetchLimits,
  PostAnswer,
  PostLimits,
  PostRequest,
  OutboundUrl,
  OutboundUrlProblem,
} from "./egress/Egress.ts"

export {
  catalogue,
  Refusal,
  maximumErrors,
  problem,
  refusalOfStore,
  refuse,
  refuseAll,
  StoreUnavailable,
} from "./error/Refusal.ts"
export type { Code, Details, Failure } from "./error/Refusal.ts"

export { EventFeed, EventSignal } from "./event/EventFeed.ts"
export { maximumSubscriptions } from "./event/SubscriptionStore.ts"
export type { StoredSubscription, SubscriptionStore } from "./event/SubscriptionStore.ts"
export { WorkspaceNews } from "./event/News.ts"
export type { News, NewsQuery } from "./event/News.ts"
export { changedMarks, newsTopics } from "./event/NewsStore.ts"
export type {
  ChangedMessagesQuery,
  NewsMark,
  NewsMarkLimits,
  NewsStore,
  NewsTopic,
} from "./event/NewsStore.ts"
export type { Outbox } from "./webhook/WebhookStore.ts"
export type {
  MessageEvent,
  Message,
  MessageError,
  MessageErrorCode,
  MessageEventType,
  MessageState,
  MessageStatus,
  ExactQuota,
  PlannedQuota,
  QuotaFacts,
  QuotaLimit,
} from "./message/Message.ts"

export type { OutboxEvent } from "./webhook/WebhookStore.ts"
export {
  bearerToken,
  holdsAllKeys,
  isCounted,
  keyLimit,
  keyRefusal,
  scopes,
  Caller,
  operations,
  authorize,
  countedInDay,
  countRequest,
  dayMillis,
  dayStart,
  minuteMillis,
  minuteStart,
  ratePolicy,
  requestsPerDay,
  requestsPerMinute,
} from "./key/Auth.ts"
export type { KeyStore } from "./key/Auth.ts"
export { Admission, addressGroup } from "./key/Keys.ts"
export type {
  AdmitQuery,
  AdmitV1Query,
  Admitted,
  AdmittedV1,
  ApiKey,
  NewKey,
  RequestCount,
  Scope,
  CallerScope,
  KeyCaller,
  OperationName,
  OperationRule,
  Trust,
  RateState,
  RequestWindow,
  AuthorizationCode,
} from "./key/Auth.ts"
export type { CredentialsV1 } from "./key/Keys.ts"

export { KeyBody, Keys } from "./key/Keys.ts"
export type { CreateKey } from "./key/Keys.ts"

export { clockSkew as clockSkewOf, clockVerdict } from "./time/ClockSkew.ts"
export type { ClockReading, ClockVerdict } from "./time/ClockSkew.ts"
export {
  saturatedTenants,
  allotByShare,
  countByWorkspace,
  isSaturated,
  roundRobin,
  takeFairShares,
  makeBulkhead,
  makeRejectingBulkhead,
  memoize,
  sharedLimits,
} from "./limit/Bulkhead.ts"
export type {
  Capacity,
  SaturatedTenants,
  Shares,
  RejectingBulkhead,
  SharedLimit,
} from "./limit/Bulkhead.ts"

export {
  AttachmentBytes,
  Attachments,
  MediaDirectory,
  MediaQuery,
  maximumFileBytes,
} from "./media/MediaDirectory.ts"
export type { Attachment, ListMedia, OpenedFile, Upload } from "./media/MediaDirectory.ts"
export {
  fileStates,
  fitsRoom,
  fetchedFileName,
  givenFileName,
  isFileEnded,
  isFileThere,
  isUnneeded,
  roomOf,
  sweptTo,
  unusedSinceAfter,
  MediaFiles,
  MediaFilesError,
  filesUnavailable,
  noRoomForFile,
  refuseUnkept,
  unknownMimeType,
  MediaLinks,
  mediaTypeOf,
  mediaTypes,
  storedFileOf,
  uploadedFileName,
} from "./media/Media.ts"
export type { DiskRoom, MediaStore } from "./media/Media.ts"
export type {
  AttachmentStanding,
  FileState,
  BrokenMediaGuard,
  Leftover,
  MediaFile,
  MediaReference,
  Reservation,
  SpooledContent,
  StoredContent,
  MediaLink,
  MediaType,
} from "./media/Media.ts"

export {
  OutgoingMediaSource,
  maximumInterruptions,
  makeDispatcher,
  makeTestModeSender,
} from "./worker/Dispatcher.ts"

export {
  ListQuery,
  Messages,
  ReferencedListQuery,
  waitReasons,
  waitsFor,
} from "./message/Messages.ts"
export { CancelBody, MessageOperations } from "./message/MessageOperations.ts"
export type { CancelMessages, Timeline } from "./message/MessageOperations.ts"
export { timelineTypes } from "./message/Timeline.ts"
export { CannotJoin } from "./store/SystemStore.ts"
export { noCallersTransactions } from "./store/SystemStore.ts"
export type { CallersTransactions } from "./store/SystemStore.ts"
export type {
  ListMessages,
  MessagePage,
  ReferencedList,
  Sent,
  WaitReason,
  WaitsFor,
  SendCode,
} from "./message/Messages.ts"
export type { TransactionClient } from "./store/SystemStore.ts"

export {
  hasExpired,
  messageStatuses,
  movedByTick,
  statesGivenBack,
  statusAt,
  transition,
  transitions,
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
  messageErrorCodes,
  shownMedia,
} from "./message/Message.ts"

export { connectedShown, everyMessage } from "./message/MessageStore.ts"
export type { MessageStore } from "./message/MessageStore.ts"
export { SentTexts } from "./message/Messages.ts"
export type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  BrokenGuard,
  FoundMessage,
  StoredAttempt,
  SearchedPage,
  TextSearch,
  TimelineFacts,
  TimelineQuery,
  ToldAttempt,
  MessageFilter,
  WaitingFilter,
  NewMessage,
  NumberFacts,
  RefusedMessage,
} from "./message/MessageStore.ts"

export {
  BatchBody,
  ReferencedBatchBody,
  ReferencedSendBody,
  SendBody,
  maximumRecipients,
  sendRequestParser,
} from "./message/SendRequest.ts"
export type {
  ContentCode,
  ReferencedBatch,
  ReferencedSend,
  SendBatch,
  SendMessage,
} from "./message/SendRequest.ts"

export {
  addedFigures,
  figureRanges,
  figuresKeptMillis,
  figureStreams,
  hourOf,
  noFigures,
  tallyFigures,
  waitSteps,
  waitWithin,
} from "./monitoring/HourlyFigures.ts"
export type {
  FigureBucket,
  FigureCounts,
  FigureEntry,
  FigureKind,
  FigurePlaces,
  FigureQuery,
  FigureRange,
  FigureStore,
  FigureStream,
  HourlyFigures,
  PresentFigures,
} from "./monitoring/HourlyFigures.ts"
export {
  countFigures,
  CountingRest,
  FiguresInput,
  readSpan,
  WorkspaceFigures,
} from "./monitoring/WorkspaceFigures.ts"
export type { ReadFigures, ShownFigures } from "./monitoring/WorkspaceFigures.ts"
export { isProcessSilent, processKinds, processReportMillis } from "./monitoring/Processes.ts"
export type { ProcessKind, ProcessReport, ProcessStore } from "./monitoring/Processes.ts"
export { Readiness, notReadyReasons } from "./monitoring/Readiness.ts"
export type { NotReadyReason } from "./monitoring/Readiness.ts"
export { clockSkew, counted, mostCounted, startCounting } from "./monitoring/Metrics.ts"
export type { ServiceFigures } from "./monitoring/Metrics.ts"
export type { Figures, NumberCount } from "./monitoring/Metrics.ts"

export { logFailure, throttled } from "./monitoring/logThrottled.ts"
export {
  endOf,
  givenUpReasons,
  keepsAway,
  noPauses,
  noFailures,
  pausedUntil,
  pausesAfter,
  pausesOnceLinked,
  reasonOnceResumed,
  connectionReasons,
  isSameNumber,
  isSeenBy,
  loginMethods,
  modesSeenBy,
  numberStatuses,
  platforms,
} from "./number/SendingNumber.ts"
export type {
  Pause,
  PauseReason,
  Pauses,
  ConsecutiveFailures,
  ConnectionReason,
  NumberStatus,
  Platform,
  SendingNumber,
  ShownNumber,
} from "./number/SendingNumber.ts"
export { changedTo, connectionStates } from "./number/NumberStore.ts"
export type { NumberStore } from "./number/NumberStore.ts"
export type {
  ConnectionFacts,
  NumberActivity,
  ConnectionReport,
  ConnectionState,
  KeptReport,
  NumberChange,
  NumberInsertion,
  NumberSettings,
  SealedProxy,
} from "./number/NumberStore.ts"
export { ConnectBody, Connections } from "./number/Connections.ts"
export type { ConnectNumber } from "./number/Connections.ts"
export {
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
export type { LinkingStore } from "./number/Linking.ts"
export { QrImages, QrLinks } from "./number/Connections.ts"
export { makeLinkProgress } from "./number/Connections.ts"

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
export {
  NumberOperations,
  PauseBody,
  ConnectedFromTheStart,
  NumberBody,
  NumberPatch,
  Numbers,
  makeConnectionChanged,
  NumberProxies,
  TelegramCodeBody,
  TelegramLoginBody,
  TelegramLogins,
  TelegramPasswordBody,
} from "./number/Numbers.ts"
export { ProxyProbe, proxyCheckMillis, proxyProblems } from "./number/ProxyCheck.ts"
export type { ProxyCheck, ProxyProbePort, ProxyProblem } from "./number/ProxyCheck.ts"
export type {
  ListedConnection,
  ListedConnections,
  NumberConnection,
  PauseNumber,
  ChangeNumber,
  CreateNumber,
  OperatedNumber,
  BeginTelegramLogin,
  GiveTelegramCode,
  GiveTelegramPassword,
} from "./number/Numbers.ts"

export { StartingPacing, changedPacing, liveWhatsAppPacing } from "./number/Pacing.ts"
export type { Pacing } from "./number/Pacing.ts"

export {
  NumberCheckBody,
  NumberChecks,
  ResultsQuery,
  maximumPhones,
} from "./numberCheck/NumberChecks.ts"
export {
  canBeAsked,
  checkAfter,
  checkResultStatuses,
  isAskedBy,
  isRegisteredInTestMode,
  numberCheckStatuses,
} from "./numberCheck/NumberCheckStore.ts"
export type { NumberCheckStore } from "./numberCheck/NumberCheckStore.ts"
export type { CheckNumbers, ListCheckResults } from "./numberCheck/NumberChecks.ts"
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
} from "./numberCheck/NumberCheckStore.ts"

export type { DeliveryQueue, WebhookStore } from "./webhook/WebhookStore.ts"
export type {
  ClaimedDelivery,
  DeliveryFilter,
  DeliveryQuery,
  DeliveryResult,
  LoggedDelivery,
  NewWebhook,
  Queueing,
  Recovery,
  Undelivered,
  WebhookInsertion,
  WebhookScope,
} from "./webhook/WebhookStore.ts"
export {
  cappedUntil,
  holdsLease,
  holdsUntil,
  isClaimable,
  isInFlight,
  isInWindow,
  isLeased,
  limitedUntil,
  mayBeHandedOut,
  isOutcomeUnknown,
  nextDueAfter,
  stoppedUntil,
  noAftermath,
} from "./queue/Lane.ts"
export type { LaneQueue } from "./queue/Lane.ts"
export type {
  LaneChange,
  LaneDue,
  Aftermath,
  ClaimQuery,
  ClaimedMessage,
  LaneControl,
  SettledLanes,
  Settlement,
  UnfinishedAttempt,
} from "./queue/Lane.ts"

export { WakeUp, makeLocal as makeLocalWakeUp, kindsOfWork, sharedWork } from "./queue/DueWork.ts"
export type { DueWork } from "./queue/DueWork.ts"

export type { AttemptInFlight, EarliestDue, SharedWork, Work, Workload } from "./queue/DueWork.ts"
export {
  contactAddress,
  parsePhone,
  phoneDescribed,
  phoneDigits,
  isGroupName,
  parseUsername,
  recipientName,
} from "./recipient/Recipient.ts"
export type { ContactStore, InsertedContact } from "./recipient/Recipient.ts"
export type {
  Contact,
  Phone,
  Recipient,
  RequestedRecipient,
  Target,
} from "./recipient/Recipient.ts"
export { ContactBody, Contacts } from "./recipient/Contacts.ts"
export type { CreateContact } from "./recipient/Contacts.ts"

export {
  parseCron,
  nextRunAfter,
  formatInZone,
  momentInZone,
  parseTimeZone,
} from "./reminder/Cron.ts"
export type {
  Cron,
  CronProblem,
  ReminderSchedule,
  SchedulePreview,
  TimeZone,
} from "./reminder/Cron.ts"
export {
  contentOf,
  isRunForgotten,
  maximumReminderNameLength,
  PreviewBody,
  ReminderBody,
  ReminderChangeBody,
  ReminderQuery,
  reminderRequestParser,
  runRefusalMessage,
} from "./reminder/Reminder.ts"
export type { ReminderStore } from "./reminder/Reminder.ts"
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
  ChangeReminder,
  CreateReminder,
  ListReminders,
  PassCommit,
  PreviewReminder,
  ReminderCode,
  ReminderToRun,
} from "./reminder/Reminder.ts"

export { Reminders } from "./reminder/Reminders.ts"

export {
  PublicUrl,
  described,
  describedKeys,
  bodyRule,
  decoded,
  inputDecoder,
  parsed,
  textBetween,
  canonicalJson,
  isBlank,
  editDistance,
} from "./request/Input.ts"

export {
  answerKeptMillis,
  claimKeptMillis,
  claimOutcome,
  fingerprint,
  isClaimVoid,
  isRecordVoid,
  parseIdempotencyKey,
} from "./request/Idempotency.ts"
export type { IdempotencyStore } from "./request/Idempotency.ts"
export type {
  ClaimOutcome,
  FirstShown,
  IdempotencyClaim,
  IdempotencyKey,
  IdempotencyRecord,
  KeyStanding,
  IdempotencyCode,
} from "./request/Idempotency.ts"
export type { Repeatable } from "./request/makeIdempotent.ts"

export {
  makeCursors,
  pageOf,
  PageInput,
  pageFields,
  queryDecoder,
  queryId,
} from "./request/Page.ts"
export type { CursorPage, PageOf, PageQuery, ListPage } from "./request/Page.ts"

export {
  HeldBody,
  MarkSentBody,
  Restoration,
  RestoredBody,
  beginEpoch,
} from "./restore/Restoration.ts"
export { idsSkipped, mayBeginEpoch } from "./store/SystemStore.ts"
export type { RestoreStore } from "./store/SystemStore.ts"
export type { DecidedHeld, MarkSent, SelectHeld, StoreRestored } from "./restore/Restoration.ts"
export type {
  Epoch,
  HeldCount,
  HeldFilter,
  HeldReminder,
  HeldSelection,
  SeenMessages,
  StorePosition,
  StoreRisk,
} from "./store/SystemStore.ts"

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
export type { ServiceSecrets } from "./store/SystemStore.ts"
export type { CannotOpen, SecretsKeys } from "./secret/Secrets.ts"

export {
  formatInstant,
  instantOrNull,
  parseInstant,
  DeferrableSleep,
  RealTime,
  sleep as sleepInRealTime,
  wholeSecond,
} from "./time/Time.ts"
export type { ClockStore } from "./time/Time.ts"
export type { Instant } from "./time/Time.ts"

export {
  makeReconnectPauses,
  NumberLinking,
  TelegramLogin,
  codeWays,
  telegramLoginMillis,
  telegramLoginStates,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  outcomeOnceExpired,
} from "./transport/Transport.ts"
export type {
  ClosedReason,
  LiveConnection,
  LiveNumber,
  LiveStatus,
  LinkingEvent,
  LinkingRequest,
  AfterSecret,
  TelegramLoginPort,
  TelegramLoginRequest,
  TelegramLoginState,
  TelegramLoginView,
  OutgoingMedia,
  OutgoingMessage,
  PhonesOutcome,
  SendOutcome,
  TakeEvent,
  Transport,
  TransportEvent,
} from "./transport/Transport.ts"
export { makeHold, retryUntilStoreAnswers } from "./transport/Hold.ts"
export type { Hold } from "./transport/Hold.ts"
export { guardLibrary, isFrom, LibraryGuard } from "./transport/LibraryGuard.ts"
export type { RunGuarded } from "./transport/LibraryGuard.ts"
export { makeLiveNumbers } from "./transport/LiveNumbers.ts"
export type {
  LiveNumbers,
  LiveNumbersOptions,
  AfterClose,
  Connecting,
  LiveSettings,
} from "./transport/LiveNumbers.ts"

export { NumberMoved, NumberOwnership, WorkerName } from "./transport/NumberOwnership.ts"
export { SessionVault } from "./transport/Sessions.ts"
export type { SessionStore } from "./transport/Shards.ts"
export type { Exchanged, KeptSession, KeyChange, LoggedIn } from "./transport/Shards.ts"

export type {
  PhoneBehaviour,
  ReceivedCopy,
  SentCopy,
  SentFilter,
  SentMedia,
  SimulatedPhones,
} from "./transport/SimulatedPhones.ts"

export { isOwned, shardCount, shardOf, shareOut } from "./transport/Shards.ts"
export type { ShardLeases } from "./transport/Shards.ts"
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
  namesPrivateTargets,
  EndpointBody,
  EndpointChangeBody,
  canBeRedelivered,
  comesForward,
  deliveredSinceAfter,
  deliveryErrors,
  disabledReasons,
  endpointLimit,
  forwardAfterFailure,
  holdsAllEndpoints,
  isFarAhead,
  isRunning,
  isSilent,
  isToldOf,
  receiverUrlFor,
  webhookEventTypes,
  HmacSha256,
  SigningSecrets,
  secretOfSalt,
  webhookUserAgent,
} from "./webhook/WebhookEndpoint.ts"
export type {
  ChangeWebhook,
  CreateWebhook,
  DeliveryAttempt,
  DeliveryError,
  DisabledReason,
  EndpointChange,
  WebhookEndpoint,
  WebhookEventType,
  SaltedSecrets,
} from "./webhook/WebhookEndpoint.ts"

export {
  DeliveriesQuery,
  RecoverBody,
  RedeliverBody,
  WebhookOperations,
  Webhooks,
} from "./webhook/Webhooks.ts"
export type {
  EndpointWithSecret,
  ListDeliveries,
  QueuedEvent,
  RecoveredEvents,
  RecoverEvents,
  RedeliverEvent,
} from "./webhook/Webhooks.ts"

export { callsPerTarget, deliveryLeaseMillis, makeDeliverer } from "./worker/Deliverer.ts"

export { OwnKind, reportProcess, RunsWorker } from "./worker/ProcessReporter.ts"
export { Housekeeping, HousekeepingRest } from "./worker/Housekeeper.ts"
export { StopMillis } from "./worker/LeaseLoop.ts"
export { IdleMonitor, Worker } from "./worker/Worker.ts"
export { WorkGate } from "./monitoring/Readiness.ts"

export type { GateCause } from "./monitoring/Readiness.ts"

export type { EnsureWorkspace } from "./MessagingService.ts"
export {
  RetentionDays,
  TestMessagesKept,
  retentionDaysMost,
  WorkspaceBody,
  WorkspacePatch,
  Workspaces,
} from "./workspace/Workspaces.ts"
export { erasedAtOnce, missingNumbers } from "./store/WorkspaceStore.ts"
export type { ErasureStore, WorkspaceStore } from "./store/WorkspaceStore.ts"
export type { ChangeWorkspace, CreateWorkspace, WorkspaceCode } from "./workspace/Workspaces.ts"
export type {
  DeletedWorkspace,
  EndedBefore,
  RemovalsKept,
  RetainedWorkspace,
  NewWorkspace,
  WantedNumber,
} from "./store/WorkspaceStore.ts"
export {
  clientId,
  coversMessages,
  isLimited,
  messagesRemaining,
  roles,
  unlimitedPlan,
  withMessages,
} from "./workspace/Workspace.ts"
export type {
  Admits,
  Mode,
  Plan,
  Role,
  Workspace,
  WorkspaceRefusal,
} from "./workspace/Workspace.ts"

export { isMarkOfSecretsKeys, layerStoredSecrets } from "./secret/layerStoredSecrets.ts"

export { Store } from "./store/Store.ts"
export type { AcceptCode } from "./message/accept.ts"
