/**
 * What lies between an account and the vault, so that a message does not cost a question for each thing
 * that is known already, nor a write for each step of what may be a second behind. It holds for as long
 * as the account is this process's, and no longer.
 */
import type { KeyChange } from "@messaging-service/core"
import { endInTime } from "./Client.ts"
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

/** What may wait is written so soon after it changed, with what changes meanwhile, in real milliseconds. */
const soonMillis = 20

/** And so long after it was last written at the earliest. */
const laterMillis = 1000

const nameOf = ({ id, type }: Pick<KeyChange, "type" | "id">): string => `${type} ${id}`

export interface Remembering extends KeyPlace {
  /**
   * Notes a key that is written a little later, with others; what is read of it is the latest at once.
   * `value` is asked for when it is needed.
   */
  readonly later: (type: string, id: string, value: () => string | null) => void
  /** From now on nothing is written by itself; what waits is written before, if `mayWrite`. */
  readonly end: (mayWrite: boolean) => Promise<void>
}

export const remembering = (
  place: KeyPlace,
  pauses: { readonly soon: number; readonly later: number } = {
    soon: soonMillis,
    later: laterMillis,
  },
): Remembering => {
  const latest = new Map<string, string | null>()
  const remember = (name: string, value: string | null) => {
    latest.delete(name)
    latest.set(name, value)
    const [oldest] = latest.keys()
    if (latest.size > mostRemembered && oldest !== undefined) latest.delete(oldest)
  }

  /** Those of the box's state that were written once: without any, nothing could be caught up with. */
  const begun = new Set<string>()
  const mayWait = ({ id, type }: KeyChange) => type === "state" && begun.has(id)

  interface Waiting extends Pick<KeyChange, "type" | "id"> {
    readonly value: () => string | null
  }
  const waiting = new Map<string, Waiting>()
  /** What is being written: until that is done it cannot be read. */
  const underWay = new Map<string, string | null>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | null = null
  let isEnded = false
  let lastAt = -Infinity
  const writeWaiting = (): Promise<void> => {
    timer = undefined
    if (waiting.size === 0) return Promise.resolve()
    lastAt = performance.now()
    const changes = [...waiting.values()].map(({ id, type, value }): KeyChange => ({
      type,
      id,
      value: value(),
    }))
    waiting.clear()
    for (const change of changes) {
      remember(nameOf(change), change.value)
      underWay.set(nameOf(change), change.value)
    }
    writing = place
      .write(changes)
      .catch(() => undefined)
      .finally(() => {
        underWay.clear()
        writing = null
        writeSoon()
      })
    return writing
  }
  const writeSoon = () => {
    if (isEnded || writing !== null || waiting.size === 0) return
    const left = pauses.later - (performance.now() - lastAt)
    timer ??= setTimeout(() => void writeWaiting(), Math.max(pauses.soon, left))
  }
  const later = (type: string, id: string, value: () => string | null) => {
    waiting.set(nameOf({ type, id }), { type, id, value })
    writeSoon()
  }

  return {
    later,
    read: async (type, id) => {
      const name = nameOf({ type, id })
      const waits = waiting.get(name)
      if (waits !== undefined) return waits.value()
      const known = latest.has(name) ? latest.get(name) : underWay.get(name)
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
      const soon: Array<KeyChange> = []
      for (const change of changes) {
        const { id, type, value } = change
        remember(nameOf(change), value)
        if (mayWait(change)) later(type, id, () => value)
        else soon.push(change)
      }
      if (soon.length === 0) return
      await place.write(soon)
      for (const { id, type } of soon) if (type === "state" && boxState.has(id)) begun.add(id)
    },
    clear: (type) => {
      for (const name of latest.keys()) if (name.startsWith(`${type} `)) latest.delete(name)
      for (const [name, change] of waiting) if (change.type === type) waiting.delete(name)
      return place.clear(type)
    },
    end: async (mayWrite) => {
      isEnded = true
      clearTimeout(timer)
      if (!mayWrite) return waiting.clear()
      if (waiting.size === 0 && writing === null) return
      await endInTime(Promise.resolve(writing).then(writeWaiting))
      waiting.clear()
    },
  }
}
