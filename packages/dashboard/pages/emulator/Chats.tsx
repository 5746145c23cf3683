/** The phones that received or wrote messages, the latest first. */
import { kindLabels } from "../chats/words.ts"
import { Button } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import type { Chat, PhoneEntry } from "./phoneEntries.ts"
import { emulatorLabels as labels } from "./words.ts"

/** The last message in a few words. */
const lastMessage = (entries: ReadonlyArray<PhoneEntry>): string => {
  const { copy = null, written = null } = entries.at(-1) ?? {}
  if (copy !== null)
    return copy.text || (copy.media?.mime_type.startsWith("image/") ? labels.image : labels.file)
  if (written === null) return labels.nothing
  return labels.wrote(written.text || written.media?.file_name || kindLabels[written.kind])
}

export const Chats = ({
  chats,
  open,
  visible,
}: {
  chats: ReadonlyArray<Chat>
  visible: string
  open: (to: string) => void
}) => {
  const isNew = !chats.some(({ to }) => to === visible)
  const rows = isNew ? [{ to: visible, entries: [], last: "" }, ...chats] : chats
  return (
    <nav aria-label={labels.phones} className="card min-w-0 overflow-hidden">
      <h2 className="label border-b border-line px-3 py-2">{labels.phones}</h2>
      <ul className="max-h-[38rem] overflow-y-auto max-lg:flex max-lg:overflow-x-auto max-lg:fades">
        {rows.map(({ entries, last, to }) => (
          <li
            key={to}
            className="border-line max-lg:shrink-0 max-lg:border-r lg:border-b lg:last:border-0"
          >
            <button
              type="button"
              aria-current={to === visible ? "true" : undefined}
              onClick={() => open(to)}
              className="flex w-full cursor-pointer flex-col px-3 py-2 text-left hover:bg-sunken aria-[current=true]:bg-accent-wash"
            >
              <span className="flex w-full items-baseline gap-3">
                <span className="font-mono text-xs font-medium">{to}</span>
                <span className="ml-auto text-2xs text-soft">
                  {last !== "" && <When at={last} />}
                </span>
              </span>
              <span className="max-w-52 truncate text-xs text-soft max-lg:hidden">
                {lastMessage(entries)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <OpenPhone open={open} />
    </nav>
  )
}

export const phonePattern = /^\+\d{7,15}$/

const OpenPhone = ({ open }: { open: (to: string) => void }) => (
  <form
    className="flex gap-2 border-t border-line p-2"
    onSubmit={(event) => {
      event.preventDefault()
      const to = String(new FormData(event.currentTarget).get("phone") ?? "").trim()
      if (phonePattern.test(to)) open(to)
    }}
  >
    <input
      name="phone"
      type="tel"
      required
      pattern="\+[0-9]{7,15}"
      aria-label={labels.another}
      placeholder="+15550100009"
      className="control min-w-0 grow justify-start border-line font-mono text-xs"
    />
    <Button type="submit">{labels.open}</Button>
  </form>
)
