/** What the list of messages looks for, as the address has it: a colleague who opens it sees the same list. */
import type { Message } from "@messaging-service/client"
import { statuses } from "./MessageStatus.tsx"
import type { Status } from "./MessageStatus.tsx"

export type MessageErrorCode = NonNullable<Message["error"]>["code"]

export const errorCodes: ReadonlyArray<MessageErrorCode> = [
  "recipient_not_found",
  "group_not_found",
  "media_unavailable",
  "send_failed",
  "outcome_unknown",
]

export interface MessageSearch {
  readonly status?: ReadonlyArray<Status> | undefined
  readonly from?: number | undefined
  /** A phone, or words of the text. */
  readonly find?: string | undefined
  readonly since?: string | undefined
  /** What the messages failed with. */
  readonly error?: MessageErrorCode | undefined
  /** What their sender calls them, such as the sending of one file. */
  readonly reference?: string | undefined
  /** Live messages when left out. */
  readonly mode?: "test" | undefined
  /** The cursors that led here: the last one is this page's. */
  readonly trail?: ReadonlyArray<string> | undefined
  /** The message that the panel shows. */
  readonly open?: number | undefined
}

const isStatus = (value: unknown): value is Status => typeof value === "string" && value in statuses

/** Leaves out whatever is not a search: an address is never an error. */
export const parseMessageSearch = (raw: Record<string, unknown>): MessageSearch => {
  const { error, find, from, mode, open, reference, since, status, trail } = raw
  return {
    ...(Array.isArray(status) && status.some(isStatus) ? { status: status.filter(isStatus) } : {}),
    ...(Number.isSafeInteger(from) ? { from: from as number } : {}),
    ...(typeof find === "string" || typeof find === "number" ? { find: String(find) } : {}),
    ...(typeof since === "string" && !Number.isNaN(Date.parse(since)) ? { since } : {}),
    ...(errorCodes.includes(error as MessageErrorCode) ? { error: error as MessageErrorCode } : {}),
    ...(typeof reference === "string" || typeof reference === "number"
      ? { reference: String(reference) }
      : {}),
    ...(mode === "test" ? { mode } : {}),
    ...(Array.isArray(trail)
      ? { trail: trail.filter((cursor) => typeof cursor === "string") }
      : {}),
    ...(Number.isSafeInteger(open) ? { open: open as number } : {}),
  }
}

const phoneLike = /^\+?[\d\s-]{7,20}$/

export const noFilter: MessageSearch = {
  status: undefined,
  find: undefined,
  from: undefined,
  since: undefined,
  error: undefined,
  reference: undefined,
}

export const isFiltered = ({
  error,
  find,
  from,
  reference,
  since,
  status,
}: MessageSearch): boolean => Boolean(error ?? find ?? from ?? reference ?? since ?? status)

/** The query for the service. */
export const messageQuery = (search: MessageSearch) => {
  const find = search.find?.trim() ?? ""
  const isPhone = phoneLike.test(find)
  return {
    limit: 25,
    status: search.status?.join(","),
    from: search.from,
    to: isPhone ? `+${find.replaceAll(/\D/g, "")}` : undefined,
    // The service takes so many characters.
    text: isPhone || find === "" ? undefined : [...find].slice(0, 100).join(""),
    error: search.error,
    since: search.since,
    reference: search.reference,
    mode: search.mode,
    cursor: search.trail?.at(-1),
  }
}
