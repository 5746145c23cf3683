/** What the form of a reminder holds, and the request that it makes: whole, or what was changed. */
import type { ChangeReminder, CreateReminder, Reminder } from "@messaging-service/client"
import { mediaOf } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { parseRecipients } from "../messages/recipients.ts"
import { textOf } from "../ui/forms.tsx"

export const toText = (to: Reminder["to"]): string => {
  if ("phone" in to) return to.phone
  if ("username" in to) return to.username
  return "group" in to ? to.group : `#${to.contact_id}`
}

/** What a reminder's media is in the form. */
export const attachmentOf = (media: Reminder["media"]): Attachment => {
  if (media?.media_id) return { kind: "stored", id: media.media_id }
  return media?.url ? { kind: "link", url: media.url } : { kind: "none" }
}

interface Filled {
  readonly data: FormData
  readonly attachment: Attachment
  readonly workspaceId: number
}

export const createRequest = async (filled: Filled): Promise<CreateReminder> => {
  const { attachment, data, workspaceId } = filled
  const from = textOf(data, "from")
  const media = await mediaOf(attachment, workspaceId, "live")
  return {
    name: textOf(data, "name"),
    to: parseRecipients(textOf(data, "to"))[0] ?? { phone: "" },
    from: from === "" ? null : Number(from),
    text: textOf(data, "text"),
    ...(media === null ? {} : { media }),
    schedule: { cron: textOf(data, "cron"), timezone: textOf(data, "zone") },
    active: data.has("active"),
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Only what differs: a schedule that is sent counts its next run from now. */
export const changeRequest = async (filled: Filled, now: Reminder): Promise<ChangeReminder> => {
  const { active: _, ...wanted } = await createRequest(filled)
  const isAttachmentSame = isSame(filled.attachment, attachmentOf(now.media))
  return {
    ...(wanted.name === now.name ? {} : { name: wanted.name }),
    ...(textOf(filled.data, "to") === toText(now.to) ? {} : { to: wanted.to }),
    ...(wanted.from === now.from ? {} : { from: wanted.from ?? null }),
    ...(wanted.text === now.text ? {} : { text: wanted.text ?? "" }),
    ...(isAttachmentSame ? {} : { media: wanted.media ?? null }),
    ...(isSame(wanted.schedule, { cron: now.schedule.cron, timezone: now.schedule.timezone })
      ? {}
      : { schedule: wanted.schedule }),
  }
}
