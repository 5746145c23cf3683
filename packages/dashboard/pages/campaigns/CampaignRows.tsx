/** The rows of a campaign: the outcome of each, found by status, error or phone, and all of them as a file. */
import { useMutation } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Campaign, CampaignRow } from "@messaging-service/client"
import { download } from "../api/call.ts"
import { PagedAnswer } from "../ui/Answer.tsx"
import { SelectField, TextField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, Failure, Section } from "../ui/parts.tsx"
import { saveFile } from "../ui/saveFile.ts"
import { Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { rowStatuses } from "./campaignSearch.ts"
import type { ModeSearch, RowsSearch } from "./campaignSearch.ts"
import { RowStatusWord, toRecipient } from "./parts.tsx"
import type { CampaignPath } from "./useCampaign.ts"
import { problemNames, problemTexts, rowStatusLabels, rowsLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/campaigns/$campaignId")

/** Of a draft those that cannot be sent are what a user looks for. */
const getStatus = ({ rows, state }: Campaign, { code, status, to }: RowsSearch) => {
  const isFound = code !== undefined || to !== undefined
  return status ?? (state === "draft" && rows.refused > 0 && !isFound ? "refused" : "all")
}

export const CampaignRows = ({ campaign, path }: { campaign: Campaign; path: CampaignPath }) => {
  const search = route.useSearch()
  const status = getStatus(campaign, search)
  const list = useList("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows", {
    path,
    query: {
      mode: search.mode,
      status: status === "all" ? undefined : status,
      code: search.code,
      to: search.to,
    },
  })
  const hasRows = campaign.rows.total > 0
  return (
    <Section
      title={labels.title}
      action={hasRows && <Download path={path} mode={search.mode} status={status} />}
    >
      {hasRows && <Filters status={status} search={search} />}
      <PagedAnswer list={list}>
        {(rows) => (
          <Table
            caption={labels.caption}
            columns={toColumns(path.id, search.mode)}
            rows={rows.map((row) => ({ ...row, id: row.row }))}
            empty={
              hasRows
                ? ["search", labels.empty, labels.emptyAbout]
                : ["file", labels.noRows, labels.noRowsAbout]
            }
          />
        )}
      </PagedAnswer>
    </Section>
  )
}

const Filters = ({ search, status }: { search: RowsSearch; status: string }) => {
  const navigate = useNavigate({ from: "/w/$workspaceId/campaigns/$campaignId" })
  const show = (change: RowsSearch) =>
    void navigate({ search: (old) => ({ ...old, trail: undefined, ...change }) })
  return (
    <search className="grid max-w-3xl grid-cols-2 items-end gap-3 sm:grid-cols-3">
      <SelectField
        label={labels.show}
        value={status}
        onChange={({ target: { value } }) =>
          show({ status: rowStatuses.find((one) => one === value) ?? "all" })
        }
        options={[
          ["all", labels.all],
          ...rowStatuses.map((one) => [one, rowStatusLabels[one]] as const),
        ]}
      />
      <SelectField
        label={labels.code}
        value={search.code ?? ""}
        onChange={({ target: { value } }) => show({ code: value === "" ? undefined : value })}
        options={[
          ["", labels.anyCode],
          ...Object.entries(problemNames),
          // The address may name another one.
          ...(search.code === undefined || search.code in problemNames
            ? []
            : [[search.code, search.code] as const]),
        ]}
      />
      <FindPhone key={search.to} to={search.to ?? ""} find={(to) => show({ to })} />
    </search>
  )
}

const FindPhone = ({ find, to }: { to: string; find: (to: string | undefined) => void }) => {
  const [text, setText] = useState(to)
  return (
    <form
      className="flex min-w-0 items-end gap-2 max-sm:col-span-2"
      onSubmit={(event) => {
        event.preventDefault()
        const digits = text.replaceAll(/\D/g, "")
        find(digits === "" ? undefined : `+${digits}`)
      }}
    >
      <div className="min-w-0 grow">
        <TextField
          type="search"
          label={labels.find}
          placeholder={labels.findExample}
          value={text}
          onChange={({ target: { value } }) => {
            setText(value)
            if (value === "" && to !== "") find(undefined)
          }}
        />
      </div>
      <Button type="submit">{labels.search}</Button>
    </form>
  )
}

const toProblem = (row: CampaignRow): string | null => {
  const { error } = row
  if (error === null) return null
  return problemTexts[error.code]?.(error, toRecipient(row)) ?? error.message
}

const toColumns = (id: number, mode: ModeSearch["mode"]): Columns<CampaignRow & { id: number }> => [
  {
    name: labels.row,
    wide: true,
    tone: "tabular-nums",
    cell: ({ line, row }) => (
      <>
        {row.toLocaleString()}
        {line !== null && <span className="block text-2xs text-faint">{labels.line(line)}</span>}
      </>
    ),
  },
  {
    name: labels.to,
    cell: (row) => (
      <>
        <span
          className={`${mono} max-md:tracking-tighter max-md:break-all max-md:whitespace-normal`}
        >
          {toRecipient(row)}
        </span>
        <span className="block text-2xs whitespace-normal text-faint md:hidden">
          {labels.rowAndLine(row.row, row.line)}
        </span>
      </>
    ),
  },
  { name: labels.status, cell: ({ status }) => <RowStatusWord status={status} /> },
  {
    name: labels.what,
    cell: (row) => {
      const problem = toProblem(row)
      return problem === null ? (
        row.text
      ) : (
        <span
          className={`break-words whitespace-normal ${row.status === "skipped" ? "text-soft" : "text-red"}`}
        >
          {problem}
        </span>
      )
    },
  },
  {
    name: labels.message,
    wide: true,
    right: true,
    cell: ({ message_id: message }) =>
      message !== null && (
        <Link
          to="/w/$workspaceId/messages"
          params={{ workspaceId: String(id) }}
          search={{ open: message, ...(mode === undefined ? {} : { mode }) }}
          className="text-accent hover:underline"
        >
          {labels.open(message)}
        </Link>
      ),
  },
]

const Download = ({ mode, path, status }: ModeSearch & { path: CampaignPath; status: string }) => {
  const { error, isPending, mutate } = useMutation({
    mutationFn: async () => {
      const file = await download(
        "GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/results.csv",
        { path, query: { mode, status: status === "all" ? undefined : status } },
      )
      saveFile(`campaign-${path.campaign_id}.csv`, file)
    },
  })
  return (
    <>
      {error && <Failure error={error} />}
      <Button busy={isPending} onClick={() => mutate()}>
        {labels.download}
      </Button>
    </>
  )
}
