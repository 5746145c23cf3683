/** What a file will do before it does it: messages, errors by line and column, allowance, quota, earlier sendings. */
import { useQuery } from "@tanstack/react-query"
import { operationQuery } from "../api/call.ts"
import { SendingNotes } from "../messages/SendingNotes.tsx"
import { CheckField } from "../ui/forms.tsx"
import { Button, Fact } from "../ui/parts.tsx"
import { Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import type { FileSettings, RowProblem } from "./plan.ts"
import type { Check } from "./useCheck.ts"
import { fileLabels as labels, rowProblemLabels } from "./words.ts"

type Change = (change: Partial<FileSettings>) => void

export const FileCheck = ({
  change,
  check,
  settings,
}: {
  check: Check
  settings: FileSettings
  change: Change
}) => {
  const wrong = new Set(check.problems.map(({ line }) => line)).size
  const action = check.goesOn && check.accepted > 0 ? labels.goOn : labels.send
  return (
    <section aria-label={labels.check} className="card flex flex-col gap-4 p-5">
      <dl className="grid grid-cols-2 gap-4 sm:grid-cols-3">
        <Fact name={labels.good}>{check.left.toLocaleString()}</Fact>
        <Fact name={labels.wrong}>
          <span className={wrong > 0 ? "text-red" : ""}>{wrong.toLocaleString()}</span>
        </Fact>
        <Fact name={labels.repeated}>{check.repeated.length.toLocaleString()}</Fact>
        <Room id={check.id} settings={settings} />
      </dl>
      <Shortage check={check} settings={settings} />
      <SendingNotes id={check.id} />
      <Earlier check={check} />
      {check.repeated.length > 0 && (
        <CheckField
          label={labels.once(check.repeated.length)}
          about={labels.onceAbout(check.repeated.length, getLines(check.repeated))}
          checked={settings.once}
          onChange={(event) => change({ once: event.target.checked })}
        />
      )}
      {wrong > 0 && (
        <>
          <ProblemTable problems={check.problems} />
          <CheckField
            label={labels.leaveOut(wrong)}
            checked={settings.leaveOutWrong}
            onChange={(event) => change({ leaveOutWrong: event.target.checked })}
          />
        </>
      )}
      {wrong > 0 && !settings.leaveOutWrong && (
        <p className="text-sm text-amber">{labels.notWithErrors}</p>
      )}
      <p className="text-xs text-soft">{labels.keeps}</p>
      <div className="flex justify-end">
        <Button type="submit" variant="primary" aria-disabled={check.sending === null}>
          {action(check.left)}
        </Button>
      </div>
    </section>
  )
}

const linesMax = 12

const getLines = (rows: ReadonlyArray<{ readonly line: number }>): string =>
  rows
    .slice(0, linesMax)
    .map(({ line }) => line.toLocaleString())
    .join(", ") + (rows.length > linesMax ? " …" : "")

const useRoom = (id: number, from: number | null) => {
  const workspace = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  const connections = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/connections", { path: { id } }),
  )
  const quota = connections.data?.data.find(({ number_id }) => number_id === from)?.quota
  const plan = workspace.data?.plan
  return {
    /** Undefined while it is not known, null without a limit. */
    allowance: plan === undefined || plan === null ? undefined : plan.messages_remaining,
    quota: quota ? Math.max(0, quota.limit - quota.used) : undefined,
  }
}

/** What the plan and the number still take. */
const Room = ({ id, settings }: { id: number; settings: FileSettings }) => {
  const { allowance, quota } = useRoom(id, settings.from)
  return (
    <>
      {allowance !== undefined && (
        <Fact name={labels.allowance}>{allowance?.toLocaleString() ?? labels.unlimited}</Fact>
      )}
      {quota !== undefined && <Fact name={labels.quota}>{quota.toLocaleString()}</Fact>}
    </>
  )
}

/** Of a number in 24 hours (contract: Limits). */
const quotaMax = 1000

const Shortage = ({ check: { id, left }, settings }: { check: Check; settings: FileSettings }) => {
  const { allowance, quota = quotaMax } = useRoom(id, settings.from)
  return (
    <>
      {typeof allowance === "number" && allowance < left && (
        <p className="text-sm text-amber">{labels.allowanceShort(allowance)}</p>
      )}
      {quota < left && <p className="text-sm text-amber">{labels.quotaShort(quotaMax)}</p>}
    </>
  )
}

/** What this browser knows of an earlier sending of the file, and what it asks before more of it is sent. */
const Earlier = ({ check }: { check: Check }) => {
  const { accepted, earlier, unknown } = check
  if (earlier === "none") return null
  const expectMessage = { begun: labels.begun, sent: labels.wasSent, other: labels.otherSettings }[
    earlier
  ]
  return (
    <div className="flex flex-col gap-3 rounded-lg bg-violet-wash px-3.5 py-3 text-violet">
      <p className="text-sm">{expectMessage(accepted)}</p>
      {unknown !== null && (
        <>
          <p className="text-sm">{labels.unknown(unknown)}</p>
          <CheckField
            label={labels.sendUnknown}
            checked={check.wants.unknown}
            onChange={(event) => check.want({ unknown: event.target.checked })}
          />
        </>
      )}
      {(earlier !== "begun" || check.wants.again) && (
        <CheckField
          label={labels.again}
          checked={check.wants.again}
          onChange={(event) => check.want({ again: event.target.checked })}
        />
      )}
    </div>
  )
}

type Problems = ReadonlyArray<RowProblem>

const columns: Columns<{ readonly group: Problems }> = [
  { name: labels.line, cell: ({ group }) => getLines(group) },
  { name: labels.column, cell: ({ group }) => group[0]?.column },
  { name: labels.what, cell: ({ group }) => whatIsWrong(group) },
]
const shownMax = 50

/** Rows with one and the same error are one line of the table. */
const ProblemTable = ({ problems }: { problems: Problems }) => {
  const groups = Map.groupBy(problems, ({ code, column, text }) => `${code} ${column} ${text}`)
  const visible = [...groups].slice(0, shownMax).map(([id, group]) => ({ id, group }))
  const left = problems.length - visible.reduce((sum, { group }) => sum + group.length, 0)
  return (
    <>
      <Table caption={labels.problems} columns={columns} rows={visible} />
      {left > 0 && <p className="text-sm text-soft">{labels.more(left)}</p>}
    </>
  )
}

const whatIsWrong = (group: Problems): string => {
  const [{ code, text } = { code: "no_text", text: "" } as const] = group
  const message = rowProblemLabels[code](text)
  return group.length === 1 ? message : labels.sameProblem(group.length, message)
}
