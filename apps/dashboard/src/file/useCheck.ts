/** What a file's messages are with those settings, and what this browser knows of an earlier sending. */
import { useDeferredValue, useMemo, useState } from "react"
import type { ChosenFile } from "./openFile.ts"
import { recall, unknownSlot } from "./memory.ts"
import type { FileMemory } from "./memory.ts"
import { checkRows, hasTemplate, runOf, toSlots, unknownPlaceholders } from "./plan.ts"
import type { FileSettings } from "./plan.ts"

/** Whether this browser sent the file: not at all, in part or whole in the same way, or in another way. */
type Earlier = "none" | "begun" | "sent" | "other"

/** The memory that sending begins with. */
const beginning = (run: string, again: number): FileMemory => ({
  at: Date.now(),
  run,
  again,
  ended: [],
  accepted: 0,
  begun: null,
})

export const useCheck = (id: number, { digest, sheet }: ChosenFile, given: FileSettings) => {
  // The fields stay quick to type into while 10,000 rows are checked.
  const settings = useDeferredValue(given)
  const checked = useMemo(() => checkRows(sheet, settings), [sheet, settings])
  const known = useMemo(() => recall(localStorage, id, digest, Date.now()), [id, digest])
  const [wantsAgain, setWantsAgain] = useState(false)
  const [wantsUnknown, setWantsUnknown] = useState(false)

  const slots = useMemo(() => {
    const isSame = known !== null && known.run === runOf(digest, settings, known.again)
    const again = known === null ? 0 : isSame && !wantsAgain ? known.again : known.again + 1
    const run = runOf(digest, settings, again)
    return { isSame, again, run, all: toSlots(checked.rows, run) }
  }, [known, digest, settings, checked, wantsAgain])
  const isOpen = (line: number) => known === null || !known.ended.includes(line)
  const isComplete = !slots.all.some(({ line }) => isOpen(line))
  const earlier: Earlier =
    known === null ? "none" : !slots.isSame ? "other" : isComplete ? "sent" : "begun"
  const goesOn = known !== null && slots.isSame && !wantsAgain
  const unknown = goesOn ? unknownSlot(known, Date.now()) : null
  const before: FileMemory = goesOn
    ? {
        ...known,
        ended: unknown === null || wantsUnknown ? known.ended : [...known.ended, unknown],
        begun: unknown === null ? known.begun : null,
      }
    : beginning(slots.run, slots.again)
  const left = slots.all
    .filter(({ line }) => !before.ended.includes(line))
    .reduce((sum, { rows }) => sum + rows.length, 0)
  const isReady =
    left > 0 &&
    hasTemplate(settings) &&
    (checked.problems.length === 0 || settings.leaveOutWrong) &&
    unknownPlaceholders(settings.template, sheet).length === 0 &&
    (wantsAgain || earlier === "none" || earlier === "begun")
  return {
    ...checked,
    id,
    earlier,
    accepted: known?.accepted ?? 0,
    unknown,
    left,
    goesOn,
    requests: slots.all.filter(({ line }) => !before.ended.includes(line)).length,
    wantsAgain,
    setWantsAgain,
    wantsUnknown,
    setWantsUnknown,
    sending: isReady ? { slots: slots.all, settings, digest, before } : null,
  }
}

export type Check = ReturnType<typeof useCheck>
