/**
 * The operator API: an entry of its table of routes, and the steps of every request under
 * `/admin/v1`.
 */
import { Admission, MediaFiles, parseId, refuse, roles } from "@messaging-service/core"
import type {
  CallbackSecrets,
  Contacts,
  Keys,
  MediaLinks,
  MessageOperations,
  NumberOperations,
  Numbers,
  Refusal,
  Reminders,
  Restoration,
  Role,
  StoreUnavailable,
  TelegramLogins,
  WebhookOperations,
  Workspaces,
} from "@messaging-service/core"
import { Effect, Redacted, Result } from "effect"
import type { Schema } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Entry, Input } from "../Entry.ts"
import { authorizationOf, knownAddress } from "../IncomingRequest.ts"
import type { ClientAddressOf, Handler } from "../IncomingRequest.ts"
import type { Heading, Refused } from "../openapi/Operation.ts"
import { readRequest } from "../readRequest.ts"
import { routeAt, routeFinder } from "../RouteTable.ts"
import type { MethodAndPath } from "../RouteTable.ts"

/** The services of handlers. */
export type OperatorServices =
  | CallbackSecrets
  | Contacts
  | Keys
  | MediaLinks
  | MessageOperations
  | NumberOperations
  | Numbers
  | Reminders
  | Restoration
  | TelegramLogins
  | WebhookOperations
  | Workspaces

interface OperatorInput<Path extends string, Request> extends Input<Path, Request> {
  /** The operator's role. */
  readonly role: Role
}

interface OperatorEntry<
  Path extends string = string,
  Request = unknown,
  Answer extends Schema.Top = Schema.Top,
  Services = OperatorServices,
> extends Entry<Request, Answer> {
  handler(
    input: OperatorInput<Path, Request>,
  ): Effect.Effect<Answer["Type"], Refusal | StoreUnavailable, Services>
}

export type OperatorRoute<Services = OperatorServices> = Heading &
  OperatorEntry<string, unknown, Schema.Top, Services>

/**
 * Makes routes under that heading of the document. Binds the handler to its path, input and answer.
 */
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

/** Answers requests of operators with that token. */
export const makeOperatorHandler = Effect.fnUntraced(function* makeOperatorHandler(
  routes: ReadonlyArray<OperatorRoute>,
  token: Redacted.Redacted,
  addressOf: ClientAddressOf,
) {
  const admission = yield* Admission
  const files = yield* MediaFiles
  const find = routeFinder(routes)

  const handler: Handler<OperatorServices> = Effect.fnUntraced(function* handleOperator(incoming) {
    const { request } = incoming

    // Route
    const { parameter, route } = yield* Effect.fromResult(find(incoming))

    // Token, role
    yield* admission.admitOperator(
      authorizationOf(request),
      Redacted.value(token),
      knownAddress(addressOf(request)),
    )
    const role = yield* Effect.fromResult(actingRole(request))

    // Content type, size, JSON; query
    const read = yield* readRequest(route.request, incoming, files)

    // Roles, fields, and checks of stored state
    const id = <Id extends number>(name: string) => parseId<Id>(parameter(name))
    const body = yield* route.handler({ role, id, request: read.request })
    return { status: route.status ?? 200, body }
  }, Effect.scoped)
  return handler
})
