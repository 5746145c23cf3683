/** Makes the number of a Telegram account, and leads to its login. Operators make numbers. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { useCall } from "../api/call.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { textOf } from "../ui/forms.tsx"
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
  const submit = (data: FormData) =>
    add.mutate({
      path: { id: Number(workspaceId) },
      body: {
        platform: "telegram",
        phone: textOf(data, "phone"),
        label: textOf(data, "label"),
        status: "disconnected",
      },
    })
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.title}</Button>
      {isOpen && (
        <FormDialog
          title={words.title}
          action={words.add}
          call={add}
          submit={submit}
          close={() => setOpen(false)}
          fields={[
            {
              name: "phone",
              type: "tel",
              label: words.phone,
              about: words.phoneAbout,
              required: true,
              autoFocus: true,
            },
            { name: "label", label: words.label, about: words.labelAbout, maxLength: 100 },
          ]}
        />
      )}
    </>
  )
}
