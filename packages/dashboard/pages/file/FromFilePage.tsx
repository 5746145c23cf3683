/** Sends a message for each row of a CSV file: chosen, checked in the browser, then sent request by request. */
import { useQueryClient } from "@tanstack/react-query"
import { getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import { AllMessages } from "../messages/AllMessages.tsx"
import { FileField } from "../ui/forms.tsx"
import { Button, PageHead } from "../ui/parts.tsx"
import { Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { FileForm } from "./FileForm.tsx"
import { useFileRuns } from "./fileRuns.ts"
import { FileSending } from "./FileSending.tsx"
import { openFile } from "./sheet.ts"
import type { OpenedFile, SheetProblem } from "./sheet.ts"
import { startSending } from "./startSending.ts"
import { fileLabels as labels, sheetProblemLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/messages/file")

export const FromFilePage = () => {
  const id = Number(route.useParams().workspaceId)
  const [opened, setOpened] = useState<OpenedFile | null>(null)
  const client = useQueryClient()
  const run = useFileRuns().find(({ workspaceId }) => workspaceId === id)
  const choose = (file: File | undefined) => {
    run?.drop()
    if (file === undefined) setOpened(null)
    else void openFile(file).then(setOpened)
  }
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={labels.title} about={labels.about}>
        <AllMessages workspaceId={String(id)} />
        {(run === undefined ? opened !== null : run.state.progress !== "sending") && (
          <Button onClick={() => choose(undefined)}>{labels.another}</Button>
        )}
      </PageHead>
      {run === undefined && opened === null && (
        <div className="card p-5">
          <FileField
            accept=".csv,.tsv,.txt,text/csv"
            label={labels.choose}
            about={labels.chooseAbout}
            choose={choose}
          />
        </div>
      )}
      {opened !== null && "problems" in opened && <WrongFile {...opened} />}
      {run === undefined && opened !== null && "sheet" in opened && (
        <FileForm id={id} file={opened} send={(sending) => startSending(client, id, sending)} />
      )}
      {run !== undefined && <FileSending run={run} />}
    </main>
  )
}

type View = SheetProblem & {
  readonly id: string
  readonly line?: number
  readonly column?: number
}

const columns: Columns<View> = [
  { name: labels.line, cell: ({ line }) => line },
  { name: labels.column, cell: ({ column }) => column },
  { name: labels.what, cell: ({ code }) => sheetProblemLabels[code] },
]
const shownMax = 100

const WrongFile = ({ name, problems }: { name: string; problems: ReadonlyArray<SheetProblem> }) => (
  <div role="alert" className="flex flex-col gap-3">
    <p className="font-medium text-red">
      {labels.wrongFile}: <span className="break-all">{name}</span>
    </p>
    <Table
      caption={labels.wrongFile}
      columns={columns}
      rows={problems
        .slice(0, shownMax)
        .map((one) => ({ ...one, id: Object.values(one).join(" ") }))}
    />
    {problems.length > shownMax && (
      <p className="text-sm text-soft">{labels.more(problems.length - shownMax)}</p>
    )}
  </div>
)
