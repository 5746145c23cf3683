/** Records of the core as the facade shows them: plain ids, dates, nothing internal to the core. */
import { runRefusalMessage, publicMedia, statusAt } from "@messaging-service/core"
import type * as Core from "@messaging-service/core"
import type * as CoreRecords from "@messaging-service/core"
import type { PortalSession } from "../api/Messaging.ts"
import type { MediaFile, Message, Timeline, WaitsFor } from "../api/messages.ts"
import type { NumberCheck, NumberCheckResult, NumberView, SendingNumber } from "../api/numbers.ts"
import type {
  CallbackDelivery,
  Contact,
  Key,
  LoggedReminderRun,
  NumberConnection,
  OperatedNumber,
  TelegramLogin,
  Workspace,
} from "../api/operator.ts"
import type { LastReminderRun, Reminder } from "../api/reminders.ts"
import type { Webhook } from "../api/webhooks.ts"

export const date = (millis: number): Date => new Date(millis)

export const dateOrNull = (millis: number | null): Date | null =>
  millis === null ? null : date(millis)

/** The message as its event reports it. */
export const messageReported = (
  { createdAt, expiresAt, sendAt, sentAt, ...same }: Core.ReportedMessage,
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
})

/** The message's state at `now`. */
export const toPublicMessage = (
  message: CoreRecords.Message,
  now: number,
  link: CoreRecords.MediaLink,
): Message => {
  const { kind: _kind, ...to } = message.to
  const { createdAt, error, expiresAt, from, id, sendAt, sentAt, text } = message
  const status = statusAt(message, now)
  const media = publicMedia(message, now, link)
  return messageReported(
    { id, status, from, to, text, media, sendAt, expiresAt, createdAt, sentAt, error },
    message,
  )
}

export const waitsForShown = ({ until, ...same }: Core.WaitsFor): WaitsFor => ({
  ...same,
  until: dateOrNull(until),
})

export const timelineShown = (
  { entries, message, truncated, waiting }: Core.Timeline,
  now: number,
  link: CoreRecords.MediaLink,
): Timeline => ({
  message: toPublicMessage(message, now, link),
  campaign: message.campaign,
  waiting: waiting === null ? null : { for: waiting.for.map(waitsForShown), ahead: waiting.ahead },
  entries: entries.map(({ at, nextAttemptAt, ...same }) => ({
    ...same,
    at: date(at),
    nextAttemptAt: dateOrNull(nextAttemptAt),
  })),
  truncated,
})

/** As the command named it. */
const namedRecipient = (to: Core.RequestedRecipient): Reminder["to"] => {
  if (to.kind === "username") return { username: to.username.text }
  const { kind: _kind, ...named } = to
  return named
}

export const reminderShown = (reminder: CoreRecords.Reminder): Reminder => {
  const {
    createdAt,
    cron,
    lastRun,
    media,
    nextRunAt,
    revision: _revision,
    timezone,
    to,
    ...same
  } = reminder
  return {
    ...same,
    to: namedRecipient(to),
    media:
      media === null
        ? null
        : { mediaId: media.mediaId, url: media.url, type: media.type, fileName: media.fileName },
    schedule: { cron, timezone },
    nextRunAt: dateOrNull(nextRunAt),
    createdAt: date(createdAt),
    lastRun: lastRun === null ? null : lastRunShown(lastRun, reminder),
  }
}

const lastRunShown = (
  { dueAt, ...same }: CoreRecords.LastRun,
  reminder: CoreRecords.Reminder,
): LastReminderRun => ({
  ...same,
  dueAt: date(dueAt),
  message: same.code === null ? null : runRefusalMessage(same.code, reminder),
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

export const runShown = ({ dueAt, ranAt, ...same }: CoreRecords.LoggedRun): LoggedReminderRun => ({
  ...same,
  dueAt: date(dueAt),
  ranAt: date(ranAt),
})

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

export const connectionShown = ({
  lastSeenAt,
  nextSendAt,
  pausedUntil,
  since,
  ...same
}: Core.NumberConnection): NumberConnection => ({
  ...same,
  since: date(since),
  lastSeenAt: dateOrNull(lastSeenAt),
  pausedUntil: dateOrNull(pausedUntil),
  nextSendAt: dateOrNull(nextSendAt),
})

export const telegramLoginShown = ({
  expiresAt,
  qr,
  ...same
}: Core.TelegramLoginView): TelegramLogin => ({
  ...same,
  qrUrl: qr?.url ?? null,
  qrExpiresAt: dateOrNull(qr?.expiresAt ?? null),
  expiresAt: date(expiresAt),
})

export const checkShown = ({
  completedAt,
  createdAt,
  ...same
}: CoreRecords.NumberCheck): NumberCheck => ({
  ...same,
  createdAt: date(createdAt),
  completedAt: dateOrNull(completedAt),
})

export const resultShown = ({
  checkedAt,
  ...same
}: CoreRecords.NumberCheckResult): NumberCheckResult => ({
  ...same,
  checkedAt: dateOrNull(checkedAt),
})

export const mediaShown = (
  { createdAt, storageKey: _key, ...same }: CoreRecords.MediaFile,
  now: number,
  link: CoreRecords.MediaLink,
): MediaFile => ({
  ...same,
  url: link(same.id, same.fileName, now),
  createdAt: date(createdAt),
})

export const deliveryShown = <Type extends string>({
  attemptedAt,
  nextAttemptAt,
  ...same
}: CoreRecords.DeliveryAttempt<Type>) => ({
  ...same,
  attemptedAt: date(attemptedAt),
  nextAttemptAt: dateOrNull(nextAttemptAt),
})

export const callbackShown = (attempt: CoreRecords.CallbackAttempt): CallbackDelivery => ({
  ...deliveryShown(attempt),
  url: attempt.url,
})

export const toPublicWebhook = ({
  createdAt,
  firstSecretLast4: _first,
  lastAttempt,
  secretSalt: _salt,
  ...same
}: CoreRecords.WebhookEndpoint): Webhook => ({
  ...same,
  active: same.disabledReason === null,
  createdAt: date(createdAt),
  lastAttempt: lastAttempt === null ? null : deliveryShown(lastAttempt),
})

export const toPublicWorkspace = ({
  createdAt,
  deletedAt: _deleted,
  ...same
}: CoreRecords.Workspace): Workspace => ({ ...same, createdAt: date(createdAt) })

export const keyShown = ({
  createdAt,
  expiresAt,
  lastUsedAt,
  revokedAt,
  ...same
}: CoreRecords.ApiKey): Key => ({
  ...same,
  createdAt: date(createdAt),
  expiresAt: dateOrNull(expiresAt),
  lastUsedAt: dateOrNull(lastUsedAt),
  revokedAt: dateOrNull(revokedAt),
})

export const contactShown = ({ createdAt, ...same }: CoreRecords.Contact): Contact => ({
  ...same,
  createdAt: date(createdAt),
})
