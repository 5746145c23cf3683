/** Who is signed in, or null. The page asks once. */
import type { QueryClient } from "@tanstack/react-query"
import type { Session } from "./additions.ts"
import { call } from "./call.ts"
import { setServiceTime } from "./serviceTime.ts"

const queryKey = ["session"] as const

export const loadSession = (client: QueryClient): Promise<Session | null> =>
  client.ensureQueryData({
    queryKey,
    queryFn: async () => {
      const { session } = await call("GET /admin/v1/session", {})
      if (session !== null) setServiceTime(session.now)
      return session
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

/** After signing in; null once the session has ended. */
export const setSession = (client: QueryClient, session: Session | null): void => {
  if (session !== null) setServiceTime(session.now)
  client.setQueryData(queryKey, session)
}
