/** Chooses how to log in. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { TelegramLogin, TelegramLoginRequest } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { useCall } from "../api/useCall.ts"
import type { NumberPath } from "../numbers/connection.ts"
import { Choice, Form, TextField, textOf } from "../ui/forms.tsx"
import { telegramWords as words } from "./words.ts"

const methods = [
  ["qr", words.qr, words.qrAbout],
  ["code", words.code, words.codeAbout],
] as const

export const BeginLogin = ({
  begun,
  path,
}: {
  path: NumberPath
  begun: (login: TelegramLogin) => void
}) => {
  const [method, setMethod] = useState<TelegramLoginRequest["method"]>("qr")
  const numbers = useQuery(
    asked("GET /admin/v1/workspaces/{id}/numbers", { path: { id: path.id } }),
  )
  const phone = numbers.data?.data.find(({ id }) => id === path.number_id)?.phone ?? null
  const begin = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login", begun)
  const submit = (data: FormData) =>
    begin.mutate({
      path,
      body: method === "qr" ? { method } : { method, phone: textOf(data, "phone") },
    })
  return (
    <Form
      className="card flex flex-col gap-4 p-6"
      action={words.begin}
      call={begin}
      submit={submit}
      intro={
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-2 text-sm font-medium">{words.how}</legend>
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
                    label={words.phone}
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
