/** The filters above the list of messages. Each that the address can hold is shown, so that none acts unseen. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { asked } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { nameOf } from "../numbers/connection.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button, Kbd } from "../ui/parts.tsx"
import { clockTime } from "../ui/Time.tsx"
import { errorCodes, isFiltered, noFilter } from "./messageSearch.ts"
import type { MessageSearch } from "./messageSearch.ts"
import { statuses } from "./MessageStatus.tsx"
import type { Status } from "./MessageStatus.tsx"
import { filterWords as words } from "./words.ts"

interface FilterProps {
  readonly search: MessageSearch
  readonly look: (change: MessageSearch) => void
}

const scrolls =
  "flex min-w-0 gap-1.5 md:flex-wrap max-md:-mx-4 max-md:w-[100vw] max-md:overflow-x-auto max-md:px-4 max-md:py-0.5"

export const MessageFilters = ({
  look,
  search,
  workspaceId,
}: FilterProps & { workspaceId: number }) => (
  <search className="flex flex-col gap-2">
    <div className="flex flex-wrap items-center gap-2">
      <Find key={search.find} find={search.find} look={look} />
      <div className={scrolls}>
        <TimeFilter search={search} look={look} />
        <Filter
          label={words.error}
          value={search.error ?? ""}
          choose={(value) => look({ error: errorCodes.find((code) => code === value) })}
          options={[
            ["", words.anyError],
            ...errorCodes.map((code) => [code, words.errors[code]] as const),
          ]}
        />
        <NumberFilter search={search} look={look} workspaceId={workspaceId} />
        <Filter
          label={words.mode}
          value={search.mode ?? "live"}
          choose={(value) => look({ mode: value === "test" ? value : undefined })}
          options={[
            ["live", words.modes.live],
            ["test", words.modes.test],
          ]}
        />
      </div>
    </div>
    <div className="flex flex-wrap items-center gap-2">
      <StatusFilter search={search} look={look} />
      {search.reference !== undefined && (
        <button
          type="button"
          onClick={() => look({ reference: undefined })}
          className={`${pill} max-w-full`}
          aria-label={words.dropReference(search.reference)}
          aria-pressed
        >
          <span className="truncate">{words.reference(search.reference)}</span>
          <Icon name="cross" />
        </button>
      )}
      {isFiltered(search) && (
        <Button look="quiet" onClick={() => look(noFilter)}>
          <Icon name="cross" />
          {words.clear}
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
const TimeFilter = ({ look, search: { since } }: FilterProps) => {
  const now = useServiceTime()
  const choose = (value: string) => {
    const hours = Number(value)
    const from = new Date(Math.floor(now / 1000) * 1000 - hours * hourMillis)
    look({ since: hours > 0 ? from.toISOString() : value === "" ? undefined : since })
  }
  return (
    <Filter
      label={words.time}
      value={since === undefined ? "" : "since"}
      choose={choose}
      options={[
        ["", words.anyTime],
        ...(since === undefined
          ? []
          : [["since", words.since(clockTime(Date.parse(since), now))] as const]),
        ...spans.map((hours) => [hours, words.spans[hours]] as const),
      ]}
    />
  )
}

/** Only where there is a choice. */
const NumberFilter = ({
  look,
  search: { from },
  workspaceId,
}: FilterProps & { workspaceId: number }) => {
  const path = { id: workspaceId }
  const numbers =
    useQuery(asked("GET /admin/v1/workspaces/{id}/numbers", { path })).data?.data ?? []
  if (numbers.length < 2 && from === undefined) return null
  const isListed = from === undefined || numbers.some(({ id }) => id === from)
  return (
    <Filter
      label={words.from}
      value={String(from ?? "")}
      choose={(value) => look({ from: value === "" ? undefined : Number(value) })}
      options={[
        ["", words.anyNumber],
        ...(isListed ? [] : [[from, words.number(from)] as const]),
        ...numbers.map((number) => [number.id, nameOf(number)] as const),
      ]}
    />
  )
}

const pill =
  "inline-flex h-7 shrink-0 cursor-pointer items-center gap-1.5 rounded-full border border-edge bg-surface px-2.5 text-xs hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:font-medium aria-pressed:text-accent pointer-coarse:h-10"

const StatusFilter = ({ look, search: { status: chosen = [] } }: FilterProps) => {
  const toggle = (status: Status) => {
    const next = chosen.includes(status)
      ? chosen.filter((one) => one !== status)
      : [...chosen, status]
    look({ status: next.length === 0 ? undefined : next })
  }
  return (
    <fieldset className={scrolls}>
      <legend className="sr-only">{words.status}</legend>
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
  look,
}: {
  find: string | undefined
  look: (change: MessageSearch) => void
}) => {
  const [text, setText] = useState(find)
  const isChanged = text.trim() !== find
  const submit = (wanted: string) => {
    const next = wanted.trim()
    look({ find: next === "" ? undefined : next })
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
        <span className="sr-only">{words.find}</span>
        <input
          id="find"
          type="search"
          value={text}
          placeholder={words.findExample}
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
            {words.search} <span aria-hidden="true">↵</span>
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
