/** The timeline of a message: a sign and a colour for each step, webhook attempts with what came back. */
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { Ahead, When, span } from "../ui/Time.tsx"
import { attemptNumbers } from "../webhooks/attempts.ts"
import { answerLabels } from "../webhooks/words.ts"
import type { TimelineEntry } from "./timeline.ts"
import { again, panelLabels, stepLabels } from "./words.ts"

type Appearance = readonly [icon: IconName, colours: string]

const muted = "bg-sunken text-soft"
const amber = "bg-amber-wash text-amber"
const blue = "bg-blue-wash text-blue"
const green = "bg-accent-wash text-accent"
const red = "bg-red-wash text-red"

const variants: Readonly<Record<TimelineEntry["type"], Appearance>> = {
  accepted: ["message", muted],
  due: ["calendar", "bg-violet-wash text-violet"],
  postponed: ["clock", amber],
  attempt_refused: ["warning", amber],
  attempt_interrupted: ["warning", amber],
  sent: ["tick", blue],
  delivered: ["ticks", blue],
  read: ["ticks", green],
  failed: ["cross", red],
  expired: ["hourglass", amber],
  cancelled: ["slash", muted],
  delivery: ["hook", green],
}

const toVariant = ({ error, type }: TimelineEntry): Appearance =>
  type === "delivery" && error !== null ? ["hook", red] : variants[type]

/** Redeliveries count on. */
const numbered = (entries: ReadonlyArray<TimelineEntry>): ReadonlyArray<TimelineEntry> => {
  const deliveries = entries.filter(({ type }) => type === "delivery")
  const numbers = attemptNumbers(deliveries)
  return entries.map((entry) => {
    const attempt = numbers[deliveries.indexOf(entry)]
    return attempt === undefined ? entry : { ...entry, attempt }
  })
}

/** Oldest first; the time between two steps follows the name of the later one. */
export const Steps = ({ entries }: { entries: ReadonlyArray<TimelineEntry> }) => (
  <ol aria-label={panelLabels.happened} className="flex flex-col">
    {numbered(entries).map((entry, index) => {
      const [icon, tone] = toVariant(entry)
      const before = entries[index - 1]
      const took = before === undefined ? null : Date.parse(entry.at) - Date.parse(before.at)
      const isLast = index === entries.length - 1
      return (
        <li key={`${index} ${entry.type}`} className="flex gap-3">
          <div className="flex flex-col items-center" aria-hidden="true">
            <span className={`grid size-6 shrink-0 place-items-center rounded-full ${tone}`}>
              <Icon name={icon} />
            </span>
            {!isLast && <span className="w-px grow bg-line" />}
          </div>
          <div className={`min-w-0 grow ${isLast ? "" : "pb-4"}`}>
            <div className="flex items-baseline gap-2">
              <p className="text-sm font-medium">{stepLabels[entry.type](entry)}</p>
              {took !== null && took >= 1 && (
                <span className="text-2xs text-faint tabular-nums">+{span(took)}</span>
              )}
              <span className="ml-auto text-xs text-soft">
                <When at={entry.at} how="clock" />
              </span>
            </div>
            <Detail entry={entry} />
          </div>
        </li>
      )
    })}
  </ol>
)

const Detail = ({ entry }: { entry: TimelineEntry }) => (
  <div className="text-xs text-soft">
    {entry.url && <p className="truncate font-mono">{entry.url}</p>}
    {entry.type === "delivery" && entry.error && (
      <p>{answerLabels(entry.error.code, entry.response_status)}</p>
    )}
    {entry.type !== "delivery" && entry.error && (
      <p>
        <span className="font-mono">{entry.error.code}</span>
        {entry.error.message && `: ${entry.error.message}`}
      </p>
    )}
    {entry.type === "delivery" && (
      <p className="tabular-nums">
        {entry.duration_ms !== null && span(entry.duration_ms)}
        {entry.next_attempt_at && <Ahead at={entry.next_attempt_at} text={again} />}
      </p>
    )}
  </div>
)
