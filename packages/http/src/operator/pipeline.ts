/**
 * The operator API: an entry of its table of routes, who is admitted, and the steps of every request
 * under `/admin/v1`.
 */
import {
  Admission,
  BrowserSessions,
  makeRejectingBulkhead,
  MediaFiles,
  namesPrivateTargets,
  parseId,
  refuse,
  roles,
  sharedLimits,
} from "@messaging-service/core"
import type {
  BrowserSession,
  CallbackSecrets,
  CampaignFiles,
  Campaigns,
  Conversations,
  IdempotencyKey,
  Contacts,
  Keys,
  MediaLinks,
  MessageOperations,
  Mode,
  NumberOperations,
  Numbers,
  PortalLinks,
  Refusal,
  Reminders,
  Restoration,
  Role,
  StoreUnavailable,
  TelegramLogins,
  WebhookOperations,
  WorkspaceFigures,
  WorkspaceId,
  WorkspaceChangeFeed,
  Workspaces,
} from "@messaging-service/core"
import { Effect, Redacted, Result, Schema } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { LaterAnswer, StreamedAnswer } from "../Entry.ts"
import type { Entry, Input, NamesIn } from "../Entry.ts"
import {
  findAuthorization,
  knownAddress,
  parseQuery,
  takeWorkspaceShare,
} from "../IncomingRequest.ts"
import type { ClientAddressOf, Handler, IncomingRequest } from "../IncomingRequest.ts"
import type { Heading, JsonObject, Refused } from "../openapi/Operation.ts"
import { readRequest } from "../readRequest.ts"
import { routeAt, routeFinder } from "../RouteTable.ts"
import type { MethodAndPath } from "../RouteTable.ts"
import { getIdempotencyKey, toIdempotency } from "../v2/pipeline.ts"
import type { ServicesV2 } from "../v2/pipeline.ts"
import { writeJson } from "../writeJson.ts"
import type { SessionCookie } from "./sessionCookie.ts"

/** The services of handlers. */
export type OperatorServices =
  | ServicesV2
  | BrowserSessions
  | CallbackSecrets
  | CampaignFiles
  | Campaigns
  | Contacts
  | Conversations
  | Keys
  | MediaLinks
  | MessageOperations
  | NumberOperations
  | Numbers
  | PortalLinks
  | Reminders
  | Restoration
  | TelegramLogins
  | WebhookOperations
  | WorkspaceChangeFeed
  | WorkspaceFigures
  | Workspaces

/**
 * What an operation asks of a portal's session (contract: Who may do what); the operator may do
 * everything. `open`: no credentials are asked for.
 */
export type Right = "open" | "read" | "send" | "administrate" | "own" | "operator"

interface OperatorInput<Path extends string, Request> extends Input<Path, Request> {
  /** The text in the path with that name. */
  readonly text: (name: NamesIn<Path>) => string
  readonly admitted: Admitted
  /** The role that the operator or the portal acts in. */
  readonly role: Role
  readonly incoming: IncomingRequest
  /** Null unless the operation is idempotent and the header was sent. */
  readonly idempotency: IdempotencyKey | null
}

interface OperatorEntry<
  Path extends string = string,
  Request = unknown,
  Answer extends Schema.Top = Schema.Top,
  Services = OperatorServices,
> extends Entry<Request, Answer> {
  readonly right: Right
  /** It is about what people write. */
  readonly ofConversations?: true
  /** Honours `Idempotency-Key`; other operations ignore the header. */
  readonly idempotent?: true
  /** Parameters of the query that the handler reads itself, besides its `request`. */
  readonly parameters?: Schema.Top & { readonly fields: object }
  /** The parameters in the path that are not ids, as the document describes them. */
  readonly pathTexts?: Readonly<Record<string, JsonObject>>
  /** Its workspace is the parameter `workspace_id` of the query, and not in its path. */
  readonly workspaceInQuery?: true
  /** Of an open operation: what is checked before anything of the request is read. */
  readonly before?: (incoming: IncomingRequest) => Effect.Effect<void, Refusal>
  /** What is held from before the body is read until the answer is known. */
  readonly holds?: (
    incoming: IncomingRequest,
    workspaceId: WorkspaceId | undefined,
  ) => Effect.Effect<void, Refusal, CampaignFiles | Scope.Scope>
  handler(
    input: OperatorInput<Path, Request>,
  ): Effect.Effect<Answer["Type"] | LaterAnswer, Refusal | StoreUnavailable, Services>
}

export type OperatorRoute<Services = OperatorServices> = Heading &
  OperatorEntry<string, unknown, Schema.Top, Services>

/** Makes routes under that heading of the document. Binds the handler to its path, input and answer. */
export const operatorRoute =
  (tag: string) =>
  <
    const At extends MethodAndPath,
    Answer extends Schema.Top,
    Request = undefined,
    Services = OperatorServices,
  >(
    at: At,
    entry: OperatorEntry<At, Request, Answer, Services>,
  ): OperatorRoute<Services> => ({ ...routeAt(at), tag, ...entry })

/** Built with the interface, from its services. */
export type EmulatorControls = Effect.Effect<ReadonlyArray<OperatorRoute>>

export const workspacesPath = "/admin/v1/workspaces"
export const workspacePath = `${workspacesPath}/{id}` as const
export const numberPath = `${workspacePath}/numbers/{number_id}` as const

/** The workspace has no number with the path's id. */
export const missingNumber: Refused = { code: "number_not_found", inPath: true }

const modes: ReadonlyArray<string> = ["live", "test"] satisfies ReadonlyArray<Mode>

/** Of operations that act as a key of either mode. */
export const ModeParameter = Schema.Struct({
  mode: Schema.optionalKey(
    Schema.String.annotate({
      description: "Acts as a live or a test key. Default: `live`.",
      parameter: { type: "string", enum: modes, default: "live" },
    }),
  ),
})

const isMode = (text: string): text is Mode => modes.includes(text)

const wrongMode = refuse("validation_failed", {
  field: "mode",
  message: "mode: must be live or test, and given only once",
})

export const parseMode = ({ query }: IncomingRequest): Result.Result<Mode, Refusal> =>
  Result.flatMap(parseQuery(query), (entries) => {
    const [mode = "live", ...more] = entries.flatMap(([name, value]) =>
      name === "mode" ? value : [],
    )
    return more.length === 0 && isMode(mode) ? Result.succeed(mode) : Result.fail(wrongMode)
  })

const isRole = (text: string): text is Role => (roles as ReadonlyArray<string>).includes(text)

/** The operator is the workspace's owner unless `Acting-Role` names another role. */
const actingRole = (request: HttpServerRequest): Result.Result<Role, Refusal> => {
  const role = request.headers["acting-role"] ?? "owner"
  return isRole(role)
    ? Result.succeed(role)
    : Result.fail(
        refuse("validation_failed", {
          field: "Acting-Role",
          message: `Acting-Role is one of ${roles.join(", ")}.`,
        }),
      )
}

/** The caller, by the credentials of its request. */
export type Admitted =
  /** `sessionId` is null for the token. */
  | { readonly kind: "operator"; readonly sessionId: string | null }
  | {
      readonly kind: "portal"
      readonly sessionId: string
      readonly session: BrowserSession & { readonly workspaceId: WorkspaceId }
    }

const operator: Admitted = { kind: "operator", sessionId: null }

/** The roles that each right takes. */
export const rolesWith: Readonly<Record<Right, ReadonlyArray<Role>>> = {
  open: roles,
  read: roles,
  send: roles,
  administrate: ["owner", "administrator"],
  own: ["owner"],
  operator: [],
}

const operatorRequired = refuse("operator_required")
const workspaceNotFound = refuse("workspace_not_found")
const roleRequired = refuse("role_required")

/** What a portal's session may do. It sees no workspace but its own: all others are missing. */
const portalRole = (
  { role, workspaceId }: BrowserSession,
  right: Right,
  workspace: number | undefined,
): Result.Result<Role, Refusal> => {
  if (right === "operator") return Result.fail(operatorRequired)
  if (workspace !== workspaceId) return Result.fail(workspaceNotFound)
  return rolesWith[right].includes(role) ? Result.succeed(role) : Result.fail(roleRequired)
}

/** The workspace that a request names; undefined for none. */
const findWorkspaceId = (
  { workspaceInQuery }: OperatorRoute,
  { query }: IncomingRequest,
  inPath: WorkspaceId | undefined,
): WorkspaceId | undefined =>
  workspaceInQuery === undefined
    ? inPath
    : parseId<WorkspaceId>(new URLSearchParams(query).get("workspace_id") ?? "")

/** Names the setting that a refused address needs, for operators alone: they can change it. */
const namesSetting =
  ({ kind }: Admitted, command: unknown) =>
  (error: Refusal | StoreUnavailable): Refusal | StoreUnavailable =>
    error._tag === "Refusal" && kind === "operator"
      ? namesPrivateTargets(error, (command as { readonly url?: unknown } | undefined)?.url)
      : error

/** Who may ask, and where browsers keep their sessions. */
export interface OperatorAccess {
  /** Null admits no operator. */
  readonly token: Redacted.Redacted | null
  /** Null: without browser sessions. */
  readonly cookie: SessionCookie | null
}

/** Answers requests of operators, who show that token or a session's cookie, and of portals. */
export const makeOperatorHandler = Effect.fnUntraced(function* makeOperatorHandler(
  routes: ReadonlyArray<OperatorRoute>,
  { cookie, token: redacted }: OperatorAccess,
  getAddress: ClientAddressOf,
) {
  const admission = yield* Admission
  const sessions = yield* BrowserSessions
  const files = yield* MediaFiles
  const find = routeFinder(routes)
  const token = redacted === null ? null : Redacted.value(redacted)
  const portals = makeRejectingBulkhead<WorkspaceId>(sharedLimits.portalRequests)

  const admitByToken = Effect.fnUntraced(function* admitByToken(
    authorization: string | undefined,
    request: HttpServerRequest,
  ) {
    if (authorization === undefined) return yield* refuse("missing_operator_token")
    if (token === null) return yield* refuse("invalid_operator_token")
    yield* admission.admitOperator(authorization, token, knownAddress(getAddress(request)))
    return operator
  })

  /** A request with `Authorization` is judged only by that. */
  const admit = Effect.fnUntraced(function* admit(incoming: IncomingRequest) {
    const { request } = incoming
    const authorization = findAuthorization(request)
    const id = authorization === undefined ? cookie?.read(request) : undefined
    if (cookie === null || id === undefined) return yield* admitByToken(authorization, request)
    yield* cookie.requireOwnPage(request)
    const session = yield* sessions.admit(id, token)
    const { workspaceId } = session
    if (workspaceId === null) return { ...operator, sessionId: id }
    yield* takeWorkspaceShare(portals, workspaceId)
    const admitted: Admitted = {
      kind: "portal",
      sessionId: id,
      session: { ...session, workspaceId },
    }
    return admitted
  })

  const handler: Handler<OperatorServices> = Effect.fnUntraced(function* handleOperator(incoming) {
    const { request } = incoming

    // Route
    const { parameter, route } = yield* Effect.fromResult(find(incoming))
    const id = <Id extends number>(name: string) => parseId<Id>(parameter(name))

    // Token or session, role
    if (route.before !== undefined) yield* route.before(incoming)
    const admitted = route.right === "open" ? operator : yield* admit(incoming)
    const role = yield* Effect.fromResult(
      admitted.kind === "portal"
        ? portalRole(admitted.session, route.right, findWorkspaceId(route, incoming, id("id")))
        : actingRole(request),
    )

    const key = yield* Effect.fromResult(getIdempotencyKey(route, incoming))

    if (route.holds !== undefined) yield* route.holds(incoming, id("id"))

    // Content type, size, JSON; query
    const passedOver = Object.keys(route.parameters?.fields ?? {})
    const read = yield* readRequest(route.request, incoming, files, passedOver)

    // Roles, fields, and checks of stored state
    const idempotency = toIdempotency(key, route, incoming, read.fingerprinted)
    const { request: command } = read
    const at = { admitted, role, id, text: parameter, incoming }
    const input = { ...at, idempotency, request: command }
    const answer = yield* Effect.mapError(route.handler(input), namesSetting(admitted, command))
    if (answer instanceof StreamedAnswer) return { status: 200, streamed: answer } as const
    if (answer instanceof LaterAnswer) {
      const { schema } = (route.later ?? route).answer
      return { status: 202, json: writeJson(schema, answer.value) } as const
    }
    const status = incoming.isDoneAlready ? 200 : (route.status ?? 200)
    return { status, json: writeJson(route.answer.schema, answer) }
  }, Effect.scoped)
  return handler
})
