/** Who is signed in, or null. The page asks once. */
import { useQuery } from "@tanstack/react-query"
import type { QueryClient } from "@tanstack/react-query"
import type { BrowserSession } from "@messaging-service/client"
import { Refused, call } from "./call.ts"
import { setServiceTime } from "./serviceTime.ts"
import { setSessionKind } from "./sessionKind.ts"

const queryKey = ["session"] as const

const note = (session: BrowserSession): void => {
  setServiceTime(session.now)
  setSessionKind(session)
}

export const loadSession = (client: QueryClient): Promise<BrowserSession | null> =>
  client.ensureQueryData({
    queryKey,
    queryFn: async () => {
      const { session } = await call("GET /admin/v1/session", {})
      if (session !== null) note(session)
      return session
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

/** After signing in. */
export const setSession = (client: QueryClient, session: BrowserSession): void => {
  note(session)
  client.setQueryData(queryKey, session)
  client.setQueryData(endedKey, false)
}

const endedKey = ["session ended"] as const

/** Codes of answers to a cookie that is over, and to none. A wrong token at sign-in is another one. */
const endings = ["session_ended", "missing_operator_token"]

export const saysSessionEnded = (error: Error): boolean =>
  error instanceof Refused && endings.includes(error.code)

/** Notes a session that ended while a page was open: the page stays, and a dialog asks to sign in again. */
export const noteEndedSession = (client: QueryClient, error: Error): void => {
  if (saysSessionEnded(error)) client.setQueryData(endedKey, true)
}

export const useSessionHasEnded = (): boolean =>
  useQuery({ queryKey: endedKey, queryFn: () => false, enabled: false, initialData: false }).data
