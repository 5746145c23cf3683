/** Makes the number of a Telegram account, and leads to its login. Operators make numbers. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { FormEvent } from "react"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Button } from "../ui/parts.tsx"
import { addAccountWords as words } from "./words.ts"

export const AddAccount = ({ workspaceId }: { workspaceId: string }) => {
  const [isOpen, setOpen] = useState(false)
  const navigate = useNavigate()
  const add = useCall("POST /admin/v1/workspaces/{id}/numbers", ({ id }) =>
    navigate({
      to: "/w/$workspaceId/numbers/$numberId/telegram",
      params: { workspaceId, numberId: String(id) },
    }),
  )
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    add.mutate({
      path: { id: Number(workspaceId) },
      body: {
        platform: "telegram",
        phone: textOf(data, "phone"),
        label: textOf(data, "label"),
        status: "disconnected",
      },
    })
  }
  const close = () => setOpen(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.title}</Button>
      {isOpen && (
        <Dialog title={words.title} close={close}>
          <form className="flex flex-col gap-4" onSubmit={submit}>
            <TextField
              name="phone"
              type="tel"
              label={words.phone}
              about={words.phoneAbout}
              problem={fieldProblem(add.error, "phone")}
              required
              autoFocus
            />
            <TextField
              name="label"
              label={words.label}
              about={words.labelAbout}
              problem={fieldProblem(add.error, "label")}
              maxLength={100}
            />
            <FormEnd
              action={words.add}
              busy={add.isPending}
              error={add.error}
              fields={["phone", "label"]}
              close={close}
            />
          </form>
        </Dialog>
      )}
    </>
  )
}
