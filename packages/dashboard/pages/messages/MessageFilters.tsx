/** The filters above the list of messages. */
import { useQuery } from "@tanstack/react-query"
import { operationQuery } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { NumberFilter } from "../numbers/NumberFilter.tsx"
import { Filter, Find, ModeFilter, pill } from "../ui/filters.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Menu } from "../ui/Menu.tsx"
import { Button } from "../ui/parts.tsx"
import { clockTime } from "../ui/Time.tsx"
import { errorCodes, isFiltered, noFilter } from "./messageSearch.ts"
import type { MessageSearch } from "./messageSearch.ts"
import { statuses } from "./MessageStatus.tsx"
import type { Status } from "./MessageStatus.tsx"
import { failureLabels, filterLabels as labels } from "./words.ts"

interface FilterProps {
  readonly search: MessageSearch
  readonly setSearch: (change: MessageSearch) => void
}

/** One row; what it hides is named in a second one while it acts. */
export const MessageFilters = ({
  setSearch,
  search,
  workspaceId,
}: FilterProps & { workspaceId: number }) => {
  const hidden = [search.since, search.error, search.from, search.mode]
  return (
    <search className="relative flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Find
          key={search.find}
          label={labels.find}
          example={labels.findExample}
          find={search.find}
          setFind={(find) => setSearch({ find })}
        />
        <StatusFilter search={search} setSearch={setSearch} workspaceId={workspaceId} />
        <Menu name={labels.more} count={hidden.filter((one) => one !== undefined).length}>
          <TimeFilter search={search} setSearch={setSearch} />
          <Filter
            label={labels.error}
            value={search.error ?? ""}
            choose={(value) => setSearch({ error: errorCodes.find((code) => code === value) })}
            options={[
              ["", labels.anyError],
              ...errorCodes.map((code) => [code, failureLabels[code]] as const),
            ]}
          />
          <NumberFilter
            label={labels.from}
            chosen={search.from}
            choose={(from) => setSearch({ from })}
            workspaceId={workspaceId}
          />
          <ModeFilter mode={search.mode} choose={(mode) => setSearch({ mode })} />
        </Menu>
      </div>
      <Active search={search} setSearch={setSearch} />
    </search>
  )
}

/** The filters that act, each with the way to take it back, so that none acts unseen. */
const Active = ({ search, setSearch }: FilterProps) => {
  const { error, mode, reference, since, status } = search
  const now = useServiceTime()
  const drops: ReadonlyArray<readonly [name: string, change: MessageSearch] | false> = [
    status !== undefined && [status.join(", "), { status: undefined }],
    since !== undefined && [labels.since(clockTime(Date.parse(since), now)), { since: undefined }],
    error !== undefined && [failureLabels[error], { error: undefined }],
    search.from !== undefined && [labels.ofNumber(search.from), { from: undefined }],
    mode !== undefined && [labels.test, { mode: undefined }],
    reference !== undefined && [labels.reference(reference), { reference: undefined }],
  ]
  const active = drops.filter((one) => one !== false)
  if (active.length === 0 && !isFiltered(search)) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {active.map(([name, change]) => (
        <button
          key={name}
          type="button"
          onClick={() => setSearch(change)}
          className={`${pill} max-w-full`}
          aria-label={labels.drop(name)}
          aria-pressed
        >
          <span className="truncate">{name}</span>
          <Icon name="cross" />
        </button>
      ))}
      {isFiltered(search) && (
        <Button variant="quiet" onClick={() => setSearch(noFilter)}>
          <Icon name="cross" />
          {labels.clear}
        </Button>
      )}
    </div>
  )
}

const hourMillis = 3_600_000
const spans = [1, 24, 168, 720] as const

/** The address holds a time, so that a colleague who opens it later sees the same messages. */
const TimeFilter = ({ setSearch, search: { since } }: FilterProps) => {
  const now = useServiceTime()
  const choose = (value: string) => {
    const hours = Number(value)
    const from = new Date(Math.floor(now / 1000) * 1000 - hours * hourMillis)
    setSearch({ since: hours > 0 ? from.toISOString() : value === "" ? undefined : since })
  }
  return (
    <Filter
      label={labels.time}
      value={since === undefined ? "" : "since"}
      choose={choose}
      options={[
        ["", labels.anyTime],
        ...(since === undefined
          ? []
          : [["since", labels.since(clockTime(Date.parse(since), now))] as const]),
        ...spans.map((hours) => [hours, labels.spans[hours]] as const),
      ]}
    />
  )
}

/** How many messages have a status: those that wait now, and the results of 24 hours. */
const useStatusCounts = (
  workspaceId: number,
  mode: MessageSearch["mode"],
): Partial<Record<Status, string>> => {
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/figures", {
      path: { id: workspaceId },
      query: { mode },
    }),
  )
  if (data === undefined) return {}
  const sum = (status: "cancelled" | "expired" | "failed" | "sent") =>
    labels.inDay(data.buckets.reduce((total, bucket) => total + bucket[status], 0))
  return {
    queued: labels.now(data.waiting.queued),
    scheduled: labels.now(data.waiting.scheduled),
    sent: sum("sent"),
    failed: sum("failed"),
    cancelled: sum("cancelled"),
    expired: sum("expired"),
  }
}

const StatusFilter = ({
  search: { mode, status: chosen = [] },
  setSearch,
  workspaceId,
}: FilterProps & { workspaceId: number }) => {
  const counts = useStatusCounts(workspaceId, mode)
  const toggle = (status: Status) => {
    const next = chosen.includes(status)
      ? chosen.filter((one) => one !== status)
      : [...chosen, status]
    setSearch({ status: next.length === 0 ? undefined : next })
  }
  return (
    <Menu name={labels.status} count={chosen.length}>
      <fieldset className="-m-1 flex flex-col">
        <legend className="sr-only">{labels.status}</legend>
        {(Object.keys(statuses) as ReadonlyArray<Status>).map((status) => (
          <label
            key={status}
            className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 text-sm hover:bg-sunken pointer-coarse:min-h-10"
          >
            <input
              type="checkbox"
              checked={chosen.includes(status)}
              onChange={() => toggle(status)}
              className="size-4 accent-accent"
            />
            <Icon name={statuses[status].icon} className={statuses[status].ink} />
            {status}
            <span className="ml-auto text-xs text-soft tabular-nums">{counts[status]}</span>
          </label>
        ))}
      </fieldset>
    </Menu>
  )
}
