/**
 * Everything that the core offers, by folder: the layers and services that a program
 * calls, the ports that stores and transports implement, the records that both speak of, and the rules
 * over them.
 */

export { Ids, fromIndexes, parseId, requestId } from "./model/Ids.ts"
export type { CampaignId, ChatId, ContactId, EventId, KeyId, LinkingId } from "./model/Ids.ts"
export type { MediaId, MessageId, NumberCheckId, NumberEventIds, NumberId } from "./model/Ids.ts"
export type { ReceivedMessageId, ReminderId, SignInLinkId, TransportId } from "./model/Ids.ts"
export type { WebhookId, WorkspaceId } from "./model/Ids.ts"
export { layer, layerServices, layerWorker, EnsuredWorkspaces } from "./MessagingService.ts"
export { Version1Lists } from "./service/Version1Lists.ts"
export { offsetOfPage } from "./store/Version1ListStore.ts"
export type { Version1ListStore } from "./store/Version1ListStore.ts"
export type { OffsetPage, OffsetQuery, Period } from "./store/Version1ListStore.ts"
export { version } from "./version.ts"
export {
  BrowserSessions,
  SignInBody,
  sessionLimit,
  sessionRequestsPerMinute,
} from "./service/BrowserSessions.ts"
export type { SignIn } from "./service/BrowserSessions.ts"
export { PortalLinkBody, PortalLinks } from "./service/PortalLinks.ts"
export type { CreatePortalLink } from "./service/PortalLinks.ts"
export {
  hasSessionEnded,
  isSessionValid,
  linkWorks,
  operatorIdleMillis,
} from "./store/BrowserSessionStore.ts"
export type { BrowserSessionStore } from "./store/BrowserSessionStore.ts"
export type {
  BrowserSession,
  NewBrowserSession,
  NewSignInLink,
  SessionQuery,
  SignInLink,
} from "./store/BrowserSessionStore.ts"
export {
  callbackContentType,
  callbackTypes,
  connectionCallback,
  failureText,
  isReportedTo,
  endMessage,
  mediaJson,
  messageJson,
  numberEvent,
  pauseReport,
  refusedMessage,
  reportedMessage,
  reportedNumber,
  statusReport,
  tickEvent,
} from "./model/MessageChange.ts"
export type {
  Callback,
  CallbackAttempt,
  CallbackType,
  ConnectionEvent,
  Ending,
  MediaJson,
  MessageChange,
  MessageJson,
  NumberChangeReport,
  ReportedMessage,
  ReportedNumber,
} from "./model/MessageChange.ts"
export { callbackSalt, CallbackSecrets, CallbackUrls } from "./service/CallbackSettings.ts"
export type { CallbackSalts } from "./store/WorkspaceStore.ts"

export type { CallbackUrl } from "./service/CallbackSettings.ts"
export {
  Egress,
  EgressError,
  OutboundRule,
  isLoopback,
  isPublicAddress,
  parseOutboundUrl,
} from "./model/Egress.ts"
export type {
  EgressAnswer,
  FetchLimits,
  PostAnswer,
  PostLimits,
  PostRequest,
  OutboundUrl,
  OutboundUrlProblem,
} from "./model/Egress.ts"
export {
  catalogue,
  Refusal,
  maximumErrors,
  problem,
  refusalOfStore,
  refuse,
  refuseAll,
  StoreUnavailable,
} from "./model/Refusal.ts"
export type { Code, Details, Failure } from "./model/Refusal.ts"

export { EventFeed, EventSignal } from "./service/EventFeed.ts"
export { maximumSubscriptions } from "./store/SubscriptionStore.ts"
export type { StoredSubscription, SubscriptionStore } from "./store/SubscriptionStore.ts"
export { WorkspaceChangeFeed } from "./service/ChangeFeed.ts"
export type { ChangeFeed, ChangeFeedQuery } from "./service/ChangeFeed.ts"
export { changedMarks, changeFeedTopics } from "./store/ChangeFeedStore.ts"
export type {
  ChangedMessagesQuery,
  ChangeFeedMark,
  ChangeFeedMarkLimits,
  ChangeFeedStore,
  ChangeFeedTopic,
} from "./store/ChangeFeedStore.ts"
export type { Outbox } from "./store/WebhookStore.ts"
export { conversationEventTypes, eventTypes, gapEventType } from "./model/Event.ts"
export { restrictionEventTypes } from "./model/Event.ts"
export type { RestrictionEventType } from "./model/Event.ts"
export {
  isConversationEvent,
  isMessageEvent,
  isReceivedEvent,
  numberEventTypes,
} from "./model/Event.ts"
export { receivedEventTypes, tickEvents, webhookEventTypes } from "./model/Event.ts"
export type { ConversationEventType, EventType, MessageEvent } from "./model/Event.ts"
export type { MessageEventType, NumberEventType, ReceivedEventType } from "./model/Event.ts"
export type { ServiceEvent, TickEventType } from "./model/Event.ts"
export { ConversationBody, nextTestTick, receivedMediaModes } from "./model/Conversation.ts"
export type {
  ConversationSettings,
  ReceivedMediaMode,
  ReceivedStorage,
  SetConversations,
} from "./model/Conversation.ts"
export { Conversations } from "./service/Conversations.ts"
export { Chats, ChatsQuery, ReadBody, ReceivedQuery } from "./service/Chats.ts"
export type { ListChats, ListReceived, MarkRead, ReadChat } from "./service/Chats.ts"
export { copyWaitMillis, gapReasons, isKept, withoutCopy } from "./model/Incoming.ts"
export { mergedPerson, personAddresses, unknownPerson } from "./model/Incoming.ts"
export { receivedKinds, receivedMarks } from "./model/Incoming.ts"
export type { Addressed, Incoming, IncomingChange, IncomingGap } from "./model/Incoming.ts"
export type { IncomingMessage, NewReceived, Person, ChatContext } from "./model/Incoming.ts"
export type { ReceivedOutcome, UnreadableMessage } from "./model/Incoming.ts"
export type { ReceivedContent, ReceivedKind } from "./model/Incoming.ts"
export type { ChatEntry, EntryPlace } from "./model/ChatEntry.ts"
export { changedEvent, changedMessage, changedReaction, gapEvent } from "./model/Received.ts"
export { erasedQuote, withoutQuote } from "./model/Received.ts"
export { isRecovered, mostReactions, numberAsPerson, reactionEvent } from "./model/Received.ts"
export { receivedEvent, receivedJson, reportedGap, reportedReaction } from "./model/Received.ts"
export { reportedReceived } from "./model/Received.ts"
export { makeRestrictionsChanged } from "./service/NumberRestrictions.ts"
export {
  capWarnings,
  currentRestrictions,
  isRestrictionReported,
  nextRestrictionsCheck,
} from "./model/Restrictions.ts"
export { reportedRestrictions, restrictionReport, restrictionStates } from "./model/Restrictions.ts"
export { restrictionsEvent, restrictionsJson, unknownRestrictions } from "./model/Restrictions.ts"
export type { NumberRestrictions, ReportedRestrictions } from "./model/Restrictions.ts"
export type {
  CapWarning,
  NewChatCap,
  Restrictions,
  RestrictionState,
} from "./model/Restrictions.ts"
export type { Chat, ChatType, Reaction, ReceivedJson, ReceivedMessage } from "./model/Received.ts"
export { isFetchedOnArrival, isRecent, newFileState } from "./model/ReceivedFile.ts"
export { receivedFileStates } from "./model/ReceivedFile.ts"
export type { ReceivedFile, ReceivedFileState, StoredReceivedFile } from "./model/ReceivedFile.ts"
export { makeNewReceived, wakeForReceived } from "./service/ReceivedFiles.ts"
export { makeMediaFetcher } from "./worker/MediaFetcher.ts"
export type { ClaimedFile, FileSettlement, ReceivedFileStore } from "./store/ReceivedFileStore.ts"
export { applyEarlyTicks, makeTick, tickOnceSent } from "./service/makeTick.ts"
export type { ChatFilter, ChatStore, ReceivedErasure, ReceivedFilter } from "./store/ChatStore.ts"
export type { DueReadMark, MarkedRead } from "./store/ChatStore.ts"
export type { StoredConversations, SettledReadMark } from "./store/ChatStore.ts"
export type {
  CampaignOrigin,
  Message,
  MessageError,
  MessageErrorCode,
  Tick,
  MessageState,
  MessageStatus,
  ExactQuota,
  PlannedQuota,
  QuotaFacts,
  QuotaLimit,
} from "./model/Message.ts"

export type { OutboxEvent } from "./store/WebhookStore.ts"
export {
  bearerToken,
  holdsAllKeys,
  isCounted,
  keyLimit,
  keyRefusal,
  allScopes,
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
} from "./model/Auth.ts"
export type { KeyStore } from "./model/Auth.ts"
export { Admission, addressGroup } from "./service/Keys.ts"
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
} from "./model/Auth.ts"
export type { CredentialsV1 } from "./service/Keys.ts"

export { KeyBody, Keys } from "./service/Keys.ts"
export type { CreateKey } from "./service/Keys.ts"

export { clockSkew as clockSkewOf, clockVerdict } from "./service/ClockSkew.ts"
export type { ClockReading, ClockVerdict } from "./service/ClockSkew.ts"
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
} from "./model/Bulkhead.ts"
export type {
  Capacity,
  SaturatedTenants,
  Shares,
  RejectingBulkhead,
  SharedLimit,
} from "./model/Bulkhead.ts"

export {
  AttachmentBytes,
  Attachments,
  MediaDirectory,
  MediaQuery,
  maximumFileBytes,
} from "./service/MediaDirectory.ts"
export type { Attachment, ListMedia, OpenedFile, Upload } from "./service/MediaDirectory.ts"
export {
  fileStates,
  fitsRoom,
  fetchedFileName,
  givenFileName,
  isFileEnded,
  isFileThere,
  isUnneeded,
  reservedSpace,
  sweptTo,
  unusedSinceAfter,
  MediaFiles,
  MediaFilesError,
  filesUnavailable,
  noRoomForFile,
  refuseUnkept,
  unknownMimeType,
  MediaLinks,
  toMediaType,
  mediaTypes,
  storedFileId,
  uploadedFileName,
} from "./model/Media.ts"
export type { DiskRoom, MediaStore } from "./model/Media.ts"
export type { AttachmentStanding, FileState, BrokenMediaGuard, Leftover } from "./model/Media.ts"
export type { MediaFile, MediaReference, Reservation, SpooledContent } from "./model/Media.ts"
export type { StoredContent, MediaLink, MediaType, ReceivedFileLink } from "./model/Media.ts"

export {
  OutgoingMediaSource,
  maximumInterruptions,
  makeDispatcher,
  makeTestModeSender,
} from "./worker/Dispatcher.ts"

export { ListQuery, Messages, ReferencedListQuery } from "./service/Messages.ts"
export { waitReasons, waitsFor } from "./service/waitsFor.ts"
export type { WaitReason, WaitsFor } from "./service/waitsFor.ts"
export { CancelBody, MessageOperations } from "./service/MessageOperations.ts"
export type { CancelMessages, Timeline } from "./service/MessageOperations.ts"
export { timelineTypes } from "./model/Timeline.ts"
export { CannotJoin } from "./store/SystemStore.ts"
export { noCallersTransactions } from "./store/SystemStore.ts"
export type { CallersTransactions } from "./store/SystemStore.ts"
export type {
  ListMessages,
  MessagePage,
  ReferencedList,
  Sent,
  SendCode,
} from "./service/Messages.ts"
export type { TransactionClient } from "./store/SystemStore.ts"

export {
  hasExpired,
  hasLeft,
  messageStatuses,
  movedByTick,
  refundedStates,
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
  publicMedia,
} from "./model/Message.ts"

export { connectedShown } from "./model/accept.ts"
export { everyMessage } from "./store/MessageStore.ts"
export type { AwaitedTick, MessageStore } from "./store/MessageStore.ts"
export { SentTexts } from "./service/Messages.ts"
export type { SentText } from "./service/Messages.ts"
export type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  FailedGuard,
  NewMessage,
  NumberFacts,
} from "./model/accept.ts"
export type {
  FoundMessage,
  SearchedPage,
  TextSearch,
  TimelineQuery,
  MessageFilter,
  WaitingFilter,
  RefusedMessage,
} from "./store/MessageStore.ts"
export type { StoredAttempt, TimelineFacts, TimelineDelivery } from "./model/Timeline.ts"

export {
  BatchBody,
  ReferencedBatchBody,
  ReferencedSendBody,
  SendBody,
  maximumRecipients,
  sendRequestParser,
} from "./model/SendRequest.ts"
export type {
  ContentCode,
  ReferencedBatch,
  ReferencedSend,
  SendBatch,
  SendMessage,
} from "./model/SendRequest.ts"

export {
  addedFigures,
  figureRanges,
  figuresRetentionMillis,
  figureStreams,
  startOfHour,
  noFigures,
  tallyFigures,
  waitSteps,
  waitWithin,
} from "./model/HourlyFigures.ts"
export type {
  FigureBucket,
  FigureCounts,
  FigureEntry,
  FigureKind,
  FigurePositions,
  FigureQuery,
  FigureRange,
  FigureStore,
  FigureStream,
  HourlyFigures,
  PresentFigures,
} from "./model/HourlyFigures.ts"
export {
  countFigures,
  CountingInterval,
  FiguresInput,
  readSpan,
  WorkspaceFigures,
} from "./service/WorkspaceFigures.ts"
export type { ReadFigures, PublicFigures } from "./service/WorkspaceFigures.ts"
export { isProcessSilent, processKinds, processReportMillis } from "./store/Processes.ts"
export type { ProcessKind, ProcessReport, ProcessStore } from "./store/Processes.ts"
export { Readiness, notReadyReasons } from "./service/Readiness.ts"
export type { NotReadyReason } from "./service/Readiness.ts"
export { clockSkew, counted, maxCounted, startCounting } from "./store/Metrics.ts"
export { unstoredSeconds } from "./store/Metrics.ts"
export type { Figures, NumberCount, ServiceFigures } from "./store/Metrics.ts"

export { logFailure, throttled } from "./service/logThrottled.ts"
export {
  getEnd,
  abandonedReasons,
  suspends,
  noPauses,
  noFailures,
  pausedUntil,
  pausesAfter,
  pausesOnceLinked,
  restrictedSince,
  restricts,
  reasonOnceResumed,
  connectionReasons,
  isSameNumber,
  isVisibleTo,
  loginMethods,
  visibleModes,
  numberStatuses,
  platforms,
} from "./model/SendingNumber.ts"
export type {
  Pause,
  PauseReason,
  Pauses,
  ConsecutiveFailures,
  ConnectionReason,
  NumberStatus,
  Platform,
  SendingNumber,
  PublicNumber,
} from "./model/SendingNumber.ts"
export { awaySinceAfter, changedTo, connectionStates } from "./store/NumberStore.ts"
export type { NumberStore } from "./store/NumberStore.ts"
export type {
  ConnectionFacts,
  NumberActivity,
  ConnectionReport,
  ConnectionState,
  StoredReport,
  NumberChange,
  NumberInsertion,
  NumberSettings,
  SealedProxy,
} from "./store/NumberStore.ts"
export { ConnectBody, Connections } from "./service/Connections.ts"
export type { ConnectNumber } from "./service/Connections.ts"
export {
  canBeLinked,
  hasEnded,
  hasPhone,
  ownsAllNumbers,
  linkingMillis,
  linksItself,
  inventedPhone,
  emptyLinkingView,
  pairingCodeMillis,
  phoneWithStatus,
  phoneWithoutLink,
} from "./model/Linking.ts"
export type { LinkingStore } from "./model/Linking.ts"
export { QrImages, QrLinks } from "./service/Connections.ts"
export { makeLinkProgress } from "./service/Connections.ts"

export type {
  FailedLinkingGuard,
  ConnectView,
  EndReports,
  Abandoned,
  LeasedAttempt,
  LinkingAttempt,
  LinkingOutcome,
  LinkingView,
  NewAttempt,
} from "./model/Linking.ts"
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
} from "./service/Numbers.ts"
export { ProxyProbe, proxyCheckMillis, proxyProblems } from "./service/ProxyCheck.ts"
export type { ProxyCheck, ProxyProbePort, ProxyProblem } from "./service/ProxyCheck.ts"
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
} from "./service/Numbers.ts"

export { StartingPacing, changedPacing, liveWhatsAppPacing, unpaced } from "./model/Pacing.ts"
export type { Pacing } from "./model/Pacing.ts"

export {
  NumberCheckBody,
  NumberChecks,
  ResultsQuery,
  maximumPhones,
} from "./service/NumberChecks.ts"
export {
  canBeAsked,
  checkAfter,
  checkResultStatuses,
  isServedBy,
  isRegisteredInTestMode,
  numberCheckStatuses,
} from "./store/NumberCheckStore.ts"
export type { NumberCheckStore } from "./store/NumberCheckStore.ts"
export type { CheckNumbers, ListCheckResults } from "./service/NumberChecks.ts"
export type {
  FailedCheckGuard,
  CheckClaimQuery,
  CheckInsertion,
  CheckResultStatus,
  CheckSettlement,
  ClaimedCheck,
  NewNumberCheck,
  NumberCheck,
  NumberCheckResult,
} from "./store/NumberCheckStore.ts"

export type { DeliveryQueue, WebhookStore } from "./store/WebhookStore.ts"
export type { ClaimedDelivery, DeliveryFilter, DeliveryQuery } from "./store/WebhookStore.ts"
export type { DeliveryResult, LoggedDelivery, NewWebhook, Queueing } from "./store/WebhookStore.ts"
export type { Recovery, Undelivered, WebhookInsertion, WebhookScope } from "./store/WebhookStore.ts"
export {
  cappedUntil,
  cutsTurn,
  goesOn,
  holdsLease,
  holdsUntil,
  isClaimable,
  isInFlight,
  isInWindow,
  isLeased,
  limitedUntil,
  mayBeHandedOut,
  isOutcomeUnknown,
  leavesLane,
  nextDueAfter,
  roomIn,
  stoppedUntil,
  unchangedLane,
  turnSize,
} from "./model/Lane.ts"
export type { LaneQueue } from "./model/Lane.ts"
export {
  canBeNew,
  drawNewChatsExtra,
  mostSetAside,
  newChatsUntil,
  waitsForNewChats,
} from "./model/NewChats.ts"
export type {
  LaneChange,
  LaneDue,
  LaneUpdate,
  ClaimQuery,
  ClaimedMessage,
  LaneControl,
  NextOfTurn,
  SettledLanes,
  Settlement,
  UnfinishedAttempt,
} from "./model/Lane.ts"

export { WakeUp, makeLocal as makeLocalWakeUp, kindsOfWork, sharedWork } from "./store/DueWork.ts"
export type { DueWork } from "./store/DueWork.ts"
export type { AttemptInFlight, EarliestDue, SharedWork, Work, Workload } from "./store/DueWork.ts"
export {
  contactAddress,
  parsePhone,
  phoneDescribed,
  phoneDigits,
  isGroupName,
  parseUsername,
  recipientName,
  toTarget,
} from "./model/Recipient.ts"
export type { ContactStore, InsertedContact } from "./model/Recipient.ts"
export type {
  ChatAddress,
  Contact,
  Phone,
  Recipient,
  RequestedRecipient,
} from "./model/Recipient.ts"
export type { SendRecipient, Target } from "./model/Recipient.ts"
export type { AnsweredChat, Quote, QuotedMessage } from "./model/Answer.ts"
export type { ReplyTo } from "./model/Message.ts"
export { ContactBody, Contacts } from "./service/Contacts.ts"
export type { CreateContact } from "./service/Contacts.ts"

export { parseCron, nextRunAfter, formatInZone, momentInZone, parseTimeZone } from "./model/Cron.ts"
export type {
  Cron,
  CronProblem,
  ReminderSchedule,
  SchedulePreview,
  TimeZone,
} from "./model/Cron.ts"
export {
  getContent,
  isRunForgotten,
  maximumReminderNameLength,
  PreviewBody,
  ReminderBody,
  ReminderChangeBody,
  ReminderQuery,
  reminderRequestParser,
  runRefusalMessage,
} from "./model/Reminder.ts"
export { nextCheckAt } from "./store/CampaignStore.ts"
export type { CampaignFigures, CampaignInsertion, CampaignCheck } from "./store/CampaignStore.ts"
export type { CampaignMove, CampaignNumber, CampaignScope } from "./store/CampaignStore.ts"
export type { CampaignStore, CampaignTake, CampaignTaken } from "./store/CampaignStore.ts"
export type { NextCheck, CountedCampaign, RowFilter, RowPageQuery } from "./store/CampaignStore.ts"
export type { RowsAppended, RowsToAppend } from "./store/CampaignStore.ts"
export {
  campaignReference,
  campaignStates,
  hasCampaignEnded,
  fullQueue,
  maximumCampaignFileBytes,
  maximumCampaignRows,
  maximumOpenCampaigns,
  newRow,
  noRows,
  pauseReasons,
  refillQueue,
  rowCodes,
  rowsAtOnce,
  rowStatuses,
  toRowStatus,
  weekdays,
} from "./model/Campaign.ts"
export type {
  Campaign,
  CampaignPauseReason,
  CampaignRow,
  CampaignSettings,
  CampaignState,
  NewCampaign,
  NewCampaignRow,
  RowCode,
  RowCounts,
  RowNeeds,
  RowRecipient,
  RowRefusal,
  RowState,
  RowStatus,
  SendingHours,
  Weekday,
} from "./model/Campaign.ts"
export {
  CampaignBody,
  CampaignChangeBody,
  CampaignQuery,
  CampaignRowQuery,
  CampaignResultsQuery,
  maximumRowsAtOnce,
  ResumeBody,
  RowsBody,
} from "./model/CampaignInput.ts"
export type { AddRows, ChangeCampaign, CreateCampaign } from "./model/CampaignInput.ts"
export { toHoursInput } from "./model/hours.ts"
export { CampaignFiles } from "./service/CampaignFiles.ts"
export { Campaigns, campaignWaitReasons } from "./service/Campaigns.ts"
export type {
  CampaignForecast,
  CampaignRowView,
  CampaignView,
  CampaignWait,
  ListCampaignRows,
  ListCampaigns,
  RowsAdded,
  RowsUpload,
} from "./service/Campaigns.ts"
export type { ReminderStore } from "./model/Reminder.ts"
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
  AdvanceCommit,
  PreviewReminder,
  ReminderCode,
  ReminderToRun,
} from "./model/Reminder.ts"

export { Reminders } from "./service/Reminders.ts"

export {
  PublicUrl,
  described,
  describedKeys,
  bodyRule,
  decoded,
  IdInput,
  InstantInput,
  inputDecoder,
  integerBetween,
  requireFitTexts,
  parsed,
  textBetween,
  canonicalJson,
  isBlank,
  editDistance,
} from "./model/Input.ts"

export {
  answerRetentionMillis,
  claimRetentionMillis,
  claimOutcome,
  fingerprint,
  isClaimVoid,
  isRecordVoid,
  parseIdempotencyKey,
} from "./model/Idempotency.ts"
export type { IdempotencyStore } from "./model/Idempotency.ts"
export type {
  ClaimOutcome,
  FirstAnswer,
  IdempotencyClaim,
  IdempotencyKey,
  IdempotencyRecord,
  KeyStanding,
  IdempotencyCode,
} from "./model/Idempotency.ts"
export type { IdempotentResult } from "./service/makeIdempotent.ts"

export { makeCursors, getPage, PageInput, pageFields, queryDecoder, queryId } from "./model/Page.ts"
export type { CursorPage, PageOf, PageQuery, ListPage } from "./model/Page.ts"

export {
  HeldBody,
  MarkSentBody,
  Restoration,
  RestoredBody,
  startEpoch,
} from "./service/Restoration.ts"
export { idsSkipped, mayStartEpoch } from "./store/SystemStore.ts"
export type { RestoreStore } from "./store/SystemStore.ts"
export type { DecidedHeld, MarkSent, SelectHeld, StoreRestored } from "./service/Restoration.ts"
export type {
  Epoch,
  HeldCount,
  HeldFilter,
  HeldReminder,
  HeldSelection,
  ObservedMessages,
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
} from "./model/Secrets.ts"
export type { ServiceSecrets } from "./store/SystemStore.ts"
export type { CannotOpen, SecretsKeys } from "./model/Secrets.ts"

export {
  boundMillis,
  formatInstant,
  instantOrNull,
  parseInstant,
  DeferrableSleep,
  RealTime,
  sleep as sleepInRealTime,
  wholeSecond,
} from "./model/Time.ts"
export type { ClockStore } from "./model/Time.ts"
export type { Instant, Moment } from "./model/Time.ts"

export {
  FileUnavailable,
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
} from "./store/Transport.ts"
export { noteConversations } from "./store/Transport.ts"
export type { ClosedReason, LiveConnection, LiveNumber, LiveStatus } from "./store/Transport.ts"
export type { LinkingEvent, LinkingRequest, AfterSecret } from "./store/Transport.ts"
export type { TelegramLoginPort, TelegramLoginRequest } from "./store/Transport.ts"
export type { TelegramLoginState, TelegramLoginView, OutgoingMedia } from "./store/Transport.ts"
export type { OutgoingMessage, PhonesOutcome, SendOutcome, TakeEvent } from "./store/Transport.ts"
export type { FileRequest, Transport, TransportEvent } from "./store/Transport.ts"
export type { ReadMark, ReadMarkOutcome } from "./store/Transport.ts"
export { isBacklogFull, type Backlog } from "./service/ReceivingPace.ts"
export { makeSessionAccess, retryUntilStoreAnswers } from "./service/SessionAccess.ts"
export type { SessionAccess } from "./service/SessionAccess.ts"
export { guardLibrary, isFrom, LibraryGuard } from "./service/LibraryGuard.ts"
export type { RunGuarded } from "./service/LibraryGuard.ts"
export { makeLiveNumbers } from "./service/LiveNumbers.ts"
export type {
  LiveNumbers,
  LiveNumbersOptions,
  AfterClose,
  Connecting,
  LiveSettings,
} from "./service/LiveNumbers.ts"

export { NumberMoved, NumberOwnership, WorkerName } from "./service/NumberOwnership.ts"
export { SessionVault } from "./service/Sessions.ts"
export type { SessionStore } from "./model/Shards.ts"
export type { Exchanged, StoredSession, KeyChange, LoggedIn } from "./model/Shards.ts"

export type { PhoneBehaviour, ReceivedCopy, SentCopy, SentFilter } from "./store/SimulatedPhones.ts"
export type { SentMedia, SimulatedPhones, WrittenMessage } from "./store/SimulatedPhones.ts"

export { isOwned, shardCount, toShard, shareOut } from "./model/Shards.ts"
export type { ShardLeases } from "./model/Shards.ts"
export type {
  Fence,
  ShardLease,
  LiveWorker,
  Owned,
  Shard,
  ShardState,
  ShardTable,
  WorkerId,
} from "./model/Shards.ts"

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
  isSubscribedTo,
  inSharedOrder,
  isBesideReceived,
  namesReceived,
  receivedCallsShare,
  receiverUrlFor,
  HmacSha256,
  SigningSecrets,
  secretOfSalt,
  signature,
  webhookUserAgent,
} from "./model/WebhookEndpoint.ts"
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
} from "./model/WebhookEndpoint.ts"

export {
  DeliveriesQuery,
  RecoverBody,
  RedeliverBody,
  WebhookOperations,
  Webhooks,
} from "./service/Webhooks.ts"
export type {
  EndpointWithSecret,
  ListDeliveries,
  QueuedEvent,
  RecoveredEvents,
  RecoverEvents,
  RedeliverEvent,
} from "./service/Webhooks.ts"

export { callsPerTarget, deliveryLeaseMillis, makeDeliverer } from "./worker/Deliverer.ts"

export { OwnKind, reportProcess, RunsWorker } from "./worker/ProcessReporter.ts"
export { Housekeeping, HousekeepingInterval } from "./worker/Housekeeper.ts"
export { StopMillis } from "./worker/LeaseLoop.ts"
export { IdleMonitor, Worker } from "./worker/Worker.ts"
export { WorkGate } from "./service/Readiness.ts"

export type { GateCause } from "./service/Readiness.ts"

export type { EnsureWorkspace } from "./MessagingService.ts"
export {
  RetentionDays,
  TestMessagesKept,
  maxRetentionDays,
  WorkspaceBody,
  WorkspacePatch,
  Workspaces,
} from "./service/Workspaces.ts"
export { erasedAtOnce, missingNumbers } from "./store/WorkspaceStore.ts"
export type { ErasureStore, WorkspaceStore } from "./store/WorkspaceStore.ts"
export type { ChangeWorkspace, CreateWorkspace, WorkspaceCode } from "./service/Workspaces.ts"
export type {
  DeletedWorkspace,
  EndedBefore,
  RemovalsKept,
  RetainedWorkspace,
  NewWorkspace,
  RequestedNumber,
} from "./store/WorkspaceStore.ts"
export {
  clientId,
  coversMessages,
  isLimited,
  messagesRemaining,
  roles,
  unlimitedPlan,
  withMessages,
} from "./model/Workspace.ts"
export type { Admits, Mode, Plan, Role, Workspace, WorkspaceRefusal } from "./model/Workspace.ts"

export { isMarkOfSecretsKeys, layerStoredSecrets } from "./service/layerStoredSecrets.ts"

export { Store } from "./store/Store.ts"
export type { AcceptCode } from "./model/accept.ts"
