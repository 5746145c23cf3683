/** Makes the number of a Telegram account, and leads to its login. Operators make numbers. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { useCall } from "../api/call.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { Button } from "../ui/parts.tsx"
import { addAccountLabels as labels } from "./words.ts"

export const AddAccount = ({ workspaceId }: { workspaceId: string }) => {
  const [isOpen, setOpen] = useState(false)
  const navigate = useNavigate()
  const add = useCall("POST /admin/v1/workspaces/{id}/numbers", ({ id }) =>
    navigate({
      to: "/w/$workspaceId/numbers/$numberId/telegram",
      params: { workspaceId, numberId: String(id) },
    }),
  )
  const submit = (data: FormData) =>
    add.mutate({
      path: { id: Number(workspaceId) },
      body: {
        platform: "telegram",
        phone: formText(data, "phone"),
        label: formText(data, "label"),
        status: "disconnected",
      },
    })
  return (
    <>
      <Button onClick={() => setOpen(true)}>{labels.title}</Button>
      {isOpen && (
        <FormDialog
          title={labels.title}
          action={labels.add}
          call={add}
          submit={submit}
          close={() => setOpen(false)}
          fields={[
            {
              name: "phone",
              type: "tel",
              label: labels.phone,
              about: labels.phoneAbout,
              required: true,
              autoFocus: true,
            },
            { name: "label", label: labels.label, about: labels.labelAbout, maxLength: 100 },
          ]}
        />
      )}
    </>
  )
}
