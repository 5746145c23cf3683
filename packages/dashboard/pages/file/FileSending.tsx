/** How far a file is sent, what waits, what was refused, and the ways to stop and to go on. */
import { Link } from "@tanstack/react-router"
import type { MessageSearch } from "../messages/messageSearch.ts"
import { Button, Failure, Section } from "../ui/parts.tsx"
import { Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { getProgress } from "./fileRuns.ts"
import type { FileRun, Sending } from "./fileRuns.ts"
import { toReference } from "./plan.ts"
import type { RefusedRow } from "./sending.ts"
import { fileLabels, sendingLabels as labels } from "./words.ts"

export const FileSending = ({ run }: { run: FileRun }) => {
  const { goOn, sending, state, stop, workspaceId } = run
  const { acceptedBefore, error, memory, progress, refused, waitsFor } = state
  const { all, answered } = getProgress(run)
  const isDone = progress === "done"
  return (
    <Section
      title={isDone && refused.length === 0 ? labels.allAccepted : labels.title}
      action={
        <>
          {progress === "sending" && <Button onClick={stop}>{labels.stop}</Button>}
          {(progress === "stopped" || progress === "failed") && (
            <Button variant="primary" onClick={goOn}>
              {labels.goOn}
            </Button>
          )}
          {(isDone || memory.accepted > 0) && (
            <Link
              className="control"
              to="/w/$workspaceId/messages"
              params={{ workspaceId: String(workspaceId) }}
              search={listMessages(sending)}
            >
              {labels.show}
            </Link>
          )}
        </>
      }
    >
      <div className="card flex flex-col gap-3 p-5">
        <div className="flex items-center gap-3">
          <progress
            aria-label={labels.progress}
            max={all}
            value={answered}
            className="h-2 min-w-0 grow"
          />
          <span className="text-sm tabular-nums">{labels.of(answered, all)}</span>
        </div>
        <div role="status" className="flex flex-col gap-1">
          <p className="font-medium">{labels.accepted(memory.accepted)}</p>
          {acceptedBefore > 0 && <p>{labels.before(acceptedBefore)}</p>}
          {waitsFor !== null && <p className="text-amber">{labels.waits[waitsFor]}</p>}
          {progress === "stopped" && <p className="text-soft">{labels.stopped}</p>}
        </div>
        {error instanceof Error && <Failure error={error} />}
        {!isDone && <p className="text-xs text-soft">{fileLabels.keeps}</p>}
      </div>
      {refused.length > 0 && <Refusals refused={refused} />}
    </Section>
  )
}

/** The list of the messages that the file became, and of no others. */
const listMessages = ({ before: { run }, settings: { mode } }: Sending): MessageSearch => ({
  reference: toReference(run),
  ...(mode === "test" ? { mode } : {}),
})

const columns: Columns<RefusedRow> = [
  { name: fileLabels.line, cell: ({ row }) => row.line },
  { name: fileLabels.to, tone: mono, cell: ({ row }) => row.to.phone ?? row.to.username },
  { name: fileLabels.what, tone: "text-red", cell: ({ message }) => message },
]

const Refusals = ({ refused }: { refused: ReadonlyArray<RefusedRow> }) => (
  <>
    <p className="text-sm text-red">{labels.refused(refused.length)}</p>
    <Table
      caption={labels.refused(refused.length)}
      columns={columns}
      rows={refused.map((one) => ({ ...one, id: one.row.line }))}
    />
  </>
)
