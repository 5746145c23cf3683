/** Files that this tab sends, one of each workspace, whichever page is open. Part of the first page: no other code. */
import { useSyncExternalStore } from "react"
import type { FileMemory } from "./memory.ts"
import type { FileSettings, Slot } from "./plan.ts"
import type { RefusedRow, SendingSteps } from "./sending.ts"

export interface Sending {
  readonly slots: ReadonlyArray<Slot>
  readonly settings: Pick<FileSettings, "from" | "mode">
  readonly digest: string
  /** What was sent of it before. */
  readonly before: FileMemory
}

export interface SendingState {
  /** `failed`: by an error that concerns all that follows. */
  readonly progress: "sending" | "stopped" | "failed" | "done"
  readonly error: unknown
  readonly memory: FileMemory
  readonly acceptedBefore: number
  readonly refused: ReadonlyArray<RefusedRow>
  readonly waitsFor: Parameters<SendingSteps["waitsFor"]>[0]
}

export interface FileRun {
  readonly workspaceId: number
  readonly sending: Sending
  readonly state: SendingState
  readonly goOn: () => void
  readonly stop: () => void
  /** Stops it for good, and forgets its rows. */
  readonly drop: () => void
}

let runs: ReadonlyArray<FileRun> = []
const listeners = new Set<() => void>()

const change = (next: ReadonlyArray<FileRun>): void => {
  runs = next
  for (const changed of listeners) changed()
}

const subscribe = (changed: () => void) => {
  listeners.add(changed)
  return () => void listeners.delete(changed)
}

export const showRun = (run: FileRun): void =>
  change([...runs.filter(({ workspaceId }) => workspaceId !== run.workspaceId), run])

export const forgetRun = (id: number): void =>
  change(runs.filter(({ workspaceId }) => workspaceId !== id))

/** Drops every run when the user signs out. */
export const dropRuns = (): void => {
  for (const run of runs) run.drop()
}

export const useFileRuns = (): ReadonlyArray<FileRun> => useSyncExternalStore(subscribe, () => runs)

/** How many rows the service has answered, of how many. */
export const getProgress = ({ sending: { slots }, state: { memory } }: FileRun) => {
  const ended = new Set(memory.ended)
  let [answered, all] = [0, 0]
  for (const { line, rows } of slots) {
    all += rows.length
    if (ended.has(line)) answered += rows.length
  }
  return { answered, all }
}
