/**
 * The other end, as people there see it: the phones that received messages, ticks to give, numbers to break and
 * time to move. Nothing here reaches a real phone.
 */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { asked } from "../api/call.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Loading, PageHead, QueryFailure } from "../ui/parts.tsx"
import { Chats, chatsOf } from "./Chats.tsx"
import { Compose } from "./Compose.tsx"
import { ClockControls } from "./ClockControls.tsx"
import { NumberControls } from "./NumberControls.tsx"
import { Phone } from "./Phone.tsx"
import { emulatorWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/emulator")

/** The recipient of the example in the README; reserved for fiction. */
const firstPhone = "+15550100002"

export const EmulatorPage = () => {
  const { workspaceId } = route.useParams()
  const { phone } = route.useSearch()
  const { session } = useRouteContext({ from: "/inside" })
  const navigate = useNavigate({ from: "/w/$workspaceId/emulator" })
  const path = { id: Number(workspaceId) }
  const numbers = useQuery(asked("GET /admin/v1/workspaces/{id}/numbers", { path }))
  const sent = useQuery(
    asked("GET /admin/v1/simulator/sent", { query: { limit: 100, workspace_id: path.id } }),
  )

  const ours = numbers.data?.data ?? []
  const chats = chatsOf(sent.data?.data ?? [], ours)
  const shown = phone ?? chats[0]?.to ?? firstPhone
  const chat = chats.find(({ to }) => to === shown)
  const error = numbers.error ?? sent.error
  const isKnown = numbers.data !== undefined && sent.data !== undefined
  const again = () => {
    void numbers.refetch()
    void sent.refetch()
  }

  return (
    <main className="flex max-w-7xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about} />
      <QueryFailure error={error} again={again} />
      {!isKnown && !error && <Loading />}
      {isKnown && (
        <Boundary of={sent.data}>
          <div className="grid items-start gap-5 lg:grid-cols-[15rem_minmax(0,24rem)_minmax(0,1fr)]">
            <Chats
              chats={chats}
              shown={shown}
              open={(to) => void navigate({ search: { phone: to }, replace: true })}
            />
            <Phone
              key={shown}
              to={shown}
              arrived={chat?.arrived ?? []}
              compose={<Compose workspaceId={path.id} numbers={ours} to={shown} />}
            />
            <div className="flex min-w-0 flex-col gap-4">
              {ours.map((number) => (
                <NumberControls key={number.id} number={number} workspaceId={workspaceId} />
              ))}
              <ClockControls adjustable={session.adjustable_clock} />
            </div>
          </div>
        </Boundary>
      )}
    </main>
  )
}
