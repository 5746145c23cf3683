/** What a file's messages are with those settings, and what this browser knows of an earlier sending. */
import { useEffect, useMemo, useState } from "react"
import { recall, unknownSlot } from "./memory.ts"
import type { FileMemory } from "./memory.ts"
import { checkRows, hasTemplate, getRun, toSlots, unknownPlaceholders } from "./plan.ts"
import type { FileSettings } from "./plan.ts"
import type { ChosenFile } from "./sheet.ts"
import { workInSlices } from "./turns.ts"
import type { Slices } from "./turns.ts"

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

type Wants = Readonly<Record<"again" | "unknown", boolean>>

/** What the rows are with those settings, and which requests send them. */
const checkFile = function* (
  { digest, sheet }: ChosenFile,
  settings: FileSettings,
  known: FileMemory | null,
  needsRetry: boolean,
) {
  const checked = yield* checkRows(sheet, settings)
  const isSame = known !== null && known.run === getRun(digest, settings, known.again)
  const again = known === null ? 0 : isSame && !needsRetry ? known.again : known.again + 1
  const run = getRun(digest, settings, again)
  return { ...checked, isSame, again, run, slots: yield* toSlots(checked.rows, run) }
}

type CheckedFile = ReturnType<typeof checkFile> extends Slices<infer Result> ? Result : never

/** Null until the file was first checked; later what it was before, while other settings are checked. */
const useCheckedFile = (
  file: ChosenFile,
  settings: FileSettings,
  known: FileMemory | null,
  needsRetry: boolean,
) => {
  const [last, setLast] = useState<{ of: FileSettings; again: boolean; is: CheckedFile } | null>(
    null,
  )
  useEffect(() => {
    const stop = new AbortController()
    void workInSlices(checkFile(file, settings, known, needsRetry), stop.signal).then(
      (is) => setLast({ of: settings, again: needsRetry, is }),
      (error: unknown) => {
        // Stopped when other settings took its place.
        if (!stop.signal.aborted) throw error
      },
    )
    return () => stop.abort()
  }, [file, settings, known, needsRetry])
  return { last, isCurrent: last?.of === settings && last.again === needsRetry }
}

export const useCheck = (id: number, file: ChosenFile, settings: FileSettings) => {
  const { digest, sheet } = file
  const known = useMemo(() => recall(localStorage, id, digest, Date.now()), [id, digest])
  const [wants, setWants] = useState<Wants>({ again: false, unknown: false })
  const { isCurrent, last } = useCheckedFile(file, settings, known, wants.again)
  if (last === null) return null
  const { again, isSame, problems, repeated, rows, run, slots } = last.is

  const endedBefore = new Set(known?.ended)
  const isComplete = slots.every(({ line }) => endedBefore.has(line))
  const earlier: Earlier =
    known === null ? "none" : !isSame ? "other" : isComplete ? "sent" : "begun"
  const goesOn = known !== null && isSame && !wants.again
  const unknown = goesOn ? unknownSlot(known, Date.now()) : null
  const before: FileMemory = goesOn
    ? {
        ...known,
        ended: unknown === null || wants.unknown ? known.ended : [...known.ended, unknown],
        begun: unknown === null ? known.begun : null,
      }
    : beginning(run, again)
  const ended = new Set(before.ended)
  const left = slots
    .filter(({ line }) => !ended.has(line))
    .reduce((sum, slot) => sum + slot.rows.length, 0)
  const isReady =
    isCurrent &&
    left > 0 &&
    hasTemplate(settings) &&
    (problems.length === 0 || settings.leaveOutWrong) &&
    unknownPlaceholders(settings.template, sheet).length === 0 &&
    (wants.again || earlier === "none" || earlier === "begun")
  return {
    rows,
    problems,
    repeated,
    id,
    earlier,
    accepted: known?.accepted ?? 0,
    unknown,
    left,
    goesOn,
    wants,
    want: (change: Partial<Wants>) => setWants((now) => ({ ...now, ...change })),
    sending: isReady ? { slots, settings, digest, before } : null,
  }
}

export type Check = NonNullable<ReturnType<typeof useCheck>>
