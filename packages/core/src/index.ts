/**
 * What a program needs that calls the service: the layers and services, what they are asked, how an
 * answer is shown, and the errors; also the inner services that the types of the layers name. Records
 * and their ids are in `ports.ts`, beside the ports that keep them. In both are only the ports for
 * which the core has a layer of its own, and the error of a store.
 */
export { layer, layerServices, layerWorker } from "./MessagingService.ts"
export { IdJson, TimeJson, PublicUrl } from "./request/Answer.ts"
export { callbackContentType, failureText } from "./callback/Callback.ts"
export { CallbackSecretJson, CallbackSecrets } from "./callback/CallbackSecrets.ts"
export { CallbackUrls } from "./callback/CallbackUrls.ts"
export type { CallbackUrl } from "./callback/CallbackUrls.ts"
export { ContactBody, Contacts } from "./recipient/Contacts.ts"
export type { CreateContact } from "./recipient/Contacts.ts"
export { Egress } from "./egress/Egress.ts"
export { catalogue } from "./error/Catalogue.ts"
export type { Code } from "./error/Catalogue.ts"
export { Refusal, maximumErrors, refusalOfStore, refuse } from "./error/Refusal.ts"
export type { Failure } from "./error/Refusal.ts"
export { StoreUnavailable } from "./error/StoreUnavailable.ts"
export { Ids, parseId, requestId } from "./Ids.ts"
export { EventFeed, EventSignal } from "./event/EventFeed.ts"
export { Admission } from "./key/Admission.ts"
export type { CredentialsV1 } from "./key/Admission.ts"
export { bearerToken, scopes } from "./key/ApiKey.ts"
export type { Scope } from "./key/ApiKey.ts"
export { Caller, operations, permit } from "./key/Caller.ts"
export type { KeyCaller, OperationName, OperationRule, Trust } from "./key/Caller.ts"
export { KeyBody, Keys } from "./key/Keys.ts"
export type { CreateKey } from "./key/Keys.ts"
export { AttachmentBytes, Attachments } from "./media/Attachments.ts"
export type { Attachment } from "./media/Attachments.ts"
export { mediaTypes } from "./media/contentType.ts"
export { MediaReferenceJson } from "./media/Media.ts"
export { MediaDirectory, MediaQuery, maximumFileBytes } from "./media/MediaDirectory.ts"
export type { ListMedia, OpenedFile, Upload } from "./media/MediaDirectory.ts"
export { filesUnavailable, noRoomForFile, refuseUnkept } from "./media/MediaFiles.ts"
export { MediaLinks } from "./media/MediaLinks.ts"
export { OutgoingMediaSource } from "./media/OutgoingMediaSource.ts"
export { uploadedFileName } from "./media/fileName.ts"
export { ListQuery } from "./message/ListRequest.ts"
export type { ListMessages } from "./message/ListRequest.ts"
export { waitsFor } from "./message/waitsFor.ts"
export type { WaitReason, WaitsFor } from "./message/waitsFor.ts"
export { MessageOperations } from "./message/MessageOperations.ts"
export { Messages } from "./message/Messages.ts"
export type { Sent } from "./message/Messages.ts"
export { BatchBody, SendBody, maximumRecipients, sendRequestParser } from "./message/SendRequest.ts"
export type { SendBatch, SendMessage } from "./message/SendRequest.ts"
export { MessageJson } from "./message/MessageAnswer.ts"
export { messageJson } from "./message/messageJson.ts"
export { counted, startCounting } from "./monitoring/counters.ts"
export { Readiness, notReadyReasons } from "./monitoring/Readiness.ts"
export type { NotReadyReason } from "./monitoring/Readiness.ts"
export { ConnectBody, Connections } from "./number/Connections.ts"
export type { ConnectNumber } from "./number/Connections.ts"
export { makeLinkProgress } from "./number/LinkProgress.ts"
export { madeUpPhone } from "./number/Linking.ts"
export type { ConnectView } from "./number/Linking.ts"
export {
  ConnectedFromTheStart,
  makeConnectionChanged,
  NumberBody,
  NumberPatch,
  Numbers,
} from "./number/Numbers.ts"
export type { ChangeNumber, CreateNumber, OperatedNumber } from "./number/Numbers.ts"
export { connectionStates } from "./number/Connection.ts"
export { NumberOperations, PauseBody } from "./number/NumberOperations.ts"
export type { NumberConnection, PauseNumber } from "./number/NumberOperations.ts"
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
export { codeWays, telegramLoginStates } from "./transport/TelegramLogin.ts"
export type { TelegramLoginView } from "./transport/TelegramLogin.ts"
export { StartingPacing, liveWhatsAppPacing } from "./number/Pacing.ts"
export { QrLinks } from "./number/QrLinks.ts"
export { connectionReasons, loginMethods, numberStatuses } from "./number/SendingNumber.ts"
export type { ShownNumber } from "./number/SendingNumber.ts"
export { checkResultStatuses, numberCheckStatuses } from "./numberCheck/NumberCheck.ts"
export {
  NumberCheckBody,
  NumberChecks,
  ResultsQuery,
  maximumPhones,
} from "./numberCheck/NumberChecks.ts"
export type { CheckNumbers, ListCheckResults } from "./numberCheck/NumberChecks.ts"
export { WakeUp } from "./queue/WakeUp.ts"
export { parsePhone, phoneDescribed, phoneDigits } from "./recipient/Phone.ts"
export { isGroupName, parseUsername, requestedRecipientJson } from "./recipient/Recipient.ts"
export type { RequestedRecipient } from "./recipient/Recipient.ts"
export { RequestedRecipientJson } from "./recipient/recipientJson.ts"
export { runRefusalMessage } from "./reminder/ReminderRun.ts"
export { maximumReminderNameLength } from "./reminder/Reminder.ts"
export {
  ReminderBody,
  ReminderChangeBody,
  ReminderQuery,
  reminderRequestParser,
} from "./reminder/ReminderRequest.ts"
export type { ChangeReminder, CreateReminder, ListReminders } from "./reminder/ReminderRequest.ts"
export { Reminders } from "./reminder/Reminders.ts"
export { formatInZone, momentInZone, parseTimeZone } from "./reminder/TimeZone.ts"
export { HeldBody, Restoration, RestoredBody, beginEpoch } from "./restore/Restoration.ts"
export type { DecidedHeld, SelectHeld, StoreRestored } from "./restore/Restoration.ts"
export { makeCursors } from "./request/Page.ts"
export { described, describedKeys } from "./request/Described.ts"
export { canonicalJson } from "./request/canonicalJson.ts"
export { fingerprint, parseIdempotencyKey } from "./request/Idempotency.ts"
export type { IdempotencyKey, Repeatable } from "./request/Idempotency.ts"
export { bodyRule, decoded, inputDecoder, parsed, textBetween } from "./request/Input.ts"
export { isBlank } from "./request/text.ts"
export type { CursorPage, JsonPage } from "./request/Page.ts"
export {
  PageInput,
  pageFields,
  queryDecoder,
  queryId,
  refuseParameters,
} from "./request/PageInput.ts"
export type { ListPage } from "./request/PageInput.ts"
export { ratePolicy, requestsPerDay, requestsPerMinute } from "./request/RateWindow.ts"
export type { RateState } from "./request/RateWindow.ts"
export {
  Secrets,
  WrongSecretsKey,
  plainSecretNames,
  OlderSecretsKeys,
  SecretsKey,
  newSecretsKey,
  parseSecretsKey,
  parseSecretsKeys,
  secretsKeyRule,
} from "./secret/Secrets.ts"
export type { SecretsKeys } from "./secret/Secrets.ts"
export { formatInstant, instantOrNull, parseInstant } from "./time/Instant.ts"
export { NumberOwnership, WorkerName } from "./transport/NumberOwnership.ts"
export { SessionVault } from "./transport/SessionVault.ts"
export { Version1Lists, offsetOfPage } from "./Version1Lists.ts"
export { version } from "./version.ts"
export { EnsuredWorkspaces } from "./workspace/EnsuredWorkspaces.ts"
export type { EnsureWorkspace } from "./workspace/EnsuredWorkspaces.ts"
export { deliveryErrors, disabledReasons } from "./webhook/WebhookEndpoint.ts"
export { EndpointBody } from "./webhook/EndpointRequest.ts"
export type { CreateWebhook } from "./webhook/EndpointRequest.ts"
export { RedeliverBody, WebhookOperations, Webhooks } from "./webhook/Webhooks.ts"
export type { EndpointWithSecret, QueuedEvent, RedeliverEvent } from "./webhook/Webhooks.ts"
export { SigningSecrets, secretOfSalt, webhookUserAgent } from "./webhook/signature.ts"
export type { SaltedSecrets } from "./webhook/signature.ts"
export { callsPerTarget, deliveryLeaseMillis, makeDeliverer } from "./worker/Deliverer.ts"
export { makeDispatcher } from "./worker/Dispatcher.ts"
export { StopMillis } from "./worker/LeasedWork.ts"
export { Settled } from "./worker/Settled.ts"
export { makeTestModeSender } from "./worker/DueMessages.ts"
export { Housekeeping, HousekeepingRest } from "./worker/Housekeeper.ts"
export { WorkGate } from "./worker/WorkGate.ts"
export type { GateCause } from "./worker/WorkGate.ts"
export { Worker } from "./worker/Worker.ts"
export { clientId, roles } from "./workspace/Workspace.ts"
export type { Role } from "./workspace/Workspace.ts"
export { RetentionDays, TestMessagesKept, retentionDaysMost } from "./workspace/Erasure.ts"
export { WorkspaceBody, WorkspacePatch, Workspaces } from "./workspace/Workspaces.ts"
export type { ChangeWorkspace, CreateWorkspace } from "./workspace/Workspaces.ts"
