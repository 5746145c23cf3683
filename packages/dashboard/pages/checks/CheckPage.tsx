/** One number check: how far it is, what it found, phone by phone, and all of it as a file. */
import { useMutation, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { NumberCheck, NumberCheckResult } from "@messaging-service/client"
import { operationQuery, call } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { SelectField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, Fact, Failure, PageHead, backLink } from "../ui/parts.tsx"
import { saveFile } from "../ui/saveFile.ts"
import { PagedTable, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { isResultStatus, resultStatuses } from "./resultStatus.ts"
import { checkLabels as labels, checksLabels, resultLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/number-checks/$checkId")

const pollMillis = 2000

export const CheckPage = () => {
  const { checkId, workspaceId } = route.useParams()
  const path = { id: Number(workspaceId), check_id: Number(checkId) }
  const check = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/number-checks/{check_id}", { path }),
    refetchInterval: ({ state }) => (state.data?.status === "completed" ? false : pollMillis),
  })
  const title = check.data?.name ?? checksLabels.unnamed(path.check_id)
  return (
    <main className="page gap-4">
      <PageHead title={title}>
        {check.data && <Download check={check.data} path={path} />}
        <Link className={backLink} to="/w/$workspaceId/number-checks" params={{ workspaceId }}>
          {labels.all}
        </Link>
      </PageHead>
      <Answer query={check} rows={2}>
        {(data) => <Progress check={data} />}
      </Answer>
      <Results path={path} isRunning={check.data?.status !== "completed"} />
    </main>
  )
}

const Progress = ({ check }: { check: NumberCheck }) => (
  <div className="card flex flex-col gap-4 p-5">
    <div role="status" className="flex items-center gap-3">
      <progress
        aria-label={labels.progress}
        max={check.total}
        value={check.checked}
        className="h-2 min-w-0 grow"
      />
      <span className="text-sm tabular-nums">{labels.checked(check.checked, check.total)}</span>
    </div>
    <dl className="grid grid-cols-3 gap-4">
      <Fact name={labels.registered}>{check.registered.toLocaleString()}</Fact>
      <Fact name={labels.notRegistered}>{check.not_registered.toLocaleString()}</Fact>
      <Fact name={labels.others}>
        {(check.checked - check.registered - check.not_registered).toLocaleString()}
      </Fact>
    </dl>
    {check.status !== "completed" && <p className="text-sm text-soft">{labels.waiting}</p>}
  </div>
)

interface CheckPath {
  readonly id: number
  readonly check_id: number
}

const results = "GET /admin/v1/workspaces/{id}/number-checks/{check_id}/results"

const variants: Readonly<Record<NumberCheckResult["status"], string>> = {
  registered: "text-accent",
  not_registered: "text-red",
  failed: "text-amber",
  pending: "text-soft",
}

const columns: Columns<NumberCheckResult> = [
  { name: labels.phone, tone: mono, cell: ({ phone }) => phone },
  {
    name: labels.result,
    cell: ({ status }) => <span className={variants[status]}>{resultLabels[status]}</span>,
  },
  {
    name: labels.at,
    wide: true,
    right: true,
    cell: ({ checked_at: at }) => at !== null && <When at={at} />,
  },
]

const Results = ({ isRunning, path }: { path: CheckPath; isRunning: boolean }) => {
  const { status } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/number-checks/$checkId" })
  const found = useList(results, { path, query: { status } }, () => isRunning && pollMillis)
  return (
    <>
      <div className="w-44">
        <SelectField
          label={labels.filter}
          value={status ?? ""}
          onChange={({ target: { value } }) =>
            void navigate({ search: isResultStatus(value) ? { status: value } : {} })
          }
          options={[
            ["", labels.everything],
            ...resultStatuses.map((one) => [one, resultLabels[one]] as const),
          ]}
        />
      </div>
      <PagedTable
        list={found}
        caption={labels.caption}
        columns={columns}
        empty={["search", labels.nothing, labels.nothingAbout]}
      />
    </>
  )
}

/** All results, as the service has them now. */
const Download = ({ check, path }: { check: NumberCheck; path: CheckPath }) => {
  const [share, setShare] = useState(0)
  const { error, isPending, mutate } = useMutation({
    mutationFn: async () => {
      const lines: Array<string> = []
      let cursor: string | undefined
      do {
        const page = await call(results, { path, query: { limit: 100, cursor } })
        lines.push(
          ...page.data.map(({ checked_at: at, phone, status }) => `${phone},${status},${at ?? ""}`),
        )
        cursor = page.next_cursor ?? undefined
        setShare(lines.length / check.total)
      } while (cursor !== undefined)
      // The service lists the last phone first.
      const csv = ["phone,status,checked_at", ...lines.toReversed(), ""].join("\r\n")
      saveFile(`number-check-${check.id}.csv`, new Blob([csv], { type: "text/csv" }))
    },
  })
  return (
    <>
      {error && <Failure error={error} />}
      <Button busy={isPending} onClick={() => mutate()}>
        {isPending ? labels.downloading(share) : labels.download}
      </Button>
    </>
  )
}
