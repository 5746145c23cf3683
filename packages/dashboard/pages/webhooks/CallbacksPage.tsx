/** Every attempt at a callback of version 1, to whichever address its message named. */
import { Link, getRouteApi } from "@tanstack/react-router"
import type { CallbackDelivery } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { PageHead } from "../ui/parts.tsx"
import { PagedTable, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { resultColumns } from "./AttemptResult.tsx"
import { callbacksWords as words, logWords } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks/callbacks")

const columns: Columns<CallbackDelivery> = [
  { name: logWords.event, look: "font-medium", cell: ({ type }) => type },
  { name: words.address, wide: true, look: mono, cell: ({ url }) => url },
  { name: logWords.attempt, wide: true, right: true, cell: ({ attempt }) => attempt },
  ...resultColumns,
]

export const CallbacksPage = () => {
  const { workspaceId } = route.useParams()
  const path = { id: Number(workspaceId) }
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <Link className="control" to="/w/$workspaceId/webhooks" params={{ workspaceId }}>
          {words.back}
        </Link>
      </PageHead>
      <PagedTable
        list={useList("GET /admin/v1/workspaces/{id}/callbacks/deliveries", { path })}
        caption={words.caption}
        columns={columns}
        empty={["hook", words.empty, words.emptyAbout]}
      />
    </main>
  )
}
