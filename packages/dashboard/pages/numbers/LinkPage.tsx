/** Links a phone: the code, what to do with it, how long it works, and what the phone has done. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { base } from "../api/base.ts"
import { operationQuery, useCall } from "../api/call.ts"
import type { Answer } from "../api/operations.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Button, Empty, Failure, Loading, PageHead, QueryFailure, backLink } from "../ui/parts.tsx"
import { left } from "../ui/Time.tsx"
import type { NumberPath } from "./connection.ts"
import { linkLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/numbers/$numberId/link")

type LinkedNumber = Answer<"GET /admin/v1/workspaces/{id}/numbers/{number_id}">

/** What to show of an attempt; null to a member, and when the attempt has just ended. */
type Connect = LinkedNumber["connect"]

/** While the code is shown, and in case the stream of news is silent. */
const pollMillis = 2000

export const LinkPage = () => {
  const { numberId, workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const path = { id: Number(workspaceId), number_id: Number(numberId) }
  const {
    data: number,
    error,
    refetch,
  } = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/numbers/{number_id}", { path }),
    refetchInterval: ({ state }) => (state.data?.status === "connecting" ? pollMillis : false),
  })
  return (
    <main className="page gap-4">
      <PageHead title={labels.title}>
        {number?.status === "connecting" && <Scan numberId={number.id} />}
        <Link className={backLink} to="/w/$workspaceId/numbers" params={{ workspaceId }}>
          {labels.allNumbers}
        </Link>
      </PageHead>
      <QueryFailure error={error} again={() => void refetch()} />
      {number === undefined && !error && <Loading rows={4} />}
      <Boundary of={number}>
        {number?.status === "connected" && (
          <Linked phone={number.phone ?? ""} workspaceId={workspaceId} />
        )}
        {number?.status === "disconnected" && <Over path={path} />}
        {number?.status === "connecting" &&
          (session.role === "member" ? <NotForMembers /> : <Linking number={number} />)}
      </Boundary>
    </main>
  )
}

const NotForMembers = () => (
  <div className="card">
    <Empty icon="phone" title={labels.linking}>
      {labels.notForMembers}
    </Empty>
  </div>
)

/** Plays the phone, where phones are simulated. */
const Scan = ({ numberId }: { numberId: number }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const scan = useCall("POST /admin/v1/simulator/numbers/{number_id}/scan")
  if (!session.simulated || session.kind !== "operator") return null
  return (
    <>
      {scan.error && <Failure error={scan.error} />}
      <Button
        busy={scan.isPending}
        onClick={() => scan.mutate({ path: { number_id: numberId }, body: {} })}
      >
        <Icon name="flask" />
        {labels.scan}
      </Button>
    </>
  )
}

const Linked = ({ phone, workspaceId }: { phone: string; workspaceId: string }) => (
  <div className="card">
    <Empty icon="tick" title={labels.linked(phone)}>
      <p role="status">{labels.linkedAbout}</p>
      <Link className="control mt-4" to="/w/$workspaceId/numbers" params={{ workspaceId }}>
        {labels.goOn}
      </Link>
    </Empty>
  </div>
)

const Over = ({ path }: { path: NumberPath }) => {
  const link = useCall("POST /admin/v1/workspaces/{id}/numbers/link")
  const again = () =>
    link.mutate({
      path: { id: path.id },
      body: { login_method: "qr", number_id: path.number_id },
    })
  return (
    <div className="card">
      {link.error && <Failure error={link.error} />}
      <Empty icon="hourglass" title={labels.over}>
        <p role="status">{labels.overAbout}</p>
        <Button className="mt-4" variant="primary" busy={link.isPending} onClick={again}>
          {labels.newCode}
        </Button>
      </Empty>
    </div>
  )
}

const Linking = ({ number }: { number: LinkedNumber }) => {
  const now = useServiceTime()
  const byQr = number.login_method === "qr"
  const isClaimed = number.connect?.linking === true
  return (
    <div className="card grid overflow-hidden sm:grid-cols-[minmax(0,1fr)_auto]">
      <div className="flex flex-col gap-5 p-6">
        <p role="status" className="flex items-center gap-2 font-semibold">
          <span
            aria-hidden="true"
            className={`size-2 rounded-full ${isClaimed ? "bg-mark" : "animate-pulse bg-amber"}`}
          />
          {getState(number)}
        </p>
        <ol className="flex flex-col gap-4">
          {labels.steps(byQr).map((step, index) => (
            <li key={step} className="flex gap-3">
              <span
                aria-hidden="true"
                className="grid size-6 shrink-0 place-items-center rounded-full bg-sunken text-xs font-semibold text-soft"
              >
                {index + 1}
              </span>
              <span className="pt-0.5">{step}</span>
            </li>
          ))}
        </ol>
        <p className="mt-auto text-xs text-soft">{labels.logOut}</p>
      </div>
      <div className="flex flex-col items-center gap-4 border-line bg-sunken p-6 max-sm:border-t sm:border-l">
        {byQr ? (
          <Code connect={number.connect} isClaimed={isClaimed} />
        ) : (
          <PairingCode connect={number.connect} isClaimed={isClaimed} />
        )}
        {!isClaimed && <NextCode at={codeEndsAt(number.connect)} now={now} />}
        <Left connect={number.connect} now={now} />
      </div>
    </div>
  )
}

/** When another code replaces the shown one; null without one. */
const codeEndsAt = (connect: Connect): string | null =>
  connect?.qr_code_expires_at ?? connect?.pairing_code_expires_at ?? null

const getState = ({ connect }: LinkedNumber): string => {
  if (connect?.linking === true) return labels.taken
  return connect?.qr_code_url || connect?.pairing_code ? labels.waiting : labels.asking
}

/** The picture changes only once the next one is loaded: no flicker while a camera points at it. */
const Code = ({ connect, isClaimed }: { connect: Connect; isClaimed: boolean }) => {
  const [formatted, setVisible] = useState<string | null>(null)
  // The service's own link may name another origin than this page's: only its last two parts are ours.
  const path = connect?.qr_code_url ? new URL(connect.qr_code_url).pathname : null
  const next = path === null ? null : base + path.split("/").slice(-2).join("/")
  useEffect(() => {
    if (next === null) return setVisible(null)
    const image = new Image()
    image.addEventListener("load", () => setVisible(next))
    image.src = next
    return () => image.removeAttribute("src")
  }, [next])
  return (
    // White in the dark theme too: phones read dark on light. A taken code vanishes.
    <div className="relative grid size-[17rem] place-items-center overflow-hidden rounded-xl bg-white p-3 shadow-card">
      {formatted === null || isClaimed ? (
        <span
          className={`size-8 rounded-full bg-accent ${isClaimed ? "" : "animate-pulse opacity-40"}`}
        />
      ) : (
        <img src={formatted} alt={labels.qrCode} width="248" height="248" />
      )}
    </div>
  )
}

/** Four and four, as the phone asks for it; a screen reader spells it. */
const PairingCode = ({ connect, isClaimed }: { connect: Connect; isClaimed: boolean }) => {
  const code = isClaimed ? null : (connect?.pairing_code ?? null)
  if (code === null) return <span className="my-16 size-8 animate-pulse rounded-full bg-edge" />
  return (
    <p
      role="img"
      aria-label={labels.code([...code].join(" "))}
      className="flex gap-1 py-6 font-mono text-2xl font-semibold"
    >
      {[...code].map((letter, index) => (
        <span
          // Their place is all that tells them apart.
          // oxlint-disable-next-line react/no-array-index-key
          key={index}
          className={`grid h-11 w-8 place-items-center rounded-md border border-edge bg-surface ${index === 3 ? "mr-3" : ""}`}
        >
          {letter}
        </span>
      ))}
    </p>
  )
}

const NextCode = ({ at, now }: { at: string | null; now: number }) =>
  at === null ? null : (
    <p className="text-sm text-soft tabular-nums">{labels.anotherIn(left(Date.parse(at) - now))}</p>
  )

/** How much of the attempt is left, by the service's own times. */
const Left = ({ connect, now }: { connect: Connect; now: number }) => {
  if (!connect?.requested_at || !connect.ends_at) return null
  const ends = Date.parse(connect.ends_at)
  const whole = ends - Date.parse(connect.requested_at)
  const millis = Math.min(whole, Math.max(0, ends - now))
  return (
    <div className="flex w-full flex-col gap-1.5">
      <progress aria-label={labels.timeLeft} max={whole} value={millis} className="h-1 w-full" />
      <p className="text-center text-xs text-soft tabular-nums">{labels.left(left(millis))}</p>
    </div>
  )
}
