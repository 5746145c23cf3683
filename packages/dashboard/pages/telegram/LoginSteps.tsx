/** The steps of a login that is under way. */
import { useRouteContext } from "@tanstack/react-router"
import type { TelegramLogin } from "@messaging-service/client"
import { Refused } from "../api/call.ts"
import { useCall } from "../api/useCall.ts"
import type { NumberPath } from "../numbers/connection.ts"
import { Form, textOf } from "../ui/forms.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { QrCode } from "./QrCode.tsx"
import { telegramWords as words } from "./words.ts"

type Show = (login: TelegramLogin) => void

export const Scanning = ({ login, path }: { login: TelegramLogin; path: NumberPath }) => (
  <div className="flex flex-wrap items-start gap-8">
    <div className="flex min-w-0 grow flex-col gap-4">
      <h2 className="text-lg font-semibold">{words.scanTitle}</h2>
      <ol className="flex list-decimal flex-col gap-2 pl-5">
        {words.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <Scan numberId={path.number_id} />
    </div>
    {login.qr_url !== null && <QrCode text={login.qr_url} label={words.picture} />}
  </div>
)

/** Plays the account's app, where phones are simulated. */
const Scan = ({ numberId }: { numberId: number }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const scan = useCall("POST /admin/v1/simulator/numbers/{number_id}/scan")
  if (!session.simulated || session.kind !== "operator") return null
  return (
    <>
      {scan.error && <Failure error={scan.error} />}
      <div>
        <Button
          busy={scan.isPending}
          onClick={() => scan.mutate({ path: { number_id: numberId }, body: {} })}
        >
          {words.scan}
        </Button>
      </div>
    </>
  )
}

/** A wrong one may be given again: it is a matter of the field. */
const wrongAt = (error: Error | null, code: string): string | undefined =>
  error instanceof Refused && error.code === code ? error.message : undefined

export const WithCode = ({
  login,
  path,
  show,
}: {
  login: TelegramLogin
  path: NumberPath
  show: Show
}) => {
  const give = useCall(
    "POST /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/code",
    show,
  )
  return (
    <Form
      action={words.give}
      call={give}
      submit={(data) => give.mutate({ path, body: { code: textOf(data, "code") } })}
      intro={
        <>
          <h2 className="text-lg font-semibold">{words.codeTitle}</h2>
          <p className="text-sm text-soft">
            {login.code_sent_to === null ? words.sent : words.sentTo[login.code_sent_to]}{" "}
            {words.otherWay}
          </p>
        </>
      }
      fields={[
        {
          name: "code",
          label: words.codeField,
          problem: wrongAt(give.error, "invalid_code"),
          inputMode: "numeric",
          autoComplete: "one-time-code",
          required: true,
          autoFocus: true,
        },
      ]}
    />
  )
}

export const WithPassword = ({ path, show }: { path: NumberPath; show: Show }) => {
  const give = useCall(
    "POST /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/password",
    show,
  )
  return (
    <Form
      action={words.give}
      call={give}
      // As typed: spaces may belong to a password.
      submit={(data) => give.mutate({ path, body: { password: String(data.get("password")) } })}
      intro={
        <>
          <h2 className="text-lg font-semibold">{words.passwordTitle}</h2>
          <p className="text-sm text-soft">{words.passwordAbout}</p>
        </>
      }
      fields={[
        {
          name: "password",
          type: "password",
          label: words.passwordField,
          problem: wrongAt(give.error, "invalid_password"),
          autoComplete: "off",
          required: true,
          autoFocus: true,
        },
      ]}
    />
  )
}
