/** Asks how to link a phone. The platform's own dialog holds the focus and closes on Escape. */
import { useNavigate } from "@tanstack/react-router"
import { useId, useRef, useState } from "react"
import { Refused, useCall } from "../api/call.ts"
import { Choice } from "../ui/forms.tsx"
import { Button } from "../ui/parts.tsx"
import { dialogLabels } from "../ui/words.ts"
import { linkDialogLabels as labels } from "./words.ts"

type Method = "qr" | "phone_code"

export const LinkDialog = ({ workspaceId }: { workspaceId: string }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [method, setMethod] = useState<Method>("qr")
  const title = useId()
  const problem = useId()
  const navigate = useNavigate()
  const link = useCall("POST /admin/v1/workspaces/{id}/numbers/link", ({ id }) =>
    navigate({
      to: "/w/$workspaceId/numbers/$numberId/link",
      params: { workspaceId, numberId: String(id) },
    }),
  )
  return (
    <>
      <Button variant="primary" onClick={() => dialog.current?.showModal()}>
        {labels.title}
      </Button>
      <dialog
        ref={dialog}
        aria-labelledby={title}
        closedby="any"
        className="over m-auto w-[27rem] max-w-[calc(100vw-1.5rem)]"
      >
        <form
          className="flex flex-col gap-4 p-5"
          onSubmit={(event) => {
            event.preventDefault()
            const phone = String(new FormData(event.currentTarget).get("phone") ?? "")
            link.mutate({
              path: { id: Number(workspaceId) },
              body: { login_method: method, ...(method === "phone_code" ? { phone } : {}) },
            })
          }}
        >
          <h2 id={title} className="text-lg font-semibold">
            {labels.title}
          </h2>
          <Methods method={method} setMethod={setMethod} />
          {method === "phone_code" && <PhoneField problem={problem} isInvalid={link.isError} />}
          <p id={problem} role="alert" className="text-sm text-red empty:hidden">
            {link.error instanceof Refused ? link.error.message : link.error && labels.away}
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => dialog.current?.close()}>{dialogLabels.cancel}</Button>
            <Button type="submit" variant="primary" busy={link.isPending}>
              {labels.show}
            </Button>
          </div>
        </form>
      </dialog>
    </>
  )
}

const methods = [
  ["qr", labels.qr, labels.qrAbout],
  ["phone_code", labels.code, labels.codeAbout],
] as const

const Methods = ({
  method,
  setMethod,
}: {
  method: Method
  setMethod: (method: Method) => void
}) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="sr-only">{labels.how}</legend>
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
)

const PhoneField = ({ isInvalid, problem }: { isInvalid: boolean; problem: string }) => (
  <label className="flex flex-col gap-1 text-sm font-medium">
    {labels.phone}
    <input
      name="phone"
      type="tel"
      autoComplete="tel"
      required
      placeholder="+15550100003"
      aria-invalid={isInvalid}
      aria-describedby={problem}
      className="control justify-start font-mono font-normal aria-invalid:border-red"
    />
  </label>
)
