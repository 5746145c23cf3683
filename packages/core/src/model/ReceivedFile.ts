/** Files of received messages: what happens to them, and when they are fetched (contract: Files of received messages). Pure. */

/**
 * What happened to a received message's file (contract: Files of received messages). `remote`: it is not fetched
 * yet. `full`: it had no room. `gone`: the platform deleted it. `refused`: it is not what the message says.
 */
export const receivedFileStates = [
  "ready",
  "remote",
  "too_large",
  "full",
  "gone",
  "refused",
  "off",
] as const

export type ReceivedFileState = (typeof receivedFileStates)[number]

/** A file of a received message, as the message itself describes it. */
export interface ReceivedFile {
  readonly mimeType: string | null
  /** Bytes. */
  readonly size: number | null
  readonly fileName: string | null
  /** Of sound and moving pictures. */
  readonly seconds: number | null
  /** Hexadecimal. */
  readonly sha256: string | null
}

/** A file as the store shows it: what the message says of it until it is `ready`, then what it is. */
export interface StoredReceivedFile extends ReceivedFile {
  readonly state: ReceivedFileState
}

/** Messages of a chat in a minute, above which files wait until their link is called. */
const crowdedMessages = 600

/** Whether a message counts among those of the last minute. */
export const isRecent = (receivedAt: number, now: number): boolean => receivedAt > now - 60_000

/** What a workspace's conversations say of files. */
interface FileSettings {
  readonly media: "on_arrival" | "on_demand" | "off"
  readonly maxFileBytes: number
}

/** The state of a new message's file. */
export const newFileState = (
  { maxFileBytes, media }: FileSettings,
  size: number | null,
  hasSource: boolean,
): ReceivedFileState => {
  if (media === "off") return "off"
  if (!hasSource) return "gone"
  return size !== null && size > maxFileBytes ? "too_large" : "remote"
}

/** Whether a file is fetched before its link is called. `recent`: messages of the chat in the last minute. */
export const isFetchedOnArrival = (
  state: ReceivedFileState,
  { media }: Pick<FileSettings, "media">,
  recent: number,
): boolean => state === "remote" && media === "on_arrival" && recent < crowdedMessages
