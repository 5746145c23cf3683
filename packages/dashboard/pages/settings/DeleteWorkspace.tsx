/** Deletes a workspace once the user has typed its name. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { TextField } from "../ui/forms.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { dialogWords } from "../ui/words.ts"
import { deleteWords as words } from "./words.ts"

export const DeleteWorkspace = ({ workspace }: { workspace: Workspace }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <Section
      title={words.title}
      about={words.about}
      action={
        <Button look="danger" onClick={() => setOpen(true)}>
          {words.open}
        </Button>
      }
    >
      {isOpen && <Typed workspace={workspace} close={() => setOpen(false)} />}
    </Section>
  )
}

const Typed = ({ close, workspace }: { workspace: Workspace; close: () => void }) => {
  const navigate = useNavigate()
  const [typed, setTyped] = useState("")
  const { error, isPending, mutate } = useCall("DELETE /admin/v1/workspaces/{id}", () =>
    navigate({ to: "/workspaces" }),
  )
  const isSure = typed === workspace.name
  return (
    <Dialog title={words.title} close={close}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (isSure && !isPending) mutate({ path: { id: workspace.id } })
        }}
      >
        <p className="text-soft">{words.about}</p>
        <TextField
          label={words.type(workspace.name)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoFocus
        />
        {error && <Failure error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>{dialogWords.back}</Button>
          <Button type="submit" look="danger" busy={isPending} aria-disabled={!isSure}>
            {words.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
