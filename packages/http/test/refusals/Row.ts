/**
 * A row of the table of refusals: how a request differs from the example that the document has of its
 * operation, so that only one thing about it is wrong.
 */
import type { Store } from "@messaging-service/core"
import { Effect } from "effect"
import type { Call, HttpTestClients } from "../HttpTestClients.ts"
import type { Placed } from "../openapi/Document.ts"
import type { Created } from "../Records.ts"
import { operatorToken } from "../Service.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"

export interface Change {
  /** The field that the refusal names. Default: null. */
  readonly field?: string
  /** A key, only for operations of version 2. */
  readonly token?: string
  /** In place of the key or the operator's token; null sends none. */
  readonly credentials?: string | null
  readonly cookie?: string
  readonly workspace?: Created
  /** The ids in the path, from the last one to the first. Default: one that nothing has. */
  readonly ids?: ReadonlyArray<number>
  /** The path names what exists. */
  readonly exists?: true
  readonly query?: string
  /** Added to the example, or sent instead of it. */
  readonly json?: object
  readonly instead?: object
  /** Sent as it is, without a content type; null for none. */
  readonly body?: string | Uint8Array | null
  readonly headers?: Call["headers"]
}

export type Making<A> = Effect.Effect<A, never, HttpTestClients | Store>

export interface Row {
  /** Default: all operations that name the code and are in no other row of it. */
  readonly of: ReadonlyArray<string> | undefined
  readonly changes: Making<(operation: Placed) => Making<Change>>
}

const creating = <A>(created: A | Making<A>): Making<A> =>
  Effect.isEffect(created) ? (created as Making<A>) : Effect.succeed(created)

/** The same change of every operation; what it needs is made once. */
export const once = (change: Change | Making<Change>, ...of: ReadonlyArray<string>): Row => ({
  of: of.length === 0 ? undefined : of,
  changes: Effect.map(creating(change), (created) => () => Effect.succeed(created)),
})

/** A change of each operation, with what it needs. */
export const each = (
  change: (operation: Placed) => Change | Making<Change>,
  ...of: ReadonlyArray<string>
): Row => ({
  of: of.length === 0 ? undefined : of,
  changes: Effect.succeed((operation: Placed) => creating(change(operation))),
})

/** One change for version 2 and another for the operator API. */
export const byPart = (v2: Making<Change>, operator: Making<Change>): Row => ({
  of: undefined,
  changes: Effect.map(
    Effect.all([v2, operator]),
    ([ofV2, ofOperator]) =>
      (operation: Placed) =>
        Effect.succeed(isV2(operation) ? ofV2 : ofOperator),
  ),
})

/** Of version 2: its operations exist in a workspace too. */
export const toName = ({ id }: Pick<Placed, "id">): string =>
  id === "linkNumber" ? "connectNumber" : id.replace("Workspace", "")

const isV2 = ({ part }: Pick<Placed, "part">): boolean => part === "v2"

export const takesFile = ({ bodies }: Placed): boolean => "multipart/form-data" in bodies

const findExample = ({ bodies }: Placed): object | undefined =>
  Object.values(bodies["application/json"]?.examples ?? {})[0]?.value as object | undefined

/** No record has it. */
export const nothing = 987_654

/** What a request is about unless its change says otherwise. */
export interface Usual {
  readonly workspace: Created
  readonly token: string
  /** By the name in a path, such as `webhook_id`, of all that a request can be about. */
  readonly ids: Readonly<Record<string, number>>
}

/** The name of a path's `{id}` in version 2: that in the path of a workspace. */
const nameAfter: Readonly<Record<string, string>> = { "number-checks": "check_id" }

const toPath = (
  { part, path }: Placed,
  { exists, ids = [] }: Change,
  { ids: existing }: Usual,
  workspace: Created,
): string => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toReversed()
  const [, collection = ""] = /([\w-]+)\/\{id\}/.exec(path) ?? []
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (part !== "v2" && name === "id") return String(workspace.id)
    const known = exists === true ? existing[nameAfter[collection] ?? name] : undefined
    return String(ids[names.indexOf(name)] ?? known ?? nothing)
  })
}

const toContent = (
  operation: Placed,
  { body, instead, json }: Change,
): Pick<Call, "body" | "headers" | "json"> => {
  if (body !== undefined) return body === null ? {} : { body }
  if (takesFile(operation)) return { body: form([aPart()]), headers: [multipart] }
  const example = findExample(operation)
  return example === undefined ? {} : { json: instead ?? { ...example, ...json } }
}

const findToken = (operation: Placed, change: Change, usual: Usual): string | null => {
  const { cookie, credentials, token = usual.token } = change
  if (credentials !== undefined) return credentials
  return cookie === undefined ? (isV2(operation) ? token : operatorToken) : null
}

export const makeRequest = (operation: Placed, change: Change, usual: Usual): Call => {
  const { cookie, headers = [], query, workspace = usual.workspace } = change
  const entries = [
    ...(operation.id === "streamNews" ? [`workspace_id=${workspace.id}`] : []),
    ...(query === undefined ? [] : [query]),
  ]
  const { headers: ofContent = [], ...content } = toContent(operation, change)
  const token = findToken(operation, change, usual)
  return {
    method: operation.method,
    path: `${toPath(operation, change, usual, workspace)}${entries.length === 0 ? "" : "?"}${entries.join("&")}`,
    ...(token === null ? {} : { token }),
    ...content,
    headers: [
      ...ofContent,
      ...(cookie === undefined ? [] : [["cookie", cookie] as const]),
      ...headers,
    ],
  }
}
