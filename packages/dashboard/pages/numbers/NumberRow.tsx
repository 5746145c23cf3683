/** One number in the list, with the one thing to do about it. */
import { Link, useNavigate } from "@tanstack/react-router"
import type { ListedConnection, SendingNumber } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Meter, Spark } from "../ui/charts.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Button, primaryLink } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { notify } from "../ui/Toast.tsx"
import { toName, getStanding } from "./connection.ts"
import type { Standing } from "./connection.ts"
import { StandingSentence } from "./StandingSentence.tsx"
import { numbersLabels as labels } from "./words.ts"

interface RowProps {
  readonly number: SendingNumber
  readonly state: ListedConnection | undefined
  readonly workspaceId: string
  /** False for a portal's member. */
  readonly mayChange: boolean
}

export const NumberRow = ({ mayChange, number, state, workspaceId }: RowProps) => {
  const standing = getStanding(number, state)
  const actions = useActions(workspaceId, number.id)
  return (
    <li className="flex flex-col gap-3 border-b border-line p-4 last:border-0">
      <div className="grid items-start gap-x-8 gap-y-4 md:grid-cols-[minmax(0,1fr)_minmax(0,1.3fr)_9rem]">
        <div className="flex min-w-0 flex-col gap-1">
          <div className="flex flex-wrap items-center gap-2">
            <h2 className="truncate font-semibold">
              <Link
                to="/w/$workspaceId/numbers/$numberId"
                params={{ workspaceId, numberId: String(number.id) }}
                className="hover:underline"
              >
                {toName(number)}
              </Link>
            </h2>
            <StandingWord standing={standing} />
          </div>
          <p className="font-mono text-xs text-soft">
            {number.phone === null ? labels.noPhone : `+${number.phone}`} · {number.platform}
          </p>
        </div>
        <Quota state={state} />
        <div className="flex justify-end gap-2 max-md:justify-start">
          {mayChange && (
            <Remedy
              remedy={standing.remedy}
              platform={number.platform}
              numberId={number.id}
              workspaceId={workspaceId}
              actions={actions}
            />
          )}
        </div>
      </div>
      <Says standing={standing} state={state} error={actions.error} />
    </li>
  )
}

export const StandingWord = ({ standing: { dot, tone, label } }: { standing: Standing }) => (
  <span
    className={`inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap ${tone}`}
  >
    <span className={`size-1.5 rounded-full ${dot}`} aria-hidden="true" />
    {label}
  </span>
)

const useActions = (workspaceId: string, numberId: number) => {
  const navigate = useNavigate()
  const path = { id: Number(workspaceId), number_id: numberId }
  const link = useCall("POST /admin/v1/workspaces/{id}/numbers/link", () =>
    navigate({
      to: "/w/$workspaceId/numbers/$numberId/link",
      params: { workspaceId, numberId: String(numberId) },
    }),
  )
  const resume = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/resume")
  const pause = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/pause", () =>
    notify(labels.pausedNow, () => resume.mutate({ path })),
  )
  return {
    link: {
      busy: link.isPending,
      onClick: () =>
        link.mutate({
          path: { id: path.id },
          body: { login_method: "qr", number_id: numberId },
        }),
    },
    pause: {
      busy: pause.isPending,
      onClick: () => pause.mutate({ path, body: { until: null } }),
    },
    resume: { busy: resume.isPending, onClick: () => resume.mutate({ path }) },
    error: link.error ?? pause.error ?? resume.error,
  } as const
}

const Remedy = ({
  actions: { link, pause, resume },
  numberId,
  platform,
  remedy,
  workspaceId,
}: {
  actions: ReturnType<typeof useActions>
  numberId: number
  remedy: Standing["remedy"]
  platform: SendingNumber["platform"]
  workspaceId: string
}) => {
  if (platform === "telegram" && (remedy === "link" || remedy === "code"))
    return <LogIn workspaceId={workspaceId} numberId={numberId} />
  switch (remedy) {
    case "resume":
      return (
        <Button variant="primary" {...resume}>
          <Icon name="play" />
          {labels.resume}
        </Button>
      )
    case "link":
      return (
        <Button variant="primary" {...link}>
          {labels.linkAgain}
        </Button>
      )
    case "code":
      return (
        <Link
          className="control"
          to="/w/$workspaceId/numbers/$numberId/link"
          params={{ workspaceId, numberId: String(numberId) }}
        >
          {labels.showCode}
        </Link>
      )
    case null:
      return (
        <Button {...pause}>
          <Icon name="pause" />
          {labels.pause}
        </Button>
      )
  }
}

/** Telegram accounts are logged in on a page of their own. */
export const LogIn = ({ numberId, workspaceId }: { numberId: number; workspaceId: string }) => (
  <Link
    className={primaryLink}
    to="/w/$workspaceId/numbers/$numberId/telegram"
    params={{ workspaceId, numberId: String(numberId) }}
  >
    {labels.logIn}
  </Link>
)

/** What a failed action answered, else what the number's state means. */
const Says = ({
  error,
  standing,
  state,
}: {
  standing: Standing
  state: ListedConnection | undefined
  error: Error | null
}) => {
  if (error !== null)
    return (
      <p
        role="alert"
        className="flex items-start gap-2 rounded-md bg-red-wash px-3 py-2 text-sm text-red"
      >
        <Icon name="warning" className="mt-0.5" />
        {error.message}
      </p>
    )
  if (standing.message === null) return null
  return (
    <p className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${standing.tone}`}>
      <Icon name="warning" className="mt-0.5" />
      <span>
        <StandingSentence standing={standing} state={state} />
        {(state?.waiting ?? 0) > 0 && labels.waitFor(state?.waiting ?? 0)}
      </span>
    </p>
  )
}

/** What the number sent in 24 hours, by the hour, and how much of its quota that uses. */
const Quota = ({ state }: { state: ListedConnection | undefined }) => {
  if (state === undefined) return <div className="h-16" />
  const { hours, next_send_at: next, quota, sent_24h: sent, waiting } = state
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-x-6 gap-y-1">
      <div className="flex flex-col justify-end gap-1">
        <Spark values={hours} tone="bg-mark" />
        <p className="label">{labels.byTheHour}</p>
      </div>
      <div className="flex flex-col justify-end gap-1.5">
        <p className="text-sm tabular-nums">
          <b className="font-semibold">{sent.toLocaleString()}</b>{" "}
          <span className="text-soft">{labels.in24h(quota.limit.toLocaleString())}</span>
        </p>
        <Meter label={labels.quota} limit={quota.limit} value={quota.used} />
        <p className="label">
          {labels.waiting(waiting)}
          {next && (
            <>
              {labels.next}
              <When at={next} />
            </>
          )}
        </p>
      </div>
    </div>
  )
}
