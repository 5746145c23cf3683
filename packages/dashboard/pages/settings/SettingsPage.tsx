/** The settings of a workspace, as far as the session's role may see them. */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { asked, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, Dialog } from "../ui/Dialog.tsx"
import { TextField } from "../ui/forms.tsx"
import { Button, Empty, Failure, PageHead, Secret, Section } from "../ui/parts.tsx"
import { dialogWords, stateWords } from "../ui/words.ts"
import { KeysSection } from "./KeysSection.tsx"
import { PortalLinks } from "./PortalLinks.tsx"
import { callbackWords, deleteWords, settingsWords as words } from "./words.ts"
import { WorkspaceSection } from "./WorkspaceSection.tsx"

const route = getRouteApi("/inside/w/$workspaceId/settings")

export const SettingsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const { session } = useRouteContext({ from: "/inside" })
  if (session.role === "member")
    return (
      <main className="flex max-w-4xl flex-col gap-4 p-4 md:p-6">
        <PageHead title={words.title} />
        <div className="card">
          <Empty icon="key" title={stateWords.roleRefused}>
            {words.forMembers}
          </Empty>
        </div>
      </main>
    )
  return (
    <main className="flex max-w-4xl flex-col gap-8 p-4 md:p-6">
      <PageHead title={words.title} />
      <KeysSection id={id} isOwner={session.role === "owner"} />
      {session.role === "owner" && <PortalLinks id={id} />}
      <CallbackSecret id={id} />
      {session.kind === "operator" && <ForOperators id={id} />}
    </main>
  )
}

const ForOperators = ({ id }: { id: number }) => {
  const workspace = useQuery(asked("GET /admin/v1/workspaces/{id}", { path: { id } }))
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
      title={callbackWords.title}
      about={callbackWords.about}
      action={
        <>
          {secret === null && (
            <Button busy={show.isPending} onClick={() => show.mutate({ path })}>
              {callbackWords.show}
            </Button>
          )}
          <Button onClick={() => setReplacing(true)}>{callbackWords.rotate}</Button>
        </>
      }
    >
      {show.error && <Failure error={show.error} />}
      {secret !== null && (
        <Secret label={callbackWords.label} text={secret} about={callbackWords.keep} />
      )}
      {isReplacing && (
        <ConfirmCall
          name="POST /admin/v1/workspaces/{id}/callback-secret/rotate"
          input={{ path }}
          done={(answer) => {
            setSecret(answer.secret)
            setReplacing(false)
          }}
          title={callbackWords.rotateTitle}
          action={callbackWords.rotate}
          close={() => setReplacing(false)}
        >
          {callbackWords.rotateAbout}
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
      title={deleteWords.title}
      about={deleteWords.about}
      action={
        <Button look="danger" onClick={() => setOpen(true)}>
          {deleteWords.open}
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
    <Dialog title={deleteWords.title} close={close}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (isSure && !isPending) mutate({ path: { id: workspace.id } })
        }}
      >
        <p className="text-soft">{deleteWords.about}</p>
        <TextField
          label={deleteWords.type(workspace.name)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoFocus
        />
        {error && <Failure error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>{dialogWords.back}</Button>
          <Button type="submit" look="danger" busy={isPending} aria-disabled={!isSure}>
            {deleteWords.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
