/** Filters above a list. Each that the address can hold is shown, so that none acts unseen. */
import { useState } from "react"
import { Icon } from "./Icon.tsx"
import { Kbd } from "./parts.tsx"
import { filterLabels as labels } from "./words.ts"

/** One of a few values. */
export const Filter = ({
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
    className="control field-sizing-content max-w-full shrink-0 cursor-pointer hover:bg-sunken md:max-w-60"
  >
    {options.map(([one, name]) => (
      <option key={one} value={one}>
        {name}
      </option>
    ))}
  </select>
)

/** Live messages when left out. */
export type ModeSearch = "test" | undefined

export const ModeFilter = ({
  choose,
  mode,
}: {
  mode: ModeSearch
  choose: (mode: ModeSearch) => void
}) => (
  <Filter
    label={labels.mode}
    value={mode ?? "live"}
    choose={(value) => choose(value === "test" ? value : undefined)}
    options={[
      ["live", labels.modes.live],
      ["test", labels.modes.test],
    ]}
  />
)

/** A filter that is on or off. */
export const pill =
  "inline-flex h-8 shrink-0 cursor-pointer items-center gap-1.5 rounded-full border border-edge bg-surface px-2.5 text-xs hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:font-medium aria-pressed:text-accent pointer-coarse:h-10"

/** Looking for it costs the service work, so it begins when the user says so. */
export const Find = ({
  className = "w-60 max-md:w-full",
  example,
  find = "",
  label,
  setFind,
}: {
  label: string
  example: string
  find: string | undefined
  setFind: (find: string | undefined) => void
  className?: string
}) => {
  const [text, setText] = useState(find)
  const isChanged = text.trim() !== find
  const submit = (query: string) => {
    const next = query.trim()
    setFind(next === "" ? undefined : next)
  }
  return (
    <form
      className="max-md:w-full"
      onSubmit={(event) => {
        event.preventDefault()
        submit(text)
      }}
    >
      <label
        className={`control pr-1 focus-within:outline-2 focus-within:outline-focus ${className}`}
      >
        <Icon name="search" className="text-faint" />
        <span className="sr-only">{label}</span>
        <input
          id="find"
          type="search"
          value={text}
          placeholder={example}
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
