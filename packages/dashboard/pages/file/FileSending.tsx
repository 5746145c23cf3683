/** How far a file is sent, what waits, what was refused, and the ways to stop and to go on. */
import { Link } from "@tanstack/react-router"
import type { MessageSearch } from "../messages/messageSearch.ts"
import { Button, Failure, Section } from "../ui/parts.tsx"
import { Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { progressOf } from "./fileRuns.ts"
import type { FileRun, Sending } from "./fileRuns.ts"
import { referenceOf } from "./plan.ts"
import type { RefusedRow } from "./sending.ts"
import { fileWords, sendingWords as words } from "./words.ts"

export const FileSending = ({ run }: { run: FileRun }) => {
  const { goOn, sending, state, stop, workspaceId } = run
  const { acceptedBefore, error, memory, progress, refused, waitsFor } = state
  const { all, answered } = progressOf(run)
  const isDone = progress === "done"
  return (
    <Section
      title={isDone && refused.length === 0 ? words.allAccepted : words.title}
      action={
        <>
          {progress === "sending" && <Button onClick={stop}>{words.stop}</Button>}
          {(progress === "stopped" || progress === "failed") && (
            <Button look="primary" onClick={goOn}>
              {words.goOn}
            </Button>
          )}
          {(isDone || memory.accepted > 0) && (
            <Link
              className="control"
              to="/w/$workspaceId/messages"
              params={{ workspaceId: String(workspaceId) }}
              search={messagesOf(sending)}
            >
              {words.show}
            </Link>
          )}
        </>
      }
    >
      <div className="card flex flex-col gap-3 p-5">
        <div className="flex items-center gap-3">
          <progress
            aria-label={words.progress}
            max={all}
            value={answered}
            className="h-2 min-w-0 grow"
          />
          <span className="text-sm tabular-nums">{words.of(answered, all)}</span>
        </div>
        <div role="status" className="flex flex-col gap-1">
          <p className="font-medium">{words.accepted(memory.accepted)}</p>
          {acceptedBefore > 0 && <p>{words.before(acceptedBefore)}</p>}
          {waitsFor !== null && <p className="text-amber">{words.waits[waitsFor]}</p>}
          {progress === "stopped" && <p className="text-soft">{words.stopped}</p>}
        </div>
        {error instanceof Error && <Failure error={error} />}
        {!isDone && <p className="text-xs text-soft">{fileWords.keeps}</p>}
      </div>
      {refused.length > 0 && <Refusals refused={refused} />}
    </Section>
  )
}

/** The list of the messages that the file became, and of no others. */
const messagesOf = ({ before: { run }, settings: { mode } }: Sending): MessageSearch => ({
  reference: referenceOf(run),
  ...(mode === "test" ? { mode } : {}),
})

const columns: Columns<RefusedRow> = [
  { name: fileWords.line, cell: ({ row }) => row.line },
  { name: fileWords.to, look: mono, cell: ({ row }) => row.to.phone ?? row.to.username },
  { name: fileWords.what, look: "text-red", cell: ({ says }) => says },
]

const Refusals = ({ refused }: { refused: ReadonlyArray<RefusedRow> }) => (
  <>
    <p className="text-sm text-red">{words.refused(refused.length)}</p>
    <Table
      caption={words.refused(refused.length)}
      columns={columns}
      rows={refused.map((one) => ({ ...one, id: one.row.line }))}
    />
  </>
)
