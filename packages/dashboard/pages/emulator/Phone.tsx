/** The phone of a person: what it received, with the two ticks that it can send back, and what is written on it. */
import { useQueries } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import type { ReactNode } from "react"
import type { ReceivedMessage, SendingNumber, Sent } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { pollMillis } from "../chats/unreadChats.ts"
import { kindLabels } from "../chats/words.ts"
import { Icon } from "../ui/Icon.tsx"
import { formatSize } from "../ui/size.ts"
import { formatHour } from "../ui/Time.tsx"
import { getNumberName } from "./phoneEntries.ts"
import type { PhoneEntry } from "./phoneEntries.ts"
import { phoneLabels as labels } from "./words.ts"
import { WriteBox } from "./WriteBox.tsx"

export const Phone = ({
  compose,
  entries,
  to,
  writeTo,
}: {
  to: string
  entries: ReadonlyArray<PhoneEntry>
  /** The numbers that its person may write to. */
  writeTo: ReadonlyArray<SendingNumber>
  compose: ReactNode
}) => {
  const [quoted, quote] = useState<Sent | null>(null)
  const readUpTo = useReadMarks(entries)
  const copies = entries.filter(({ copy }) => copy !== null).length
  const end = useRef<HTMLLIElement>(null)
  useEffect(() => {
    end.current?.parentElement?.scrollTo({ top: end.current.offsetTop })
  }, [entries.length])

  return (
    <section aria-label={labels.phone(to)} className="flex min-w-0 flex-col gap-3">
      <div className="rounded-[2.25rem] bg-phone p-2.5 shadow-over">
        <div className="flex h-[34rem] flex-col overflow-hidden rounded-[1.75rem] bg-chat">
          <Head to={to} copies={copies} />
          <ul
            // The keyboard must be able to scroll it.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
            aria-label={labels.list}
            className="relative flex grow flex-col gap-2.5 overflow-y-auto p-3"
          >
            {entries.length === 0 && (
              <li className="m-auto max-w-52 text-center text-sm text-soft">{labels.writeBelow}</li>
            )}
            {entries.map((entry) =>
              entry.written === null ? (
                <Bubble key={entry.key} entry={entry} quote={writeTo.length === 0 ? null : quote} />
              ) : (
                <Written
                  key={entry.key}
                  written={entry.written}
                  isRead={(readUpTo.get(entry.written.chat.id) ?? 0) >= entry.written.id}
                />
              ),
            )}
            <li ref={end} aria-hidden="true" />
          </ul>
          {writeTo.length > 0 && (
            <WriteBox
              numbers={writeTo}
              phone={to}
              last={entries.at(-1)?.number.id}
              quoted={quoted}
              quote={quote}
            />
          )}
        </div>
      </div>
      {compose}
    </section>
  )
}

const Head = ({ copies, to }: { to: string; copies: number }) => {
  const now = useServiceTime()
  return (
    <header className="flex flex-col bg-surface">
      <div className="flex h-7 items-center px-5 text-2xs font-semibold tabular-nums">
        {formatHour(now)}
        <span className="mx-auto h-4 w-20 rounded-full bg-phone" aria-hidden="true" />
        <span className="font-normal text-soft">{labels.simulated}</span>
      </div>
      <div className="flex items-center gap-3 border-b border-line px-4 pt-1 pb-2.5">
        <span
          aria-hidden="true"
          className="grid size-9 place-items-center rounded-full bg-accent-wash text-accent"
        >
          <Icon name="phone" />
        </span>
        <div>
          <h2 className="font-mono text-sm font-semibold">{to}</h2>
          <p className="text-2xs text-soft">
            {copies === 0 ? labels.nothing : labels.arrived(copies)}
          </p>
        </div>
      </div>
    </header>
  )
}

/** How far each chat was marked as read, as its person sees it. */
const useReadMarks = (entries: ReadonlyArray<PhoneEntry>): ReadonlyMap<number, number> => {
  const numbers = new Set(
    entries.flatMap(({ written }) => (written === null ? [] : [written.number.id])),
  )
  const answers = useQueries({
    queries: [...numbers].map((id) => ({
      ...operationQuery("GET /admin/v1/simulator/numbers/{number_id}/read-marks", {
        path: { number_id: id },
      }),
      // Carrying a mark out does not change the chat, so nothing announces it.
      refetchInterval: pollMillis,
    })),
  })
  return new Map(
    answers.flatMap(({ data }) =>
      (data?.data ?? []).map(({ chat_id: chat, up_to: upTo }) => [chat, upTo] as const),
    ),
  )
}

/** What the person wrote. */
const Written = ({ isRead, written }: { written: ReceivedMessage; isRead: boolean }) => (
  <li className="arrive flex max-w-[86%] flex-col items-end self-end rounded-xl rounded-tr-[3px] bg-accent-wash px-3 py-2 shadow-card">
    {written.reply_to !== null && (
      <blockquote
        dir="auto"
        className="line-clamp-2 self-stretch border-l-2 border-accent pl-2 text-xs break-words text-soft"
      >
        {written.reply_to.text}
      </blockquote>
    )}
    {written.media !== null && (
      <FileLine
        name={written.media.file_name || kindLabels[written.kind]}
        size={written.media.size}
      />
    )}
    <p dir="auto" className="max-w-full self-start text-sm break-words whitespace-pre-wrap">
      {written.revoked_at === null
        ? written.text || (written.media === null && kindLabels[written.kind])
        : labels.revoked}
    </p>
    <p className="flex items-center gap-1.5 text-2xs text-soft tabular-nums">
      {isRead && (
        <span className="flex items-center gap-1 text-accent">
          <Icon name="ticks" /> {labels.read}
        </span>
      )}
      {formatHour(Date.parse(written.received_at))}
    </p>
  </li>
)

const FileLine = ({ name, size }: { name: string; size: number | null }) => (
  <p className="my-1 flex max-w-full items-center gap-2 rounded-md bg-sunken px-2 py-1.5 text-xs">
    <Icon name="file" />
    <span className="truncate">{name}</span>
    {size !== null && <span className="whitespace-nowrap text-soft">{formatSize(size)}</span>}
  </p>
)

const Bubble = ({
  entry,
  quote,
}: {
  entry: PhoneEntry
  /** Null while people write nothing. */
  quote: ((copy: Sent) => void) | null
}) => {
  const { mutate } = useCall("POST /admin/v1/simulator/messages/{message_id}/ticks")
  const { copy } = entry
  if (copy === null) return null
  const tick = (status: "delivered" | "read") =>
    mutate({ path: { message_id: copy.message_id ?? 0 }, body: { status } })
  return (
    <li className="arrive flex max-w-[86%] flex-col items-start gap-1 self-start">
      <div className="rounded-xl rounded-tl-[3px] bg-bubble px-3 py-2 shadow-card">
        <p className="text-2xs font-semibold text-accent">{getNumberName(entry)}</p>
        {copy.quote !== undefined && (
          <blockquote className="my-1 line-clamp-3 border-l-2 border-accent pl-2 text-xs text-soft">
            {copy.quote}
          </blockquote>
        )}
        {copy.media && <FileLine name={copy.media.file_name} size={copy.media.size} />}
        <p className="text-sm break-words whitespace-pre-wrap">{copy.text}</p>
        <p className="text-right text-2xs text-soft tabular-nums">
          {formatHour(Date.parse(copy.at))}
        </p>
      </div>
      {copy.message_id !== null && (
        <div className="flex flex-wrap items-center gap-x-2">
          <Ticks status={copy.status} tick={tick} />
          {quote !== null && (
            <button type="button" className={action} onClick={() => quote(copy)}>
              {labels.quote}
            </button>
          )}
        </div>
      )}
    </li>
  )
}

const action =
  "min-h-6 cursor-pointer rounded px-1 whitespace-nowrap text-2xs font-medium text-accent hover:underline"

const Ticks = ({
  status,
  tick,
}: {
  status: Sent["status"]
  tick: (what: "delivered" | "read") => void
}) => (
  <div className="flex items-center gap-2 px-1 text-2xs text-soft">
    {status === "read" ? (
      <span className="flex items-center gap-1 text-accent">
        <Icon name="ticks" /> {labels.read}
      </span>
    ) : (
      <>
        {status === "delivered" ? (
          <span className="flex items-center gap-1">
            <Icon name="ticks" /> {labels.tickedArrived}
          </span>
        ) : (
          <button type="button" className={action} onClick={() => tick("delivered")}>
            {labels.tickArrived}
          </button>
        )}
        <button type="button" className={action} onClick={() => tick("read")}>
          {labels.readIt}
        </button>
      </>
    )}
  </div>
)
