/** What a simulated number meets when it sends. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { Behaviour, SendingNumber } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { toName, getStanding, useConnections } from "../numbers/connection.ts"
import type { Standing } from "../numbers/connection.ts"
import { StandingWord } from "../numbers/NumberRow.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Button } from "../ui/parts.tsx"
import { Segments } from "./Segments.tsx"
import { behaviourLabels, controlLabels as labels } from "./words.ts"

type Send = Behaviour["send"]

const behaviours = Object.entries(behaviourLabels) as ReadonlyArray<
  readonly [Send, readonly [name: string, about: string]]
>

const latencies = [
  [0, "immediately"],
  [500, "½ s"],
  [3000, "3 s"],
  [30_000, "30 s"],
] as const

export const NumberControls = ({
  number,
  workspaceId,
}: {
  number: SendingNumber
  workspaceId: string
}) => {
  const called = toName(number)
  const states = useConnections(Number(workspaceId))
  const state = states?.find((one) => one.number_id === number.id)
  const standing = getStanding(number, state)
  return (
    <section className="card flex flex-col gap-4 p-4" aria-label={labels.number(number.id, called)}>
      <header className="flex flex-wrap items-center gap-2">
        <div className="mr-auto min-w-0">
          <h2 className="truncate font-semibold">{called}</h2>
          <p className="font-mono text-xs text-soft">
            {number.phone === null ? labels.noPhone : `+${number.phone}`}
          </p>
        </div>
        <StandingWord standing={standing} />
      </header>
      <HowItAnswers numberId={number.id} />
      {standing.message && (
        <p className={`rounded-md px-3 py-2 text-sm ${standing.tone}`}>
          {standing.message}{" "}
          {(state?.waiting ?? 0) > 0 && (
            <Link
              to="/w/$workspaceId/messages"
              params={{ workspaceId }}
              search={{ status: ["queued"] }}
              className="font-medium underline"
            >
              {labels.wait(state?.waiting.toLocaleString() ?? "")}
            </Link>
          )}
        </p>
      )}
      <Actions number={number} remedy={standing.remedy} workspaceId={workspaceId} />
    </section>
  )
}

const HowItAnswers = ({ numberId }: { numberId: number }) => {
  const path = { number_id: numberId }
  const asSet = useQuery(
    operationQuery("GET /admin/v1/simulator/numbers/{number_id}/behaviour", { path }),
  )
  const set = useCall("PUT /admin/v1/simulator/numbers/{number_id}/behaviour")
  // What was just pressed shows at once; then the service's own answer.
  const behaviour = set.isPending ? set.variables.body : asSet.data
  const chosen = behaviour?.send ?? "succeed"
  const latency = behaviour?.latency_ms ?? 0
  const choose = (send: Send, latency_ms: number) =>
    // A change replaces the whole behaviour.
    set.mutate({ path, body: { ...asSet.data, send, latency_ms } })
  return (
    <div className="flex flex-col gap-2">
      <Segments
        group={`behaviour-${numberId}`}
        title={labels.behaviour}
        options={behaviours}
        chosen={chosen}
        choose={(value) => choose(value, latency)}
      />
      <div className="flex flex-wrap items-center gap-1.5 text-xs text-soft">
        {labels.answers}
        {latencies.map(([millis, name]) => (
          <button
            key={millis}
            type="button"
            aria-pressed={latency === millis}
            onClick={() => choose(chosen, millis)}
            className="h-7 cursor-pointer rounded-md px-2 hover:bg-sunken aria-pressed:bg-sunken aria-pressed:font-medium aria-pressed:text-ink"
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  )
}

const Actions = ({
  number,
  remedy,
  workspaceId,
}: {
  number: SendingNumber
  remedy: Standing["remedy"]
  workspaceId: string
}) => {
  const path = { number_id: number.id }
  const all = { id: Number(workspaceId), ...path }
  const logOut = useCall("POST /admin/v1/simulator/numbers/{number_id}/logout")
  const scan = useCall("POST /admin/v1/simulator/numbers/{number_id}/scan")
  const link = useCall("POST /admin/v1/workspaces/{id}/numbers/link", ({ id }) =>
    scan.mutateAsync({ path: { number_id: id }, body: {} }),
  )
  const resume = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/resume")
  const linkAndScan = () =>
    link.mutate({ path: { id: all.id }, body: { login_method: "qr", ...path } })
  return (
    <div className="flex flex-wrap gap-2">
      {number.status === "connected" ? (
        <Button busy={logOut.isPending} onClick={() => logOut.mutate({ path })}>
          <Icon name="exit" />
          {labels.logOut}
        </Button>
      ) : (
        <Button variant="primary" busy={link.isPending} onClick={linkAndScan}>
          {labels.linkAndScan}
        </Button>
      )}
      {remedy === "resume" && (
        <Button busy={resume.isPending} onClick={() => resume.mutate({ path: all })}>
          <Icon name="play" />
          {labels.resume}
        </Button>
      )}
    </div>
  )
}
