/**
 * The other end, as people there see it: the phones that received messages, ticks to give, numbers to break and
 * time to move. Nothing here reaches a real phone.
 */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { operationQuery, useCall } from "../api/call.ts"
import { pollMillis } from "../chats/unreadChats.ts"
import { setServiceTime } from "../api/serviceTime.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Button, Loading, PageHead, QueryFailure } from "../ui/parts.tsx"
import { useConversations } from "../settings/conversations.ts"
import { Chats, phonePattern } from "./Chats.tsx"
import { Compose } from "./Compose.tsx"
import { NumberControls } from "./NumberControls.tsx"
import { Phone } from "./Phone.tsx"
import { Receivers } from "./Receivers.tsx"
import { getChats } from "./phoneEntries.ts"
import { clockLabels, emulatorLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/emulator")

/** The recipient of the example in the README; reserved for fiction. */
const firstPhone = "+15550100002"

export const EmulatorPage = () => {
  const { workspaceId } = route.useParams()
  const { phone, receiver } = route.useSearch()
  const { session } = useRouteContext({ from: "/inside" })
  const navigate = useNavigate({ from: "/w/$workspaceId/emulator" })
  const open = (chosen: { readonly phone: string } | { readonly receiver: string }) =>
    void navigate({ search: (last) => ({ ...last, ...chosen }), replace: true })
  const path = { id: Number(workspaceId) }
  const numbers = useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path }))
  const sent = useQuery(
    operationQuery("GET /admin/v1/simulator/sent", {
      query: { limit: 100, workspace_id: path.id },
    }),
  )

  const { data: conversations } = useConversations(path.id)
  const received = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/received-messages", {
      path,
      query: { limit: 100 },
    }),
    enabled: conversations != null,
    refetchInterval: pollMillis,
  })

  const ours = numbers.data?.data ?? []
  const chats = getChats(sent.data?.data ?? [], received.data?.data ?? [], ours)
  const formatted = phone ?? chats[0]?.to ?? firstPhone
  const chat = chats.find(({ to }) => to === formatted)
  const error = numbers.error ?? sent.error
  const isKnown = numbers.data !== undefined && sent.data !== undefined
  const again = () => {
    void numbers.refetch()
    void sent.refetch()
  }

  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about} />
      <QueryFailure error={error} again={again} />
      {!isKnown && !error && <Loading />}
      {isKnown && (
        <Boundary of={sent.data}>
          <div className="grid items-start gap-5 lg:grid-cols-[15rem_minmax(0,24rem)_minmax(0,1fr)]">
            <Chats chats={chats} visible={formatted} open={(to) => open({ phone: to })} />
            <Phone
              key={formatted}
              to={formatted}
              entries={chat?.entries ?? []}
              writeTo={conversations != null && phonePattern.test(formatted) ? ours : []}
              compose={<Compose workspaceId={path.id} numbers={ours} to={formatted} />}
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
      <Receivers
        isPlaced={isKnown}
        workspaceId={workspaceId}
        name={receiver}
        open={(name) => open({ receiver: name })}
      />
    </main>
  )
}

const steps = [
  [60, clockLabels.minute],
  [3600, clockLabels.hour],
  [86_400, clockLabels.day],
] as const

/** Moves the service's time, where its clock can be moved. */
const ClockControls = ({ adjustable }: { adjustable: boolean }) => {
  const advance = useCall("POST /admin/v1/simulator/clock/advance", ({ now }) =>
    setServiceTime(now),
  )
  return (
    <section className="card flex flex-col gap-3 p-4" aria-label={clockLabels.title}>
      <h2 className="font-semibold">{clockLabels.heading}</h2>
      {adjustable ? (
        <>
          <p className="text-sm text-soft">{clockLabels.about}</p>
          <div className="flex flex-wrap gap-2">
            {steps.map(([seconds, name]) => (
              <Button
                key={seconds}
                busy={advance.isPending && advance.variables.body.seconds === seconds}
                onClick={() => advance.mutate({ body: { seconds } })}
              >
                + {name}
              </Button>
            ))}
          </div>
        </>
      ) : (
        <p className="text-sm text-soft">
          {clockLabels.fixed[0]}
          <code className="font-mono text-xs">CLOCK=adjustable</code>
          {clockLabels.fixed[1]}
        </p>
      )}
      {advance.error && (
        <p role="alert" className="text-sm text-red">
          {advance.error.message}
        </p>
      )}
    </section>
  )
}
