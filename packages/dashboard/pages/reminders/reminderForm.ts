/** What the form of a reminder holds, and the request that it makes: whole, or what was changed. */
import type { ChangeReminder, CreateReminder, Reminder } from "@messaging-service/client"
import { getMedia } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { parseRecipients } from "../messages/recipients.ts"
import { formText } from "../ui/forms.tsx"

export const toText = (to: Reminder["to"]): string => {
  if ("phone" in to) return to.phone
  if ("username" in to) return to.username
  return "group" in to ? to.group : `#${to.contact_id}`
}

/** What a reminder's media is in the form. */
export const toAttachment = (media: Reminder["media"]): Attachment => {
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
  const from = formText(data, "from")
  const media = await getMedia(attachment, workspaceId, "live")
  return {
    name: formText(data, "name"),
    to: parseRecipients(formText(data, "to"))[0] ?? { phone: "" },
    from: from === "" ? null : Number(from),
    text: formText(data, "text"),
    ...(media === null ? {} : { media }),
    schedule: { cron: formText(data, "cron"), timezone: formText(data, "zone") },
    active: data.has("active"),
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Only what differs: a schedule that is sent counts its next run from now. */
export const changeRequest = async (filled: Filled, now: Reminder): Promise<ChangeReminder> => {
  const { active: _, ...requested } = await createRequest(filled)
  const isAttachmentSame = isSame(filled.attachment, toAttachment(now.media))
  return {
    ...(requested.name === now.name ? {} : { name: requested.name }),
    ...(formText(filled.data, "to") === toText(now.to) ? {} : { to: requested.to }),
    ...(requested.from === now.from ? {} : { from: requested.from ?? null }),
    ...(requested.text === now.text ? {} : { text: requested.text ?? "" }),
    ...(isAttachmentSame ? {} : { media: requested.media ?? null }),
    ...(isSame(requested.schedule, { cron: now.schedule.cron, timezone: now.schedule.timezone })
      ? {}
      : { schedule: requested.schedule }),
  }
}
