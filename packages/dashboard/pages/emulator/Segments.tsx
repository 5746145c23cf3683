/** One of a few answers of the other end, as buttons side by side. */
export const Segments = <Value extends string>({
  choose,
  chosen,
  group,
  options,
  title,
}: {
  /** The name of the group of radio buttons. */
  group: string
  title: string
  options: ReadonlyArray<readonly [value: Value, label: readonly [name: string, about: string]]>
  chosen: Value
  choose: (value: Value) => void
}) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="label pb-1">{title}</legend>
    <div className="grid grid-cols-4 gap-0.5 rounded-md bg-sunken p-0.5">
      {options.map(([value, [name]]) => (
        <label
          key={value}
          className="grid h-8 cursor-pointer place-items-center rounded text-xs text-soft has-checked:bg-raised has-checked:font-medium has-checked:text-ink has-checked:shadow-card has-focus-visible:outline-2 has-focus-visible:outline-focus"
        >
          <input
            type="radio"
            name={group}
            className="sr-only"
            checked={chosen === value}
            onChange={() => choose(value)}
          />
          {name}
        </label>
      ))}
    </div>
    <p className="min-h-8 text-xs text-soft">
      {options.find(([value]) => value === chosen)?.[1][1]}
    </p>
  </fieldset>
)
