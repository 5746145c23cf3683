/** The filters above the list of messages. */
import { Icon } from "../ui/Icon.tsx"
import { Button, Kbd } from "../ui/parts.tsx"
import { statuses } from "./MessageStatus.tsx"
import type { Status } from "./MessageStatus.tsx"
import { errorCodes, isFiltered, noFilter } from "./messageSearch.ts"
import type { MessageSearch } from "./messageSearch.ts"
import { messagesWords as words } from "./words.ts"

export const MessageFilters = ({
  look,
  search,
}: {
  search: MessageSearch
  look: (change: MessageSearch) => void
}) => {
  const chosen = search.status ?? []
  const toggle = (status: Status) => {
    const next = chosen.includes(status)
      ? chosen.filter((one) => one !== status)
      : [...chosen, status]
    look({ status: next.length === 0 ? undefined : next })
  }
  return (
    <search className="flex flex-wrap items-center gap-2">
      <Find find={search.find} look={look} />
      <select
        aria-label={words.error}
        className="control border-line"
        value={search.error ?? ""}
        onChange={({ target }) => look({ error: errorCodes.find((code) => code === target.value) })}
      >
        <option value="">{words.anyError}</option>
        {errorCodes.map((code) => (
          <option key={code}>{code}</option>
        ))}
      </select>
      <fieldset className="flex min-w-0 gap-1 max-md:-mx-4 max-md:max-w-[100vw] max-md:overflow-x-auto max-md:px-4">
        <legend className="sr-only">{words.status}</legend>
        {(Object.keys(statuses) as ReadonlyArray<Status>).map((status) => (
          <button
            key={status}
            type="button"
            aria-pressed={chosen.includes(status)}
            onClick={() => toggle(status)}
            className="h-8 shrink-0 cursor-pointer rounded-md px-2.5 text-xs text-soft hover:bg-sunken aria-pressed:bg-accent-wash aria-pressed:font-medium aria-pressed:text-accent"
          >
            {status}
          </button>
        ))}
        {isFiltered(search) && (
          <Button look="quiet" onClick={() => look(noFilter)}>
            <Icon name="cross" />
            {words.clear}
          </Button>
        )}
      </fieldset>
    </search>
  )
}

const Find = ({
  find,
  look,
}: {
  find: string | undefined
  look: (change: MessageSearch) => void
}) => (
  <form
    className="contents"
    onSubmit={(event) => {
      event.preventDefault()
      const text = String(new FormData(event.currentTarget).get("find") ?? "").trim()
      look({ find: text === "" ? undefined : text })
    }}
  >
    <label className="control w-60 border-line focus-within:outline-2 focus-within:outline-focus max-md:w-full">
      <Icon name="search" className="text-faint" />
      <span className="sr-only">{words.find}</span>
      <input
        id="find"
        name="find"
        type="search"
        key={find}
        defaultValue={find}
        placeholder={words.findExample}
        className="min-w-0 grow bg-transparent outline-none placeholder:text-faint"
      />
      <span className="max-md:hidden">
        <Kbd>/</Kbd>
      </span>
    </label>
  </form>
)
