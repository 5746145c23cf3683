/** The steps of a login, from the choice of a way. */
import { useQuery } from "@tanstack/react-query"
import { useRouteContext } from "@tanstack/react-router"
import { create } from "qrcode"
import { useState } from "react"
import type { TelegramLogin, TelegramLoginRequest } from "@messaging-service/client"
import { Refused, operationQuery, useCall } from "../api/call.ts"
import type { NumberPath } from "../numbers/connection.ts"
import { Choice, Form, TextField, formText } from "../ui/forms.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { telegramLabels as labels } from "./words.ts"

type Show = (login: TelegramLogin) => void

export const Scanning = ({ login, path }: { login: TelegramLogin; path: NumberPath }) => (
  <div className="flex flex-wrap items-start gap-8">
    <div className="flex min-w-0 grow flex-col gap-4">
      <h2 className="text-lg font-semibold">{labels.scanTitle}</h2>
      <ol className="flex list-decimal flex-col gap-2 pl-5">
        {labels.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <Scan numberId={path.number_id} />
    </div>
    {login.qr_url !== null && <QrCode text={login.qr_url} label={labels.picture} />}
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
          {labels.scan}
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
      action={labels.give}
      call={give}
      submit={(data) => give.mutate({ path, body: { code: formText(data, "code") } })}
      intro={
        <>
          <h2 className="text-lg font-semibold">{labels.codeTitle}</h2>
          <p className="text-sm text-soft">
            {login.code_sent_to === null ? labels.sent : labels.sentTo[login.code_sent_to]}{" "}
            {labels.otherWay}
          </p>
        </>
      }
      fields={[
        {
          name: "code",
          label: labels.codeField,
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
      action={labels.give}
      call={give}
      // As typed: spaces may belong to a password.
      submit={(data) => give.mutate({ path, body: { password: String(data.get("password")) } })}
      intro={
        <>
          <h2 className="text-lg font-semibold">{labels.passwordTitle}</h2>
          <p className="text-sm text-soft">{labels.passwordAbout}</p>
        </>
      }
      fields={[
        {
          name: "password",
          type: "password",
          label: labels.passwordField,
          problem: wrongAt(give.error, "invalid_password"),
          autoComplete: "off",
          required: true,
          autoFocus: true,
        },
      ]}
    />
  )
}

const methods = [
  ["qr", labels.qr, labels.qrAbout],
  ["code", labels.code, labels.codeAbout],
] as const

/** Chooses how to log in. */
export const BeginLogin = ({
  started,
  path,
}: {
  path: NumberPath
  started: (login: TelegramLogin) => void
}) => {
  const [method, setMethod] = useState<TelegramLoginRequest["method"]>("qr")
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id: path.id } }),
  )
  const phone = numbers.data?.data.find(({ id }) => id === path.number_id)?.phone ?? null
  const begin = useCall(
    "POST /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login",
    started,
  )
  const submit = (data: FormData) =>
    begin.mutate({
      path,
      body: method === "qr" ? { method } : { method, phone: formText(data, "phone") },
    })
  return (
    <Form
      className="card flex flex-col gap-4 p-6"
      action={labels.begin}
      call={begin}
      submit={submit}
      intro={
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-2 text-sm font-medium">{labels.how}</legend>
          {methods.map(([value, name, about]) => (
            <Choice
              key={value}
              group="method"
              value={value}
              name={name}
              about={about}
              checked={method === value}
              choose={() => setMethod(value)}
            />
          ))}
        </fieldset>
      }
      fields={
        method === "qr"
          ? []
          : [
              {
                shows: "phone",
                draw: (problem) => (
                  <TextField
                    key={phone}
                    name="phone"
                    type="tel"
                    label={labels.phone}
                    problem={problem}
                    defaultValue={phone === null ? "" : `+${phone}`}
                    required
                  />
                ),
              },
            ]
      }
    />
  )
}

/** Modules of white around it, as the standard asks. */
const quiet = 4

/** A QR code, drawn by the page: the service makes pictures of WhatsApp's codes alone. */
const QrCode = ({ label, text }: { label: string; text: string }) => {
  const { data, size } = create(text, { errorCorrectionLevel: "M" }).modules
  const path = Array.from({ length: size * size }, (_, index) =>
    data[index] ? `M${index % size} ${Math.floor(index / size)}h1v1h-1z` : "",
  ).join("")
  const edge = size + 2 * quiet
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`${-quiet} ${-quiet} ${edge} ${edge}`}
      width="272"
      height="272"
      shapeRendering="crispEdges"
      className="rounded-xl bg-white shadow-card"
    >
      <path d={path} fill="#000000" />
    </svg>
  )
}
