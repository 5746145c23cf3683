/** What the list of messages looks for, as the address has it: a colleague who opens it sees the same list. */
import { isOffered } from "../api/offered.ts"
import { statuses } from "./MessageStatus.tsx"
import type { Status } from "./MessageStatus.tsx"

export interface MessageSearch {
  readonly status?: ReadonlyArray<Status> | undefined
  readonly from?: number | undefined
  /** A phone, or words of the text. */
  readonly find?: string | undefined
  readonly since?: string | undefined
  /** The cursors that led here: the last one is this page's. */
  readonly trail?: ReadonlyArray<string> | undefined
  /** The message that the panel shows. */
  readonly open?: number | undefined
}

const isStatus = (value: unknown): value is Status => typeof value === "string" && value in statuses

/** Leaves out whatever is no search: an address is never an error. */
export const parseMessageSearch = (raw: Record<string, unknown>): MessageSearch => {
  const { find, from, open, since, status, trail } = raw
  return {
    ...(Array.isArray(status) && status.some(isStatus) ? { status: status.filter(isStatus) } : {}),
    ...(Number.isSafeInteger(from) ? { from: from as number } : {}),
    ...(typeof find === "string" || typeof find === "number" ? { find: String(find) } : {}),
    ...(typeof since === "string" && !Number.isNaN(Date.parse(since)) ? { since } : {}),
    ...(Array.isArray(trail)
      ? { trail: trail.filter((cursor) => typeof cursor === "string") }
      : {}),
    ...(Number.isSafeInteger(open) ? { open: open as number } : {}),
  }
}

/** Else phones alone. */
export const findsText = isOffered("GET /admin/v1/workspaces/{id}/messages?text")

const phoneLike = /^\+?[\d\s-]{7,20}$/

export const noFilter: MessageSearch = {
  status: undefined,
  find: undefined,
  from: undefined,
  since: undefined,
}

export const isFiltered = ({ find, from, since, status }: MessageSearch): boolean =>
  Boolean(find ?? from ?? since ?? status)

/** The query for the service. */
export const messageQuery = (search: MessageSearch) => {
  const find = search.find?.trim() ?? ""
  const isPhone = phoneLike.test(find)
  return {
    limit: 25,
    status: search.status?.join(","),
    from: search.from,
    to: isPhone ? `+${find.replaceAll(/\D/g, "")}` : undefined,
    text: isPhone || find === "" || !findsText ? undefined : find,
    since: search.since,
    cursor: search.trail?.at(-1),
  }
}
