/** Every attempt at a callback of version 1, to whichever address its message named. */
import { Link, getRouteApi } from "@tanstack/react-router"
import type { CallbackDelivery } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { PageHead, backLink } from "../ui/parts.tsx"
import { PagedTable, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { resultColumns } from "./AttemptResult.tsx"
import { callbacksLabels as labels, logLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks/callbacks")

const columns: Columns<CallbackDelivery> = [
  { name: logLabels.event, tone: "font-medium", cell: ({ type }) => type },
  { name: labels.address, wide: true, tone: mono, cell: ({ url }) => url },
  { name: logLabels.attempt, wide: true, right: true, cell: ({ attempt }) => attempt },
  ...resultColumns,
]

export const CallbacksPage = () => {
  const { workspaceId } = route.useParams()
  const path = { id: Number(workspaceId) }
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        <Link className={backLink} to="/w/$workspaceId/webhooks" params={{ workspaceId }}>
          {labels.back}
        </Link>
      </PageHead>
      <PagedTable
        list={useList("GET /admin/v1/workspaces/{id}/callbacks/deliveries", { path })}
        caption={labels.caption}
        columns={columns}
        empty={["hook", labels.empty, labels.emptyAbout]}
      />
    </main>
  )
}
