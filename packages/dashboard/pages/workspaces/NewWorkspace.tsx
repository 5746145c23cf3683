/** Makes a workspace for a customer, and goes there. */
import { useNavigate } from "@tanstack/react-router"
import type { FormEvent } from "react"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { newWorkspaceWords as words } from "./words.ts"

export const NewWorkspace = ({ close }: { close: () => void }) => {
  const navigate = useNavigate()
  const make = useCall("POST /admin/v1/workspaces", ({ id }) =>
    navigate({ to: "/w/$workspaceId", params: { workspaceId: String(id) } }),
  )
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    make.mutate({ body: { name: textOf(new FormData(event.currentTarget), "name") } })
  }
  return (
    <Dialog title={words.title} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <TextField
          name="name"
          label={words.name}
          about={words.about}
          problem={fieldProblem(make.error, "name")}
          required
          maxLength={100}
          autoFocus
        />
        <FormEnd
          action={words.action}
          busy={make.isPending}
          error={make.error}
          fields={["name"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}
