/** The phone of a recipient, with the two ticks that it can send back. */
import { useEffect, useRef } from "react"
import type { ReactNode } from "react"
import type { Sent } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Icon } from "../ui/Icon.tsx"
import { formatHour } from "../ui/Time.tsx"
import { phoneLabels as labels } from "./words.ts"

export interface Arrived {
  readonly copy: Sent
  /** The name of the sending number. */
  readonly from: string
}

export const Phone = ({
  arrived,
  compose,
  to,
}: {
  to: string
  arrived: ReadonlyArray<Arrived>
  compose: ReactNode
}) => {
  const now = useServiceTime()
  const end = useRef<HTMLLIElement>(null)
  useEffect(() => {
    end.current?.parentElement?.scrollTo({ top: end.current.offsetTop })
  }, [arrived.length])

  return (
    <section aria-label={labels.phone(to)} className="flex min-w-0 flex-col gap-3">
      <div className="rounded-[2.25rem] bg-phone p-2.5 shadow-over">
        <div className="flex h-[34rem] flex-col overflow-hidden rounded-[1.75rem] bg-chat">
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
                  {arrived.length === 0 ? labels.nothing : labels.arrived(arrived.length)}
                </p>
              </div>
            </div>
          </header>
          <ul
            // The keyboard must be able to scroll it.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
            aria-label={labels.list}
            className="flex grow flex-col gap-2.5 overflow-y-auto p-3"
          >
            {arrived.length === 0 && (
              <li className="m-auto max-w-52 text-center text-sm text-soft">{labels.writeBelow}</li>
            )}
            {arrived.map((one) => (
              <Bubble key={one.copy.id} arrived={one} />
            ))}
            <li ref={end} aria-hidden="true" />
          </ul>
        </div>
      </div>
      {compose}
    </section>
  )
}

const Bubble = ({ arrived: { copy, from } }: { arrived: Arrived }) => {
  const { mutate } = useCall("POST /admin/v1/simulator/messages/{message_id}/ticks")
  const tick = (status: "delivered" | "read") =>
    mutate({ path: { message_id: copy.message_id ?? 0 }, body: { status } })
  return (
    <li className="arrive flex max-w-[86%] flex-col items-start gap-1 self-start">
      <div className="rounded-xl rounded-tl-[3px] bg-bubble px-3 py-2 shadow-card">
        <p className="text-2xs font-semibold text-accent">{from}</p>
        {copy.quote !== undefined && (
          <blockquote className="my-1 line-clamp-3 border-l-2 border-accent pl-2 text-xs text-soft">
            {copy.quote}
          </blockquote>
        )}
        {copy.media && (
          <p className="my-1 flex items-center gap-2 rounded-md bg-sunken px-2 py-1.5 text-xs">
            <Icon name="copy" />
            <span className="truncate">{copy.media.file_name}</span>
            <span className="text-soft">{Math.ceil(copy.media.size / 1024)} KiB</span>
          </p>
        )}
        <p className="text-sm break-words whitespace-pre-wrap">{copy.text}</p>
        <p className="text-right text-2xs text-soft tabular-nums">
          {formatHour(Date.parse(copy.at))}
        </p>
      </div>
      {copy.message_id !== null && <Ticks status={copy.status} tick={tick} />}
    </li>
  )
}

const action = "cursor-pointer rounded px-1 text-2xs font-medium text-accent hover:underline"

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
