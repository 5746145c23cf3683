/**
 * The keys that a connection read and wrote last, kept beside the store: a text to a person who was
 * written to before asks for the same few keys again and again. Only the worker that holds the
 * number writes them, so they change here or nowhere; a connection begins with none.
 */
import type { KeyChange } from "@messaging-service/core"

/** Some 200 kB for a number that writes to many at once; an idle one has a few. */
const most = 100

/** Hundreds are made at once and hardly any is read again. */
const passing = "pre-key"

type Read = (type: string, ids: ReadonlyArray<string>) => Promise<ReadonlyMap<string, string>>

export const latestKeys = (readStored: Read) => {
  /** The latest last; null for what the store has not. */
  const kept = new Map<string, string | null>()
  let writes = 0

  const keep = (type: string, id: string, value: string | null) => {
    if (type === passing) return
    const place = `${type} ${id}`
    kept.delete(place)
    kept.set(place, value)
    for (const oldest of kept.keys()) {
      if (kept.size <= most) return
      kept.delete(oldest)
    }
  }

  const read: Read = async (type, ids) => {
    const found = new Map<string, string>()
    const take = (id: string, value: string | null, isCurrent: boolean) => {
      if (isCurrent) keep(type, id, value)
      if (value !== null) found.set(id, value)
    }
    const others: Array<string> = []
    for (const id of ids) {
      const value = kept.get(`${type} ${id}`)
      if (value === undefined) others.push(id)
      else take(id, value, true)
    }
    if (others.length === 0) return found
    const before = writes
    const stored = await readStored(type, others)
    // What was written meanwhile may be newer than what was read.
    for (const id of others) take(id, stored.get(id) ?? null, writes === before)
    return found
  }

  /** Takes note of what the store has now. */
  const written = (changes: ReadonlyArray<KeyChange>): void => {
    writes++
    for (const { id, type, value } of changes) keep(type, id, value)
  }

  return { read, written }
}
