/** Campaigns of a workspace, over a socket. */
import { Effect } from "effect"
import { expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"
import type { Answer, Call } from "../HttpTestClients.ts"
import { errorBody } from "../HttpTestClients.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"

export interface CampaignBody {
  readonly id: number
  readonly state: string
  readonly state_reason: string | null
  readonly from: ReadonlyArray<number> | null
  readonly reference: string
  readonly rows: Readonly<Record<string, number>>
  readonly waits_for: ReadonlyArray<{
    readonly reason: string
    readonly until: string | null
  }> | null
  readonly finishes_at: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly [field: string]: unknown
}

export interface RowBody {
  readonly row: number
  readonly line: number | null
  readonly to: Readonly<Record<string, unknown>> | null
  readonly status: string
  readonly text: string | null
  readonly message_id: number | null
  readonly number_id: number | null
  readonly error: {
    readonly code: string
    readonly message: string
    readonly field: string | null
    readonly row: number | null
  } | null
  readonly [field: string]: unknown
}

export interface AddedBody {
  readonly first_row: number
  readonly last_row: number
  readonly pending: number
  readonly refused: number
  readonly problems: ReadonlyArray<RowBody>
}

export const request = (workspace: Created, path: string, call: Partial<Call> = {}) =>
  operate({ path: `/admin/v1/workspaces/${workspace.id}/campaigns${path}`, ...call })

export const hello = { name: "Spring", text: "Hello {name|there}" }

export const create = (workspace: Created, fields: object = {}, query = "") =>
  Effect.map(
    request(workspace, query, { method: "POST", json: { ...hello, ...fields } }),
    (answer) => expectBody<CampaignBody>(answer, 201),
  )

export const toPhone = (phone: string, values: Readonly<Record<string, string>> = {}) => ({
  to: { phone },
  values,
})

/** So many phones, each different. */
export const phones = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => `+1555010${String(at + 1).padStart(4, "0")}`)

export const rowsAt = ({ id }: { readonly id: number }) => `/${id}/rows`

export const addRows = (workspace: Created, campaign: { readonly id: number }, rows: unknown) =>
  Effect.map(request(workspace, rowsAt(campaign), { method: "POST", json: { rows } }), (answer) =>
    expectBody<AddedBody>(answer, 201),
  )

export const uploading = (
  workspace: Created,
  campaign: { readonly id: number },
  csv: string | Uint8Array,
  query = "",
  call: Partial<Call> = {},
) =>
  request(workspace, `${rowsAt(campaign)}${query}`, {
    method: "POST",
    body: form([aPart({ fileName: "rows.csv", bytes: csv })]),
    ...call,
    headers: [multipart, ...(call.headers ?? [])],
  })

export const uploadRows = (
  workspace: Created,
  campaign: { readonly id: number },
  csv: string | Uint8Array,
  query = "",
) =>
  Effect.map(uploading(workspace, campaign, csv, query), (answer) =>
    expectBody<AddedBody>(answer, 201),
  )

/** A draft with those rows. */
export const aDraft = Effect.fnUntraced(function* (
  workspace: Created,
  fields: object = {},
  rows: ReadonlyArray<unknown> = [toPhone("+15550001234", { name: "Ada" })],
  query = "",
) {
  const campaign = yield* create(workspace, fields, query)
  expectBody<AddedBody>(
    yield* request(workspace, `${rowsAt(campaign)}${query}`, { method: "POST", json: { rows } }),
    201,
  )
  return campaign
})

export const read = (workspace: Created, { id }: { readonly id: number }, query = "") =>
  Effect.map(request(workspace, `/${id}${query}`), (answer) =>
    expectBody<CampaignBody>(answer, 200),
  )

export const getRows = (workspace: Created, campaign: { readonly id: number }, query = "") =>
  Effect.map(
    request(workspace, `${rowsAt(campaign)}${query}`),
    (answer) => expectBody<{ readonly data: ReadonlyArray<RowBody> }>(answer, 200).data,
  )

export const moving = (
  workspace: Created,
  { id }: { readonly id: number },
  move: "start" | "pause" | "resume" | "stop",
  call: Partial<Call> = {},
) => request(workspace, `/${id}/${move}`, { method: "POST", ...call })

export const move = (...args: Parameters<typeof moving>) =>
  Effect.map(moving(...args), (answer) => expectBody<CampaignBody>(answer, 200))

export const refusal = (answer: Answer) => {
  const { code, field } = errorBody(answer)
  return [answer.status, code, field] as const
}
