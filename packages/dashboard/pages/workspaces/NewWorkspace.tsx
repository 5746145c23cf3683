/** Makes a workspace for a customer, and goes there. */
import { useNavigate } from "@tanstack/react-router"
import { useCall } from "../api/useCall.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { textOf } from "../ui/forms.tsx"
import { newWorkspaceWords as words } from "./words.ts"

export const NewWorkspace = ({ close }: { close: () => void }) => {
  const navigate = useNavigate()
  const make = useCall("POST /admin/v1/workspaces", ({ id }) =>
    navigate({ to: "/w/$workspaceId", params: { workspaceId: String(id) } }),
  )
  return (
    <FormDialog
      title={words.title}
      action={words.action}
      call={make}
      submit={(data) => make.mutate({ body: { name: textOf(data, "name") } })}
      close={close}
      fields={[
        {
          name: "name",
          label: words.name,
          about: words.about,
          required: true,
          maxLength: 100,
          autoFocus: true,
        },
      ]}
    />
  )
}
