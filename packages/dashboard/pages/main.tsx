/** Starts the dashboard: one client for the service's answers, one router over them. */
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { Refused } from "./api/call.ts"
import { noteEndedSession } from "./api/session.ts"
import { makeRouter } from "./router.tsx"
import { applyTheme } from "./ui/theme.ts"
// oxlint-disable-next-line import/no-unassigned-import -- how Vite takes styles
import "./styles.css"

applyTheme()

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => noteEndedSession(client, error) }),
  mutationCache: new MutationCache({ onError: (error) => noteEndedSession(client, error) }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal is an answer: asking again changes nothing.
      retry: (count, error) => !(error instanceof Refused) && count < 2,
      refetchOnWindowFocus: true,
      // News do not report these: pages ask by themselves.
      refetchInterval: ({ queryKey: [topic] }) => (topic === "workspaces" ? 10_000 : false),
    },
  },
})
const router = makeRouter(client)

const root = document.getElementById("app")
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
