/** The operator's first page: every workspace. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { Workspace } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { Empty, Failure, Loading, PageHead } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { workspacesWords as words } from "./words.ts"

const head = "px-4 py-2 label text-left"

export const WorkspacesPage = () => {
  const { data, error, refetch } = useQuery(
    asked("GET /admin/v1/workspaces", { query: { limit: 100 } }),
  )
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about} />
      {error && <Failure error={error} again={() => void refetch()} />}
      <div className="card overflow-x-auto">
        {data === undefined && !error && <Loading />}
        {data?.data.length === 0 && (
          <Empty icon="grid" title={words.emptyTitle}>
            {words.empty}
          </Empty>
        )}
        {data !== undefined && data.data.length > 0 && (
          <table className="w-full text-sm">
            <thead className="border-b border-line">
              <tr>
                <th className={head}>{words.name}</th>
                <th className={head}>{words.plan}</th>
                <th className={`${head} max-md:hidden`}>{words.state}</th>
                <th className={`${head} text-right max-md:hidden`}>{words.made}</th>
              </tr>
            </thead>
            <tbody>
              {data.data.map((workspace) => (
                <Row key={workspace.id} workspace={workspace} />
              ))}
            </tbody>
          </table>
        )}
      </div>
    </main>
  )
}

const Row = ({ workspace }: { workspace: Workspace }) => (
  <tr className="relative h-11 border-b border-line last:border-0 hover:bg-sunken">
    <td className="px-4">
      <Link
        className="font-medium after:absolute after:inset-0 hover:underline"
        to="/w/$workspaceId"
        params={{ workspaceId: String(workspace.id) }}
      >
        {workspace.name}
      </Link>
      <span className="ml-2 font-mono text-xs text-faint">{workspace.id}</span>
    </td>
    <td className="px-4 text-soft">
      {workspace.plan?.name ?? <span className="text-amber">{words.noPlan}</span>}
    </td>
    <td className="px-4 text-soft max-md:hidden">
      {workspace.account_disabled ? (
        <span className="text-red">{words.disabled}</span>
      ) : workspace.demo ? (
        words.demo
      ) : (
        words.active
      )}
    </td>
    <td className="px-4 text-right text-soft max-md:hidden">
      <When at={workspace.created_at} />
    </td>
  </tr>
)
