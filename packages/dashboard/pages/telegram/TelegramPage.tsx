/** Logs a Telegram account in: by a QR code for its app, or by a code and a password. */
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { TelegramLogin } from "@messaging-service/client"
import { Refused, operationQuery, call, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import type { NumberPath } from "../numbers/connection.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Button, Empty, Failure, Loading, PageHead, QueryFailure, backLink } from "../ui/parts.tsx"
import { left } from "../ui/Time.tsx"
import { BeginLogin, Scanning, WithCode, WithPassword } from "./LoginSteps.tsx"
import { loginErrorLabels, ownWord, telegramLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/numbers/$numberId/telegram")

const pollMillis = 2000
const open: ReadonlyArray<string> = ["showing_qr", "code_sent", "password_needed"]
const loginName = "GET /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"

/** The login, or null: an answer and no failure, so that a form which begins one stays while the page asks again. */
const getLogin = (path: NumberPath, signal: AbortSignal): Promise<TelegramLogin | null> =>
  call(loginName, { path, signal }).catch((error: unknown) => {
    if (error instanceof Refused && error.code === "login_not_found") return null
    throw error
  })

export const TelegramPage = () => {
  const { numberId, workspaceId } = route.useParams()
  const path = { id: Number(workspaceId), number_id: Number(numberId) }
  const client = useQueryClient()
  const { queryKey } = operationQuery(loginName, { path })
  const {
    data: login,
    error,
    refetch,
  } = useQuery({
    queryKey,
    queryFn: ({ signal }) => getLogin(path, signal),
    refetchInterval: ({ state: { data } }) =>
      data != null && open.includes(data.state) ? pollMillis : false,
  })
  /** What an operation answered is newer than what was asked before. */
  const show = (answer: TelegramLogin) => {
    client.setQueryData(queryKey, answer)
    void refetch()
  }
  return (
    <main className="page gap-4">
      <PageHead title={labels.title}>
        {login != null && open.includes(login.state) && (
          <Cancel path={path} done={() => void refetch()} />
        )}
        <Link className={backLink} to="/w/$workspaceId/numbers" params={{ workspaceId }}>
          {labels.allNumbers}
        </Link>
      </PageHead>
      <QueryFailure error={error} again={() => void refetch()} />
      {login === undefined && !error && <Loading rows={3} />}
      <Boundary of={login}>
        {login === null && <BeginLogin path={path} started={show} />}
        {login != null && <Step login={login} path={path} show={show} />}
      </Boundary>
    </main>
  )
}

const Cancel = ({ done, path }: { path: NumberPath; done: () => void }) => {
  const cancel = useCall(
    "DELETE /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login",
    done,
  )
  return (
    <>
      {cancel.error && <Failure error={cancel.error} />}
      <Button busy={cancel.isPending} onClick={() => cancel.mutate({ path })}>
        {labels.cancel}
      </Button>
    </>
  )
}

const Step = ({
  login,
  path,
  show,
}: {
  login: TelegramLogin
  path: NumberPath
  show: (login: TelegramLogin) => void
}) => {
  if (login.state === "connected")
    return (
      <End icon="tick" title={labels.connected}>
        {labels.connectedAbout}
      </End>
    )
  if (login.state === "failed" || login.state === "expired")
    return (
      <>
        <End
          icon={login.state === "failed" ? "cross" : "hourglass"}
          title={login.state === "failed" ? labels.failed : labels.expired}
        >
          {login.state === "failed" ? toFailure(login.error) : labels.expiredAbout}
        </End>
        <BeginLogin path={path} started={show} />
      </>
    )
  return (
    <div className="card flex flex-col gap-5 p-6">
      {login.state === "showing_qr" && <Scanning login={login} path={path} />}
      {login.state === "code_sent" && <WithCode login={login} path={path} show={show} />}
      {login.state === "password_needed" && <WithPassword path={path} show={show} />}
      <TimeLeft login={login} />
    </div>
  )
}

/** `too_many_attempts: wait 30 s` says more than the code. */
const toFailure = (error: string | null): string => {
  const [code = "", detail] = (error ?? "").split(": ")
  const message = loginErrorLabels[code] ?? ownWord(error ?? "")
  return detail === undefined || loginErrorLabels[code] === undefined
    ? message
    : `${message} (${detail})`
}

const End = ({
  children,
  icon,
  title,
}: {
  icon: "tick" | "cross" | "hourglass"
  title: string
  children: ReactNode
}) => (
  <div className="card">
    <Empty icon={icon} title={title}>
      <p role="status">{children}</p>
    </Empty>
  </div>
)

const TimeLeft = ({ login }: { login: TelegramLogin }) => {
  const now = useServiceTime()
  return (
    <p className="text-xs text-soft tabular-nums">
      {labels.left(left(Date.parse(login.expires_at) - now))}
    </p>
  )
}
