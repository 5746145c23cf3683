/** What the list of chats looks for, as the address has it. */
import { parseTrail } from "../ui/list.ts"
import type { TrailSearch } from "../ui/list.ts"

export interface ChatSearch extends TrailSearch {
  readonly number?: number | undefined
  /** The phone of a person. */
  readonly find?: string | undefined
  readonly unread?: true | undefined
  /** Live messages when left out. */
  readonly mode?: "test" | undefined
  /** The chat that is open. */
  readonly open?: number | undefined
}

/** Leaves out whatever is not a search: an address is never an error. */
export const parseChatSearch = (raw: Record<string, unknown>): ChatSearch => {
  const { find, mode, number, open, unread } = raw
  return {
    ...parseTrail(raw),
    ...(Number.isSafeInteger(number) ? { number: number as number } : {}),
    ...(typeof find === "string" || typeof find === "number" ? { find: String(find) } : {}),
    ...(unread === true ? { unread } : {}),
    ...(mode === "test" ? { mode } : {}),
    ...(Number.isSafeInteger(open) ? { open: open as number } : {}),
  }
}

export const isFiltered = ({ find, number, unread }: ChatSearch): boolean =>
  Boolean(find ?? number ?? unread)

/** The query for the service. Phones are found by all of their digits. */
export const chatQuery = ({ find, mode, number, unread }: ChatSearch) => ({
  limit: 50,
  number,
  phone: find === undefined ? undefined : `+${find.replaceAll(/\D/g, "")}`,
  unread: unread === undefined ? undefined : "true",
  mode,
})
