/** The filters above the list of messages. */
import { useServiceTime } from "../api/serviceTime.ts"
import { NumberFilter } from "../numbers/NumberFilter.tsx"
import { Filter, Find, ModeFilter, pill } from "../ui/filters.tsx"
import { Icon } from "../ui/Icon.tsx"
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

const scrolls =
  "flex min-w-0 gap-1.5 md:flex-wrap max-md:-mx-4 max-md:w-[100vw] max-md:overflow-x-auto max-md:pl-4 max-md:fades max-md:py-0.5"

export const MessageFilters = ({
  setSearch,
  search,
  workspaceId,
}: FilterProps & { workspaceId: number }) => (
  <search className="flex flex-col gap-2">
    <div className="flex flex-wrap items-center gap-2">
      <Find
        key={search.find}
        label={labels.find}
        example={labels.findExample}
        find={search.find}
        setFind={(find) => setSearch({ find })}
      />
      <div className={scrolls}>
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
      </div>
    </div>
    <div className="flex flex-wrap items-center gap-2">
      <StatusFilter search={search} setSearch={setSearch} />
      {search.reference !== undefined && (
        <button
          type="button"
          onClick={() => setSearch({ reference: undefined })}
          className={`${pill} max-w-full`}
          aria-label={labels.dropReference(search.reference)}
          aria-pressed
        >
          <span className="truncate">{labels.reference(search.reference)}</span>
          <Icon name="cross" />
        </button>
      )}
      {isFiltered(search) && (
        <Button variant="quiet" onClick={() => setSearch(noFilter)}>
          <Icon name="cross" />
          {labels.clear}
        </Button>
      )}
    </div>
  </search>
)

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

const StatusFilter = ({ setSearch, search: { status: chosen = [] } }: FilterProps) => {
  const toggle = (status: Status) => {
    const next = chosen.includes(status)
      ? chosen.filter((one) => one !== status)
      : [...chosen, status]
    setSearch({ status: next.length === 0 ? undefined : next })
  }
  return (
    <fieldset className={scrolls}>
      <legend className="sr-only">{labels.status}</legend>
      {(Object.keys(statuses) as ReadonlyArray<Status>).map((status) => (
        <button
          key={status}
          type="button"
          aria-pressed={chosen.includes(status)}
          onClick={() => toggle(status)}
          className={pill}
        >
          <Icon name={statuses[status].icon} />
          {status}
        </button>
      ))}
    </fieldset>
  )
}
