/** A message as version 1 shows it (contract: Version 1: messages). */
import type { MessageJson, MessageStatus } from "@messaging-service/core"
import { Schema } from "effect"

export const StatusV1 = Schema.Literals([0, 1, 2, 3, 4])

type StatusV1 = typeof StatusV1.Type

/** In the order of the numbers. */
const statusTexts = ["Pending", "Sent", "Failed", "Cancelled", "Expired"] as const

export const StatusTextV1 = Schema.Literals(statusTexts)

/** Version 1 tells apart less than version 2. */
const statusOf: Readonly<Record<MessageStatus, StatusV1>> = {
  queued: 0,
  scheduled: 0,
  sent: 1,
  delivered: 1,
  read: 1,
  failed: 2,
  cancelled: 3,
  expired: 4,
}

export const shownStatus = (
  status: MessageStatus,
): { readonly status: StatusV1; readonly status_text: (typeof statusTexts)[number] } => {
  const number = statusOf[status]
  return { status: number, status_text: statusTexts[number] }
}

/** Whom it went to, as one text. */
export const shownRecipient = (to: MessageJson["to"]): string => {
  if ("phone" in to) return to.phone
  return "group" in to ? to.group : to.username
}
