/** The settings of a workspace, as far as the session's role may see them. */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useRouteContext } from "@tanstack/react-router"
import { asked } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Empty, PageHead } from "../ui/parts.tsx"
import { stateWords } from "../ui/words.ts"
import { CallbackSecret } from "./CallbackSecret.tsx"
import { DeleteWorkspace } from "./DeleteWorkspace.tsx"
import { KeysSection } from "./KeysSection.tsx"
import { PortalLinks } from "./PortalLinks.tsx"
import { WorkspaceSection } from "./WorkspaceSection.tsx"
import { settingsWords as words } from "./words.ts"

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
