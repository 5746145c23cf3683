/**
 * What this browser remembers of the files that it sent: which requests the service accepted, never a phone or a
 * text. The service knows a request's key for 24 hours; after that, only this keeps a file from being sent twice.
 */

export interface FileMemory {
  /** When the first of it was sent, in milliseconds. */
  readonly at: number
  /** `runOf` the file, its settings and `again`. */
  readonly run: string
  /** How often the user wanted all of it once more. */
  readonly again: number
  /** Lines of the slots that need no further request. */
  readonly ended: ReadonlyArray<number>
  /** How many rows of those were accepted. */
  readonly accepted: number
  /** The slot whose answer was not there yet, and when it was first sent. */
  readonly begun: { readonly line: number; readonly at: number } | null
}

type BrowserStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">

const prefix = "messaging.file."
const retentionMillis = 30 * 24 * 3600 * 1000
/** The service keeps a key for 24 hours; an hour less, since clocks differ. */
const keyMillis = 23 * 3600 * 1000

const toName = (workspaceId: number, digest: string): string => `${prefix}${workspaceId}.${digest}`

export const recall = (
  storage: BrowserStorage,
  workspaceId: number,
  digest: string,
  now: number,
): FileMemory | null => {
  const text = storage.getItem(toName(workspaceId, digest))
  const known = text === null ? null : (JSON.parse(text) as FileMemory)
  return known === null || known.at + retentionMillis < now ? null : known
}

export const remember = (
  storage: BrowserStorage,
  workspaceId: number,
  digest: string,
  memory: FileMemory,
): void => {
  for (const name of Array.from({ length: storage.length }, (_, index) => storage.key(index))) {
    const text = name?.startsWith(prefix) ? storage.getItem(name) : null
    if (name && text && (JSON.parse(text) as FileMemory).at + retentionMillis < memory.at)
      storage.removeItem(name)
  }
  storage.setItem(toName(workspaceId, digest), JSON.stringify(memory))
}

/** The line of a slot whose outcome the service has forgotten: it keeps a key for 24 hours. */
export const unknownSlot = ({ begun }: FileMemory, now: number): number | null =>
  begun !== null && now - begun.at > keyMillis ? begun.line : null
