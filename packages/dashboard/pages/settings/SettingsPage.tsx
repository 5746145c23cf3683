/** The settings of a workspace, as far as the session's role may see them. */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, Dialog } from "../ui/Dialog.tsx"
import { TextField } from "../ui/forms.tsx"
import { Button, Empty, Failure, PageHead, Secret, Section } from "../ui/parts.tsx"
import { dialogLabels, stateLabels } from "../ui/words.ts"
import { ConversationsSection } from "./ConversationsSection.tsx"
import { KeysSection } from "./KeysSection.tsx"
import { PortalLinks } from "./PortalLinks.tsx"
import { callbackLabels, deleteLabels, settingsLabels as labels } from "./words.ts"
import { WorkspaceSection } from "./WorkspaceSection.tsx"

const route = getRouteApi("/inside/w/$workspaceId/settings")

export const SettingsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const { session } = useRouteContext({ from: "/inside" })
  if (session.role === "member")
    return (
      <main className="page gap-4">
        <PageHead title={labels.title} />
        <div className="card">
          <Empty icon="key" title={stateLabels.roleRefused}>
            {labels.forMembers}
          </Empty>
        </div>
      </main>
    )
  return (
    <main className="page gap-8">
      <PageHead title={labels.title} />
      <KeysSection id={id} isOwner={session.role === "owner"} />
      {session.role === "owner" && <PortalLinks id={id} />}
      <ConversationsSection id={id} isOperator={session.kind === "operator"} />
      <CallbackSecret id={id} />
      {session.kind === "operator" && <ForOperators id={id} />}
    </main>
  )
}

const ForOperators = ({ id }: { id: number }) => {
  const workspace = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  return (
    <Answer query={workspace}>
      {(data) => (
        <div className="flex flex-col gap-8">
          <WorkspaceSection key={data.id} workspace={data} />
          <DeleteWorkspace workspace={data} />
        </div>
      )}
    </Answer>
  )
}

/** The secret that signs callbacks of version 1: shown when a user asks for it, replaced after a question. */
const CallbackSecret = ({ id }: { id: number }) => {
  const [secret, setSecret] = useState<string | null>(null)
  const [isReplacing, setReplacing] = useState(false)
  const show = useCall("GET /admin/v1/workspaces/{id}/callback-secret", (answer) =>
    setSecret(answer.secret),
  )
  const path = { id }
  return (
    <Section
      title={callbackLabels.title}
      about={callbackLabels.about}
      action={
        <>
          {secret === null && (
            <Button busy={show.isPending} onClick={() => show.mutate({ path })}>
              {callbackLabels.show}
            </Button>
          )}
          <Button onClick={() => setReplacing(true)}>{callbackLabels.rotate}</Button>
        </>
      }
    >
      {show.error && <Failure error={show.error} />}
      {secret !== null && (
        <Secret label={callbackLabels.label} text={secret} about={callbackLabels.keep} />
      )}
      {isReplacing && (
        <ConfirmCall
          name="POST /admin/v1/workspaces/{id}/callback-secret/rotate"
          input={{ path }}
          done={(answer) => {
            setSecret(answer.secret)
            setReplacing(false)
          }}
          title={callbackLabels.rotateTitle}
          action={callbackLabels.rotate}
          close={() => setReplacing(false)}
        >
          {callbackLabels.rotateAbout}
        </ConfirmCall>
      )}
    </Section>
  )
}

/** Deletes a workspace once the user has typed its name. */
const DeleteWorkspace = ({ workspace }: { workspace: Workspace }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <Section
      title={deleteLabels.title}
      about={deleteLabels.about}
      action={
        <Button variant="danger" onClick={() => setOpen(true)}>
          {deleteLabels.open}
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
    <Dialog title={deleteLabels.title} close={close}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (isSure && !isPending) mutate({ path: { id: workspace.id } })
        }}
      >
        <p className="text-soft">{deleteLabels.about}</p>
        <TextField
          label={deleteLabels.type(workspace.name)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoFocus
        />
        {error && <Failure error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>{dialogLabels.cancel}</Button>
          <Button type="submit" variant="danger" busy={isPending} aria-disabled={!isSure}>
            {deleteLabels.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
