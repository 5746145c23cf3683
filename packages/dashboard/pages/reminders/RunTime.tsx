/** When a reminder runs, in the words of its own zone. */
import { useServiceTime } from "../api/serviceTime.ts"
import { zonedTime } from "./schedule.ts"
import { previewLabels as labels } from "./words.ts"

/** Farther away, the date says more than the days until then. */
const nearDays = 7

const dayMillis = 86_400_000

/** How many days of the zone lie between now and that time. */
const daysUntil = (local: string, now: number): number => {
  const offsetMillis = Date.parse(`${local.slice(0, 19)}Z`) - Date.parse(local)
  const today = Math.floor((now + offsetMillis) / dayMillis)
  return Math.floor(Date.parse(`${local.slice(0, 10)}T00:00:00Z`) / dayMillis) - today
}

export const RunTime = ({ local }: { local: string }) => {
  const now = useServiceTime()
  const { at, offset } = zonedTime(local, now)
  const days = daysUntil(local, now)
  return (
    <span className="tabular-nums">
      {at} <span className="text-xs text-faint">{offset}</span>
      {days >= 0 && days <= nearDays && (
        <span className="whitespace-nowrap text-soft"> · {labels.days(days)}</span>
      )}
    </span>
  )
}
