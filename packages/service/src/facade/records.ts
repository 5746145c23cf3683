/** Records of the core as the facade shows them: plain ids, dates, nothing internal to the core. */
import {
  MediaLinks,
  runRefusalMessage,
  publicMedia,
  receivedJson,
  statusAt,
} from "@messaging-service/core"
import type * as Core from "@messaging-service/core"
import type * as CoreRecords from "@messaging-service/core"
import { Clock, Effect } from "effect"
import type { Chat, ReceivedMessage } from "../api/chats.ts"
import type { PortalSession } from "../api/Messaging.ts"
import type { MediaFile, Message, Timeline } from "../api/messages.ts"
import type { NumberView, Restrictions, SendingNumber } from "../api/numbers.ts"
import type {
  ConversationSettings,
  OperatedNumber,
  TelegramLogin,
  Workspace,
} from "../api/operator.ts"
import type { LastReminderRun, Reminder } from "../api/reminders.ts"
import type { Webhook } from "../api/webhooks.ts"

export const date = (millis: number): Date => new Date(millis)

export const dateOrNull = (millis: number | null): Date | null =>
  millis === null ? null : date(millis)

type TimeName = `${string}At` | "at" | "pausedUntil" | "since" | "until"

type Dated<A> = {
  readonly [Name in keyof A]: Name extends TimeName
    ? A[Name] extends number
      ? Date
      : Date | null
    : A[Name]
}

const isTime = (name: string): boolean => /At$|^(?:at|pausedUntil|since|until)$/.test(name)

/** The record with its times as dates. */
const dated = <A extends object>(record: A): Dated<A> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]: readonly [string, unknown]) => [
      name,
      typeof value === "number" && isTime(name) ? date(value) : value,
    ]),
  ) as Dated<A>

/** The message as its event reports it. */
export const messageReported = (
  { createdAt, expiresAt, replyTo, sendAt, sentAt, ...same }: Core.ReportedMessage,
  { mode, reference, workspaceId }: Pick<CoreRecords.Message, "mode" | "reference" | "workspaceId">,
): Message => ({
  ...same,
  workspaceId,
  mode,
  sendAt: dateOrNull(sendAt),
  expiresAt: dateOrNull(expiresAt),
  createdAt: date(createdAt),
  sentAt: dateOrNull(sentAt),
  reference,
  ...(replyTo !== undefined && { replyTo }),
})

const shownRecipient = (recipient: CoreRecords.Recipient): Message["to"] => {
  if (recipient.kind === "chat") {
    const { address: _address, kind: _kind, ...chat } = recipient
    return chat
  }
  const { kind: _kind, ...to } = recipient
  return to
}

/** The message's state at `now`. */
export const toPublicMessage = (
  message: CoreRecords.Message,
  now: number,
  link: CoreRecords.MediaLink,
): Message => {
  const to = shownRecipient(message.to)
  const { createdAt, error, expiresAt, from, id, replyTo, sendAt, sentAt, text } = message
  const quoting = replyTo === null ? {} : { replyTo }
  const status = statusAt(message, now)
  const media = publicMedia(message, now, link)
  return messageReported(
    { id, status, from, to, text, media, sendAt, expiresAt, createdAt, sentAt, error, ...quoting },
    message,
  )
}

export const waitsForShown = dated<Core.WaitsFor>

export const timelineShown = (
  { entries, message, truncated, waiting }: Core.Timeline,
  now: number,
  link: CoreRecords.MediaLink,
): Timeline => ({
  message: toPublicMessage(message, now, link),
  campaign: message.campaign,
  waiting: waiting === null ? null : { for: waiting.for.map(waitsForShown), ahead: waiting.ahead },
  entries: entries.map(dated),
  truncated,
})

/** As the command named it. */
const namedRecipient = (to: Core.RequestedRecipient): Reminder["to"] => {
  if (to.kind === "username") return { username: to.username.text }
  const { kind: _kind, ...named } = to
  return named
}

export const reminderShown = (reminder: CoreRecords.Reminder): Reminder => {
  const { cron, lastRun, media, revision: _revision, timezone, to, ...same } = reminder
  return {
    ...dated(same),
    to: namedRecipient(to),
    media:
      media === null
        ? null
        : { mediaId: media.mediaId, url: media.url, type: media.type, fileName: media.fileName },
    schedule: { cron, timezone },
    lastRun: lastRun === null ? null : lastRunShown(lastRun, reminder),
  }
}

const lastRunShown = (
  run: CoreRecords.LastRun,
  reminder: CoreRecords.Reminder,
): LastReminderRun => ({
  ...dated(run),
  message: run.code === null ? null : runRefusalMessage(run.code, reminder),
})

export const portalSessionShown = (link: CoreRecords.SignInLink): PortalSession => ({
  id: link.id,
  role: link.role,
  returnUrl: link.returnUrl,
  createdAt: date(link.createdAt),
  codeExpiresAt: date(link.codeExpiresAt),
  usedAt: dateOrNull(link.usedAt),
  expiresAt: dateOrNull(link.expiresAt),
  revokedAt: dateOrNull(link.revokedAt),
})

export const runShown = dated<CoreRecords.LoggedRun>

export const toPublicNumber = (number: Core.PublicNumber): SendingNumber => ({
  id: number.id,
  phone: number.phone,
  label: number.label,
  platform: number.platform,
  status: number.status,
  loginMethod: number.loginMethod,
})

export const numberViewShown = (
  number: Core.PublicNumber & { readonly connect: Core.ConnectView | null },
  qrText: string | null,
): NumberView => {
  const { connect } = number
  return {
    ...toPublicNumber(number),
    connect:
      connect === null
        ? null
        : {
            qrText,
            qrCodeUrl: connect.qrCodeUrl,
            qrCodeExpiresAt: dateOrNull(connect.qrCodeExpiresAt),
            pairingCode: connect.pairingCode?.code ?? null,
            pairingCodeExpiresAt: dateOrNull(connect.pairingCode?.expiresAt ?? null),
            linking: connect.linking,
            requestedAt: dateOrNull(connect.requestedAt),
            endsAt: dateOrNull(connect.endsAt),
          },
  }
}

export const operatedShown = ({
  pacing,
  proxy,
  ...number
}: Core.OperatedNumber): OperatedNumber => ({
  ...toPublicNumber(number),
  pacing,
  proxy,
})

export const connectionShown = dated<Core.NumberConnection>

export const restrictionsShown = ({
  newChats,
  ...same
}: CoreRecords.NumberRestrictions): Restrictions => ({
  ...dated(same),
  newChats: newChats && dated(newChats),
})

export const telegramLoginShown = ({ qr, ...same }: Core.TelegramLoginView): TelegramLogin => ({
  ...dated(same),
  qrUrl: qr?.url ?? null,
  qrExpiresAt: dateOrNull(qr?.expiresAt ?? null),
})

export const checkShown = dated<CoreRecords.NumberCheck>

export const resultShown = dated<CoreRecords.NumberCheckResult>

export const mediaShown = (
  { storageKey: _key, ...same }: CoreRecords.MediaFile,
  now: number,
  link: CoreRecords.MediaLink,
): MediaFile => ({ ...dated(same), url: link(same.id, same.fileName, now) })

export const deliveryShown = dated<CoreRecords.DeliveryAttempt>

export const callbackShown = dated<CoreRecords.CallbackAttempt>

export const toPublicWebhook = ({
  firstSecretLast4: _first,
  lastAttempt,
  secretSalt: _salt,
  ...same
}: CoreRecords.WebhookEndpoint): Webhook => ({
  ...dated(same),
  active: same.disabledReason === null,
  lastAttempt: lastAttempt === null ? null : deliveryShown(lastAttempt),
})

export const toPublicWorkspace = ({
  deletedAt: _deleted,
  ...same
}: CoreRecords.Workspace): Workspace => dated(same)

export const keyShown = dated<CoreRecords.ApiKey>

/** What was written, as its event and its answers report it. */
export const receivedReported = ({
  edited_at,
  from: { user_id: userId, ...person },
  from_me: fromMe,
  media,
  reactions,
  received_at,
  reply_to: quoted,
  revoked_at,
  sent_at,
  ...same
}: Core.ReceivedJson): ReceivedMessage => ({
  ...same,
  fromMe,
  from: { ...person, userId },
  reactions: reactions.map(({ at, emoji, from: { user_id, ...author } }) => ({
    from: { ...author, userId: user_id },
    emoji,
    at: new Date(at),
  })),
  media: media && {
    state: media.state,
    mimeType: media.mime_type,
    size: media.size,
    fileName: media.file_name,
    seconds: media.seconds,
    sha256: media.sha256,
    url: media.url,
  },
  replyTo: quoted && {
    receivedMessageId: quoted.received_message_id,
    messageId: quoted.message_id,
    text: quoted.text,
  },
  sentAt: new Date(sent_at),
  receivedAt: new Date(received_at),
  editedAt: edited_at === null ? null : new Date(edited_at),
  revokedAt: revoked_at === null ? null : new Date(revoked_at),
})

/** With a link of now to its file. */
export const receivedShown = Effect.gen(function* () {
  const { receivedLink } = yield* MediaLinks
  const now = yield* Clock.currentTimeMillis
  return (message: Core.ReceivedMessage): ReceivedMessage =>
    receivedReported(receivedJson(message, now, receivedLink))
})

export const chatShown = ({ activity: _activity, ...chat }: Core.Chat): Chat => dated(chat)

export const contactShown = dated<CoreRecords.Contact>

export const conversationsShown = ({
  stored,
  ...settings
}: CoreRecords.StoredConversations): ConversationSettings => ({
  ...dated(settings),
  stored: dated(stored),
})
