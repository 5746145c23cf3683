/** One entry of a chat: its text, or what it is in plain words, and what happened to it since. */
import type { ReceivedMessage } from "@messaging-service/client"
import { Icon } from "../ui/Icon.tsx"
import { When } from "../ui/Time.tsx"
import { getAuthor } from "./chats.ts"
import { Content } from "./Content.tsx"
import type { Entry } from "./entries.ts"
import { threadLabels as labels } from "./words.ts"

export interface BubbleActions {
  /** Null for those who may not. */
  readonly remove: ((message: ReceivedMessage) => void) | null
}

export const Bubble = ({
  actions,
  entry: { received },
  isInGroup,
}: {
  entry: Entry
  isInGroup: boolean
  actions: BubbleActions
}) => {
  const author = received.from_me ? labels.atPhone : getAuthor(received)
  return (
    <li
      id={`received-${received.id}`}
      tabIndex={-1}
      className={`group flex max-w-full items-end gap-1 outline-offset-4 ${received.from_me ? "flex-row-reverse" : ""}`}
    >
      <div
        className={`flex max-w-[min(34rem,82%)] min-w-0 flex-col gap-1 overflow-hidden rounded-xl px-3 py-2 ${received.from_me ? "rounded-br-[3px] bg-accent-wash" : "rounded-bl-[3px] bg-sunken"}`}
      >
        {(isInGroup || received.from_me) && (
          <p className="truncate text-xs font-semibold text-accent">
            <bdi>{author}</bdi>
          </p>
        )}
        {received.reply_to !== null && <Quote quote={received.reply_to} />}
        <Content message={received} />
        <Reactions reactions={received.reactions} />
        <p className="flex items-center justify-end gap-1.5 text-2xs text-soft">
          {received.edited_at !== null && received.revoked_at === null && labels.edited}
          <When at={received.sent_at} how="clock" />
        </p>
      </div>
      <div
        role="group"
        aria-label={labels.actions(author)}
        className="flex shrink-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100"
      >
        {actions.remove !== null && (
          <button
            type="button"
            title={labels.remove}
            aria-label={labels.remove}
            onClick={() => actions.remove?.(received)}
            className="grid size-7 cursor-pointer place-items-center rounded-md text-faint hover:bg-sunken hover:text-ink"
          >
            <Icon name="trash" />
          </button>
        )}
      </div>
    </li>
  )
}

/** Goes to the quoted message, where it is on the page. */
const Quote = ({ quote }: { quote: NonNullable<ReceivedMessage["reply_to"]> }) => {
  const go = () => {
    const id =
      quote.received_message_id === null
        ? `message-${quote.message_id}`
        : `received-${quote.received_message_id}`
    const target = document.getElementById(id)
    target?.scrollIntoView({ block: "center" })
    target?.focus({ preventScroll: true })
  }
  const text = quote.text || labels.quoted
  const tone = "line-clamp-2 border-l-2 border-accent pl-2 text-left text-xs text-soft break-words"
  return quote.received_message_id === null && quote.message_id === null ? (
    <blockquote dir="auto" className={tone}>
      {text}
    </blockquote>
  ) : (
    <button
      type="button"
      dir="auto"
      title={labels.goToQuoted}
      onClick={go}
      className={`${tone} cursor-pointer hover:text-ink`}
    >
      {text}
    </button>
  )
}

/** Each emoji once, with how many gave it; their names stand behind it. */
const Reactions = ({ reactions }: Pick<ReceivedMessage, "reactions">) => {
  if (reactions.length === 0) return null
  const byEmoji = Map.groupBy(reactions, ({ emoji }) => emoji)
  return (
    <ul aria-label={labels.reactions} className="flex flex-wrap gap-1">
      {[...byEmoji].map(([emoji, all]) => (
        <li
          key={emoji}
          title={labels.reaction(emoji, all.map((from) => getAuthor(from)).join(", "))}
          className="max-w-full truncate rounded-full border border-line bg-surface px-1.5 text-xs tabular-nums"
        >
          {emoji}
          {all.length > 1 && ` ${all.length}`}
        </li>
      ))}
    </ul>
  )
}
