/**
 * A message's status as a word, a sign and a colour, so that none of them is needed to read it. In
 * lists only what failed or expired has a ground: a page of messages that went well stays calm.
 */
import type { Message } from "@messaging-service/client"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/Icon.tsx"

export type Status = Message["status"]

export interface StatusLook {
  readonly icon: IconName
  readonly ink: string
  readonly wash: string
}

export const statuses: Readonly<Record<Status, StatusLook>> = {
  queued: { icon: "clock", ink: "text-soft", wash: "bg-sunken" },
  scheduled: { icon: "calendar", ink: "text-violet", wash: "bg-violet-wash" },
  sent: { icon: "tick", ink: "text-blue", wash: "bg-blue-wash" },
  delivered: { icon: "ticks", ink: "text-blue", wash: "bg-blue-wash" },
  read: { icon: "ticks", ink: "text-accent", wash: "bg-accent-wash" },
  failed: { icon: "cross", ink: "text-red", wash: "bg-red-wash" },
  cancelled: { icon: "slash", ink: "text-soft", wash: "bg-sunken" },
  expired: { icon: "hourglass", ink: "text-amber", wash: "bg-amber-wash" },
}

/** Those with a ground in a list. */
const loud: ReadonlyArray<Status> = ["failed", "expired"]

/** A word with its sign and colour; `quiet`: it stands below others of its kind. */
export const StatusWord = ({
  hasGround,
  look: { icon, ink, wash },
  quiet = false,
  word,
}: {
  look: StatusLook
  word: string
  hasGround: boolean
  quiet?: boolean
}) => (
  <span
    className={`inline-flex h-6 items-center gap-1.5 text-xs font-medium whitespace-nowrap ${ink} ${hasGround ? `rounded-full px-2 ${wash}` : "px-2"} ${quiet ? "-ml-2" : ""}`}
  >
    <Icon name={icon} />
    {word}
  </span>
)

export const MessageStatus = ({ quiet = false, status }: { status: Status; quiet?: boolean }) => (
  <StatusWord
    look={statuses[status]}
    word={status}
    hasGround={!quiet || loud.includes(status)}
    quiet={quiet}
  />
)
