/** What was sent or answered, as text only. Apart from forms, which the emulator does not load. */
/** JSON with its lines; any other text as it is. */
const readable = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** A body under its name, shown as text only. */
export const Body = ({
  label,
  none,
  text,
}: {
  label: string
  none: string
  text: string | null
}) => (
  <section className="flex min-w-0 flex-col gap-1" aria-label={label}>
    <h3 className="text-sm font-medium">{label}</h3>
    {text === null || text === "" ? (
      <p className="text-sm text-soft">{none}</p>
    ) : (
      <pre
        // A long body scrolls, also with the keyboard.
        tabIndex={0}
        className="max-h-56 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs break-all whitespace-pre-wrap"
      >
        {readable(text)}
      </pre>
    )}
  </section>
)
