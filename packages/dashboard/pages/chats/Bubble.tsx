/** One entry of a chat: what it says, and what happened to it since. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { Message, ReceivedMessage } from "@messaging-service/client"
import { statuses } from "../messages/MessageStatus.tsx"
import { panelLabels } from "../messages/words.ts"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { When } from "../ui/Time.tsx"
import { getAuthor } from "./chats.ts"
import { Content, Plain } from "./Content.tsx"
import { getEntryAuthor } from "./entries.ts"
import type { Entry } from "./entries.ts"
import { Text } from "./Text.tsx"
import { threadLabels as labels } from "./words.ts"

export interface BubbleActions {
  readonly reply: (entry: Entry) => void
  /** Null for those who may not. */
  readonly remove: ((message: ReceivedMessage) => void) | null
}

interface BubbleProps {
  readonly entry: Entry
  /** The text of another entry, where it is on the page. */
  readonly getText: (key: string) => string | undefined
  readonly isInGroup: boolean
  readonly mode: "test" | undefined
  readonly actions: BubbleActions
}

export const Bubble = (props: BubbleProps) => {
  const { message, received } = props.entry
  if (received !== null) return <Received {...props} received={received} />
  return message === null ? null : <Sent {...props} message={message} />
}

/** What was said, on the side of who said it, and what can be done with it. */
const Said = ({
  actions,
  author,
  children,
  id,
  isOwn,
}: {
  id: string
  author: string
  isOwn: boolean
  children: ReactNode
  actions: ReactNode
}) => (
  <li
    id={id}
    tabIndex={-1}
    className={`group flex max-w-full items-end gap-1 outline-offset-4 ${isOwn ? "flex-row-reverse" : ""}`}
  >
    <div
      className={`flex max-w-[min(34rem,82%)] min-w-0 flex-col gap-1 overflow-hidden rounded-xl px-3 py-2 ${isOwn ? "rounded-br-[3px] bg-accent-wash" : "rounded-bl-[3px] bg-sunken"}`}
    >
      {children}
    </div>
    <div
      role="group"
      aria-label={labels.actions(author)}
      className="flex shrink-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100 max-sm:flex-col"
    >
      {actions}
    </div>
  </li>
)

const Action = ({ act, icon, name }: { icon: IconName; name: string; act: () => void }) => (
  <button
    type="button"
    title={name}
    aria-label={name}
    onClick={act}
    className="grid size-7 cursor-pointer place-items-center rounded-md text-faint hover:bg-sunken hover:text-ink"
  >
    <Icon name={icon} />
  </button>
)

const Received = ({
  actions: { remove, reply },
  entry,
  isInGroup,
  received,
}: BubbleProps & { received: ReceivedMessage }) => {
  const author = getEntryAuthor(entry)
  const isRevoked = received.revoked_at !== null
  return (
    <Said
      id={entry.key}
      author={author}
      isOwn={received.from_me}
      actions={
        <>
          {reply !== null && !isRevoked && (
            <Action icon="reply" name={labels.reply} act={() => reply(entry)} />
          )}
          {remove !== null && (
            <Action icon="trash" name={labels.remove} act={() => remove(received)} />
          )}
        </>
      }
    >
      {(isInGroup || received.from_me) && (
        <p className="truncate text-xs font-semibold text-accent">
          <bdi>{author}</bdi>
        </p>
      )}
      {received.reply_to !== null && (
        <Quote text={received.reply_to.text} target={toQuoteKey(received.reply_to)} />
      )}
      <Content message={received} />
      <Reactions reactions={received.reactions} />
      <p className="flex items-center justify-end gap-1.5 text-2xs text-soft">
        {received.edited_at !== null && !isRevoked && labels.edited}
        <When at={received.sent_at} how="clock" />
      </p>
    </Said>
  )
}

const Sent = ({
  actions: { reply },
  entry,
  message,
  mode,
  getText,
}: BubbleProps & { message: Message }) => {
  const quoted = message.reply_to === undefined ? null : toQuoteKey(message.reply_to)
  const { created_at, error, id, media, sent_at: sentAt, status, text } = message
  const { icon, ink } = statuses[status]
  return (
    <Said
      id={entry.key}
      author={labels.you}
      isOwn
      actions={
        sentAt !== null && <Action icon="reply" name={labels.reply} act={() => reply(entry)} />
      }
    >
      {quoted !== null && <Quote text={getText(quoted) ?? ""} target={quoted} />}
      {media && <Plain icon="file">{media.file_name ?? panelLabels.carries(media)}</Plain>}
      {text !== "" && <Text text={text} />}
      {error && <p className="text-xs break-words text-red">{error.message}</p>}
      <p className="flex items-center justify-end gap-1.5 text-2xs text-soft">
        <Link
          to="/w/$workspaceId/messages"
          from="/w/$workspaceId/chats"
          search={{ open: id, ...(mode === undefined ? {} : { mode }) }}
          aria-label={labels.openMessage(id, status)}
          className={`flex items-center gap-1 font-medium hover:underline ${ink}`}
        >
          <Icon name={icon} />
          {status}
        </Link>
        <When at={sentAt ?? created_at} how="clock" />
      </p>
    </Said>
  )
}

interface Quoted {
  readonly received_message_id?: number | null
  readonly message_id?: number | null
}

/** The key of the quoted entry; null where it is not known here. */
const toQuoteKey = ({ message_id: message, received_message_id: received }: Quoted) => {
  if (received != null) return `received-${received}`
  return message == null ? null : `message-${message}`
}

/** Goes to the quoted message, where it is on the page. */
const Quote = ({ target, text }: { text: string; target: string | null }) => {
  const go = () => {
    const element = target === null ? null : document.getElementById(target)
    element?.scrollIntoView({ block: "center" })
    element?.focus({ preventScroll: true })
  }
  const said = text || labels.quoted
  const tone = "line-clamp-2 border-l-2 border-accent pl-2 text-left text-xs text-soft break-words"
  return target === null ? (
    <blockquote dir="auto" className={tone}>
      {said}
    </blockquote>
  ) : (
    <button
      type="button"
      dir="auto"
      title={labels.goToQuoted}
      onClick={go}
      className={`${tone} cursor-pointer hover:text-ink`}
    >
      {said}
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
