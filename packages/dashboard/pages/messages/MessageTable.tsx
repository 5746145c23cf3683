/** The list of messages: a box to choose each, and the whole row to open it. */
import type { Message } from "@messaging-service/client"
import { Boundary } from "../ui/Boundary.tsx"
import { When } from "../ui/Time.tsx"
import { MessageStatus } from "./MessageStatus.tsx"
import { getRecipient } from "./recipients.ts"
import { messagesLabels as labels, panelLabels } from "./words.ts"

const head = "px-3 py-2 label text-left"

interface TableProps {
  readonly messages: ReadonlyArray<Message>
  readonly chosen: ReadonlySet<number>
  /** The message that the panel shows. */
  readonly openId: number | undefined
  readonly choose: (id: number) => void
  readonly open: (id: number) => void
}

export const MessageTable = (props: TableProps) => (
  <Boundary of={props.messages}>
    <Whole {...props} />
  </Boundary>
)

const Whole = ({ choose, chosen, messages, open, openId }: TableProps) => {
  // The text has what the others leave.
  const isNarrow = openId !== undefined
  return (
    <table className="w-full table-fixed text-sm">
      <caption className="sr-only">{labels.caption}</caption>
      <thead className="border-b border-line">
        <tr>
          <th scope="col" className="w-9 pl-3 max-md:hidden">
            <span className="sr-only">{labels.choose}</span>
          </th>
          <th scope="col" className={`${head} w-24 ${isNarrow ? "" : "md:w-28"}`}>
            {labels.status}
          </th>
          <th scope="col" className={`${head} ${isNarrow ? "md:w-30" : "md:w-40"}`}>
            {labels.to}
          </th>
          <th scope="col" className={`${head} max-md:hidden`}>
            {labels.text}
          </th>
          {!isNarrow && (
            <th scope="col" className={`${head} w-36 max-lg:hidden`}>
              {labels.from}
            </th>
          )}
          <th scope="col" className={`${head} w-20 text-right md:w-36`}>
            {labels.time}
          </th>
        </tr>
      </thead>
      <tbody className="transition-opacity">
        {messages.map((message) => (
          <Row
            key={message.id}
            message={message}
            narrow={isNarrow}
            isChosen={chosen.has(message.id)}
            isOpen={message.id === openId}
            choose={choose}
            open={open}
          />
        ))}
      </tbody>
    </table>
  )
}

const Row = ({
  choose,
  isChosen,
  isOpen,
  message,
  narrow,
  open,
}: {
  message: Message
  narrow: boolean
  isChosen: boolean
  isOpen: boolean
  choose: (id: number) => void
  open: (id: number) => void
}) => (
  <tr
    data-message={message.id}
    data-open={isOpen}
    onClick={() => open(message.id)}
    className="group h-9 cursor-pointer border-b border-line last:border-0 hover:bg-sunken data-[open=true]:bg-accent-wash"
  >
    <td className="pl-3 max-md:hidden">
      <input
        type="checkbox"
        checked={isChosen}
        aria-label={labels.chooseMessage(message.id)}
        onClick={(event) => event.stopPropagation()}
        onChange={() => choose(message.id)}
        className="block size-4 cursor-pointer accent-accent opacity-30 group-hover:opacity-100 checked:opacity-100 focus-visible:opacity-100"
      />
    </td>
    <td className="px-3">
      <MessageStatus status={message.status} quiet />
    </td>
    <td className="truncate px-3">
      <button
        type="button"
        className="h-6 cursor-pointer font-mono text-xs tabular-nums hover:underline"
        aria-label={labels.openMessage(message.id, getRecipient(message.to))}
      >
        {getRecipient(message.to)}
      </button>
      <p className="truncate pb-1 text-xs text-soft md:hidden">
        <Text message={message} />
      </p>
    </td>
    <td className="truncate px-3 max-md:hidden">
      <Text message={message} />
    </td>
    {!narrow && (
      <td className="truncate px-3 font-mono text-xs text-soft tabular-nums max-lg:hidden">
        {message.from.phone === null ? "" : `+${message.from.phone}`}
      </td>
    )}
    <td className="px-3 text-right text-xs text-soft md:whitespace-nowrap">
      <Time message={message} />
    </td>
  </tr>
)

/** What the time is of. A message does not tell when it failed or was cancelled; its timeline does. */
const toTime = ({ created_at, expires_at, send_at, sent_at, status }: Message) => {
  if (sent_at !== null) return ["sent", sent_at] as const
  if (status === "expired" && expires_at !== null) return ["expired", expires_at] as const
  if (status === "queued" || status === "scheduled") return ["due", send_at ?? created_at] as const
  return ["accepted", created_at] as const
}

const Time = ({ message }: { message: Message }) => {
  const [of, at] = toTime(message)
  return (
    <>
      {labels.times[of]} <When at={at} how="clock" />
    </>
  )
}

const Text = ({ message }: { message: Message }) =>
  message.error === null ? (
    message.text || <span className="text-soft">{panelLabels.carries(message.media)}</span>
  ) : (
    <span className="text-red">{message.error.message}</span>
  )
