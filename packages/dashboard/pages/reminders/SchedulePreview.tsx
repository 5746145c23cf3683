/** The next ten runs of a pattern while it is written, in its zone, with what changes of the clocks do to them. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import type { ReminderPreview } from "@messaging-service/client"
import { call } from "../api/call.ts"
import { Icon } from "../ui/Icon.tsx"
import { RunTime } from "./RunTime.tsx"
import { previewLabels as labels } from "./words.ts"

const settleMillis = 250
const runsShown = 10

/** The value once it has stood still. */
const useSettled = (value: string): string => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMillis)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

export const useSchedulePreview = (id: number, cron: string, timezone: string) => {
  const settled = useSettled(`${cron.trim()}\n${timezone.trim()}`)
  const [pattern = "", zone = ""] = settled.split("\n")
  return useQuery({
    queryKey: ["reminders", id, "preview", pattern, zone],
    queryFn: ({ signal }) =>
      call("POST /admin/v1/workspaces/{id}/reminders/preview", {
        path: { id },
        body: { schedule: { cron: pattern, timezone: zone || "UTC" }, count: runsShown },
        signal,
      }),
    enabled: pattern !== "",
    placeholderData: keepPreviousData,
    refetchInterval: false,
  })
}

type Entry =
  | { readonly kind: "run"; readonly run: ReminderPreview["data"][number] }
  | { readonly kind: "change"; readonly change: ReminderPreview["clock_changes"][number] }

const getTime = (entry: Entry): string => (entry.kind === "run" ? entry.run.at : entry.change.at)

const byTime = (a: Entry, b: Entry): number => Date.parse(getTime(a)) - Date.parse(getTime(b))

/** Joins the clock changes between two runs, and leaves out those that cancel each other, as within a year. */
const getEntries = ({ clock_changes: changes, data }: ReminderPreview): ReadonlyArray<Entry> => {
  const all = [
    ...changes.map((change): Entry => ({ kind: "change", change })),
    ...data.map((run): Entry => ({ kind: "run", run })),
  ].toSorted(byTime)
  const received: Array<Entry> = []
  for (const entry of all) {
    const before = received.at(-1)
    if (entry.kind === "run" || before?.kind !== "change") {
      received.push(entry)
      continue
    }
    received.pop()
    const change = { ...entry.change, from: before.change.from }
    if (change.from !== change.to) received.push({ kind: "change", change })
  }
  return received
}

export const SchedulePreview = ({
  preview,
}: {
  preview: ReturnType<typeof useSchedulePreview>
}) => {
  const { data, error } = preview
  return (
    <section aria-label={labels.title} className="card flex flex-col gap-3 p-5">
      <h2 className="text-lg font-semibold">{labels.title}</h2>
      {error === null && data ? (
        <Runs preview={data} />
      ) : (
        <p className="text-sm text-soft">{preview.isLoading ? labels.wait : labels.nothing}</p>
      )}
    </section>
  )
}

const Runs = ({ preview }: { preview: ReminderPreview }) => (
  <>
    <ol aria-label={labels.title} className="flex flex-col gap-1.5 text-sm">
      {getEntries(preview).map((entry) =>
        entry.kind === "change" ? (
          <li
            key={`change ${entry.change.at}`}
            className="flex items-center gap-2 border-y border-line py-1 text-violet"
          >
            <Icon name="clock" />
            {labels.clockChange(entry.change.from, entry.change.to)}
          </li>
        ) : (
          <li key={`run ${entry.run.at}`} className="tabular-nums">
            <RunTime local={entry.run.local} />
            {entry.run.mark !== null && (
              <span className="block text-xs text-amber">{labels[entry.run.mark]}</span>
            )}
          </li>
        ),
      )}
    </ol>
    {preview.skipped.length > 0 && (
      <div className="text-xs text-amber">
        <p>{labels.skipped}</p>
        <ul>
          {preview.skipped.map(({ local }) => (
            <li key={local} className="tabular-nums">
              <RunTime local={local} />
            </li>
          ))}
        </ul>
      </div>
    )}
  </>
)
