/** The filters above the list of messages. Each that the address can hold is shown, so that none acts unseen. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { operationQuery } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { toName } from "../numbers/connection.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button, Kbd } from "../ui/parts.tsx"
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
  "flex min-w-0 gap-1.5 md:flex-wrap max-md:-mx-4 max-md:w-[100vw] max-md:overflow-x-auto max-md:px-4 max-md:py-0.5"

export const MessageFilters = ({
  setSearch,
  search,
  workspaceId,
}: FilterProps & { workspaceId: number }) => (
  <search className="flex flex-col gap-2">
    <div className="flex flex-wrap items-center gap-2">
      <Find key={search.find} find={search.find} setSearch={setSearch} />
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
        <NumberFilter search={search} setSearch={setSearch} workspaceId={workspaceId} />
        <Filter
          label={labels.mode}
          value={search.mode ?? "live"}
          choose={(value) => setSearch({ mode: value === "test" ? value : undefined })}
          options={[
            ["live", labels.modes.live],
            ["test", labels.modes.test],
          ]}
        />
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

const Filter = ({
  choose,
  label,
  options,
  value,
}: {
  label: string
  value: string
  choose: (value: string) => void
  options: ReadonlyArray<readonly [value: string | number, name: string]>
}) => (
  <select
    aria-label={label}
    value={value}
    onChange={({ target }) => choose(target.value)}
    // As wide as what is chosen, where the browser can.
    className="control field-sizing-content max-w-52 shrink-0 cursor-pointer hover:bg-sunken"
  >
    {options.map(([one, name]) => (
      <option key={one} value={one}>
        {name}
      </option>
    ))}
  </select>
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

/** Only where there is a choice. */
const NumberFilter = ({
  setSearch,
  search: { from },
  workspaceId,
}: FilterProps & { workspaceId: number }) => {
  const path = { id: workspaceId }
  const numbers =
    useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path })).data?.data ?? []
  if (numbers.length < 2 && from === undefined) return null
  const isListed = from === undefined || numbers.some(({ id }) => id === from)
  return (
    <Filter
      label={labels.from}
      value={String(from ?? "")}
      choose={(value) => setSearch({ from: value === "" ? undefined : Number(value) })}
      options={[
        ["", labels.anyNumber],
        ...(isListed ? [] : [[from, labels.number(from)] as const]),
        ...numbers.map((number) => [number.id, toName(number)] as const),
      ]}
    />
  )
}

const pill =
  "inline-flex h-7 shrink-0 cursor-pointer items-center gap-1.5 rounded-full border border-edge bg-surface px-2.5 text-xs hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:font-medium aria-pressed:text-accent pointer-coarse:h-10"

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

/** Looking through texts costs the service work, so it begins when the user says so. */
const Find = ({
  find = "",
  setSearch,
}: {
  find: string | undefined
  setSearch: (change: MessageSearch) => void
}) => {
  const [text, setText] = useState(find)
  const isChanged = text.trim() !== find
  const submit = (query: string) => {
    const next = query.trim()
    setSearch({ find: next === "" ? undefined : next })
  }
  return (
    <form
      className="max-md:w-full"
      onSubmit={(event) => {
        event.preventDefault()
        submit(text)
      }}
    >
      <label className="control w-60 pr-1 focus-within:outline-2 focus-within:outline-focus max-md:w-full">
        <Icon name="search" className="text-faint" />
        <span className="sr-only">{labels.find}</span>
        <input
          id="find"
          type="search"
          value={text}
          placeholder={labels.findExample}
          onChange={({ target }) => {
            setText(target.value)
            if (target.value === "" && find !== "") submit("")
          }}
          className="min-w-0 grow bg-transparent outline-none placeholder:text-faint"
        />
        {isChanged ? (
          <button
            type="submit"
            className="inline-flex h-6 cursor-pointer items-center gap-1.5 rounded bg-accent px-2 text-xs font-medium text-on-accent hover:opacity-90"
          >
            {labels.search} <span aria-hidden="true">↵</span>
          </button>
        ) : (
          <span className="pr-1.5 max-md:hidden">
            <Kbd>/</Kbd>
          </span>
        )}
      </label>
    </form>
  )
}
