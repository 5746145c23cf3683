/**
 * What lies between an account and the vault, so that a message does not cost a question for each thing
 * that is known already, nor a write for each step of what may be a second behind. It holds for as long
 * as the account is this process's, and no longer.
 */
import type { KeyChange } from "@messaging-service/core/ports"
import type { KeyPlace } from "./storage.ts"

/** So many of the latest keys of an account are remembered. */
const mostRemembered = 100

/**
 * How far the account's box was read. When the latest of it is lost with the process, what came since is
 * told once more.
 */
const boxState: ReadonlySet<string> = new Set([
  "updates_pts",
  "updates_qts",
  "updates_date",
  "updates_seq",
])

/** The latest of the box's state is written so long after it changed, in real milliseconds. */
const boxMillis = 1000

const nameOf = ({ id, type }: Pick<KeyChange, "type" | "id">): string => `${type} ${id}`

export interface Remembering extends KeyPlace {
  /** Writes nothing more by itself. */
  readonly stop: () => void
}

export const remembering = (place: KeyPlace, laterMillis = boxMillis): Remembering => {
  const latest = new Map<string, string | null>()
  const remember = (name: string, value: string | null) => {
    latest.delete(name)
    latest.set(name, value)
    const [oldest] = latest.keys()
    if (latest.size > mostRemembered && oldest !== undefined) latest.delete(oldest)
  }

  /** Those of the box's state that were written once: without any, nothing could be caught up with. */
  const begun = new Set<string>()
  const waiting = new Map<string, KeyChange>()
  let timer: NodeJS.Timeout | undefined
  const writeWaiting = () => {
    timer = undefined
    const changes = [...waiting.values()]
    waiting.clear()
    place.write(changes).catch(() => undefined)
  }
  const mayWait = (change: KeyChange) => change.type === "state" && begun.has(change.id)

  return {
    read: async (type, id) => {
      const name = nameOf({ type, id })
      const known = waiting.get(name)?.value ?? latest.get(name)
      if (known !== undefined) {
        remember(name, known)
        return known
      }
      const value = await place.read(type, id)
      // It may have been written meanwhile.
      const now = latest.get(name)
      if (now !== undefined) return now
      remember(name, value)
      return value
    },
    write: async (changes) => {
      for (const change of changes) remember(nameOf(change), change.value)
      const soon = changes.filter((change) => !mayWait(change))
      for (const change of changes) if (mayWait(change)) waiting.set(nameOf(change), change)
      if (waiting.size > 0) timer ??= setTimeout(writeWaiting, laterMillis)
      if (soon.length === 0) return
      await place.write(soon)
      for (const { id, type } of soon) if (type === "state" && boxState.has(id)) begun.add(id)
    },
    clear: (type) => {
      for (const name of latest.keys()) if (name.startsWith(`${type} `)) latest.delete(name)
      for (const [name, change] of waiting) if (change.type === type) waiting.delete(name)
      return place.clear(type)
    },
    stop: () => {
      clearTimeout(timer)
      waiting.clear()
    },
  }
}
