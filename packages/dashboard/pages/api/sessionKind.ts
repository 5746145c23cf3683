/**
 * Which session this tab uses. A browser may hold an operator's and a portal's at once, so requests name
 * theirs; a new tab leaves the choice to the service.
 */
import type { BrowserSession } from "@messaging-service/client"

const name = "messaging session"

export const sessionKind = (): string | null => sessionStorage.getItem(name)

export const setSessionKind = ({ kind }: BrowserSession): void => sessionStorage.setItem(name, kind)

export const sessionHeaders = (): Readonly<Record<string, string>> => {
  const kind = sessionKind()
  return kind === null ? {} : { "messaging-session": kind }
}
