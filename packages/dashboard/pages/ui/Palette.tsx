/**
 * Finds everything that a user can go to or do by a few words: pages, workspaces, a message by its number, a
 * phone, actions. Opens with Ctrl K or Cmd K.
 */
import { useEffect, useId, useRef, useState } from "react"
import type { KeyboardEvent } from "react"
import { findByLabels } from "./find.ts"
import type { Findable } from "./find.ts"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./Icon.tsx"
import { Kbd } from "./parts.tsx"
import { paletteLabels as labels } from "./words.ts"

export interface Command extends Findable {
  readonly group: string
  readonly icon: IconName
  readonly keys?: string
  readonly act: () => void
}

const foundMax = 12

/** Opens a `<dialog>` when it is first drawn. */
const useModal = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return dialog
}

export const Palette = ({
  close,
  commands,
  guess,
  isOperator,
}: {
  commands: ReadonlyArray<Command>
  /** What else the letters could mean, such as the number of a message. */
  guess: (letters: string) => ReadonlyArray<Command>
  /** Others have one workspace only. */
  isOperator: boolean
  close: () => void
}) => {
  const dialog = useModal()
  const [letters, setLetters] = useState("")
  const [at, setAt] = useState(0)
  const list = useId()
  const found = [...guess(letters.trim()), ...findByLabels(commands, letters).slice(0, foundMax)]
  const chosen = found[Math.min(at, found.length - 1)]

  useEffect(() => {
    document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: "nearest" })
  }, [at, list])

  const run = (command: Command | undefined) => {
    if (command === undefined) return
    close()
    command.act()
  }
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step === 0 && event.key !== "Enter") return
    event.preventDefault()
    if (step === 0) run(chosen)
    else setAt((at + step + found.length) % Math.max(1, found.length))
  }

  return (
    <dialog
      ref={dialog}
      aria-label={labels.title}
      closedby="any"
      onClose={close}
      className="over mx-auto mt-[12vh] w-[36rem] max-w-[calc(100vw-1.5rem)] overflow-hidden p-0"
    >
      <label className="flex h-12 items-center gap-3 border-b border-line px-4">
        <Icon name="search" className="text-faint" />
        <span className="sr-only">{labels.field}</span>
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={chosen && `${list}-${found.indexOf(chosen)}`}
          aria-autocomplete="list"
          autoFocus
          value={letters}
          placeholder={labels.example(isOperator)}
          onChange={(event) => {
            setLetters(event.target.value)
            setAt(0)
          }}
          onKeyDown={pressed}
          className="h-full min-w-0 grow bg-transparent text-lg outline-none placeholder:text-faint"
        />
        <Kbd>Esc</Kbd>
      </label>
      <Found id={list} chosen={chosen} commands={found} point={setAt} run={run} />
      {found.length === 0 && <p className="px-4 pb-4 text-sm text-soft">{labels.nothing}</p>}
    </dialog>
  )
}

const Found = ({
  chosen,
  commands,
  id,
  point,
  run,
}: {
  id: string
  commands: ReadonlyArray<Command>
  chosen: Command | undefined
  point: (index: number) => void
  run: (command: Command) => void
}) => (
  <ul
    id={id}
    role="listbox"
    aria-label={labels.found}
    className="max-h-[50vh] overflow-y-auto p-1.5"
  >
    {commands.map((command, index) => (
      <li
        key={`${command.group} ${command.name}`}
        id={`${id}-${index}`}
        role="option"
        aria-selected={command === chosen}
        onPointerMove={() => point(index)}
        onClick={() => run(command)}
        className="flex h-9 cursor-pointer items-center gap-3 rounded-md px-2.5 text-sm aria-selected:bg-accent-wash"
      >
        <Icon name={command.icon} className="text-soft" />
        <span className="truncate">{command.name}</span>
        <span className="ml-auto text-xs text-soft">{command.group}</span>
        {command.keys && <Kbd>{command.keys}</Kbd>}
      </li>
    ))}
  </ul>
)

/** Lists all keys by what they do. */
export const KeysHelp = ({
  close,
  rows,
}: {
  rows: ReadonlyArray<readonly [keys: string, what: string]>
  close: () => void
}) => {
  const dialog = useModal()
  return (
    <dialog
      ref={dialog}
      aria-label={labels.keys}
      closedby="any"
      onClose={close}
      className="over m-auto w-[24rem] max-w-[calc(100vw-1.5rem)] p-5"
    >
      <h2 className="mb-3 text-lg font-semibold">{labels.keys}</h2>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2 text-sm">
        {rows.map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt className="flex gap-1 font-mono text-xs">
              {keys.split(" ").map((key) => (
                <span key={key} className="rounded border border-edge px-1.5 py-0.5">
                  {key}
                </span>
              ))}
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  )
}
