/** Paths that need no credentials: links, health, metrics and the pages about the API. */
import type { Refusal, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { IncomingRequest, Reply, Handler } from "../route/IncomingRequest.ts"
import { refusals } from "../openapi/errors.ts"
import type { Refused } from "../openapi/errors.ts"
import { clientRequestId, commonHeaders } from "../openapi/headers.ts"
import type {
  Answer,
  Content,
  DescribedSurface,
  Header,
  JsonObject,
  Operation,
} from "../openapi/Operation.ts"
import { findRoute, routeMatcher } from "../route/RouteTable.ts"
import type { Route } from "../route/RouteTable.ts"

/** An entry: what the router finds, what the document says, and the handler. */
export interface OpenRoute extends Route {
  readonly method: "GET"
  /** Unique in the whole document. */
  readonly id: string
  readonly tag: "Links" | "Service"
  readonly summary: string
  readonly about?: string
  /** Of requests. */
  readonly headers?: ReadonlyArray<Header>
  readonly answers: ReadonlyArray<Answer>
  readonly refused?: ReadonlyArray<Refused>
  readonly handler: (
    incoming: IncomingRequest,
    parameter: (name: string) => string,
  ) => Effect.Effect<Reply, Refusal | StoreUnavailable>
}

/** Serves the paths of that table. */
export const openSurface = (routes: ReadonlyArray<OpenRoute>): Handler => {
  const match = routeMatcher(routes)
  return (incoming) =>
    Effect.flatMap(Effect.fromResult(findRoute(match, incoming)), ({ parameter, route }) =>
      route.handler(incoming, parameter),
    )
}

export const header = (
  name: string,
  description: string,
  schema: JsonObject = { type: "string" },
): Header => ({ name, description, schema })

export const noSniff = header("X-Content-Type-Options", "Always `nosniff`.")

export const bytes = (contentType: string): Content => ({
  [contentType]: { schema: { json: {} } },
})

/** Text of that type. */
export const page = (
  description: string,
  contentType: string,
  more: ReadonlyArray<Header> = [],
): Answer => ({
  status: 200,
  description,
  headers: [...commonHeaders, ...more],
  content: { [contentType]: { schema: { json: { type: "string" } } } },
})

const text = (description: string): JsonObject => ({
  schema: { type: "string" },
  description,
})

/** Readiness has a 503 of its own. */
const unavailable = ({ answers }: OpenRoute): ReadonlyArray<Refused> =>
  answers.some(({ status }) => status === 503) ? [] : ["service_unavailable"]

const operation = (route: OpenRoute): Operation => ({
  method: route.method,
  path: route.path,
  id: route.id,
  tag: route.tag,
  summary: route.summary,
  about: route.about ?? "",
  security: [],
  parameters: {
    token: text("From a link that the service gave out."),
    name: text("The file's name, from the same link."),
  },
  query: null,
  headers: [...(route.headers ?? []), clientRequestId],
  body: null,
  answers: [
    ...route.answers,
    ...refusals([...(route.refused ?? []), "internal_error", ...unavailable(route)]),
  ],
})

const tags = [
  { name: "Links", description: "What links in answers lead to." },
  { name: "Service", description: "Health, metrics and documentation." },
]

/** Those of them that are served here, in the document. */
export const documentOpen = (routes: ReadonlyArray<OpenRoute>): DescribedSurface => ({
  name: "Open to everybody",
  tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
  security: {},
  operations: routes.map(operation),
})
