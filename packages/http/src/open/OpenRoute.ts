/** Paths that need no credentials: links, health, metrics and the pages about the API. */
import type { Refusal, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import { refusals } from "../openapi/errors.ts"
import type { Refused } from "../openapi/errors.ts"
import { clientRequestId, commonHeaders } from "../openapi/headers.ts"
import type {
  Answer,
  Content,
  DescribedPart,
  Header,
  Heading,
  JsonObject,
  Operation,
} from "../openapi/Operation.ts"
import type { Handler, IncomingRequest, Reply } from "../route/IncomingRequest.ts"
import { routeFinder } from "../route/RouteTable.ts"
import type { Route } from "../route/RouteTable.ts"

interface OpenEntry extends Omit<Heading, keyof Route> {
  readonly tag: "Links" | "Service"
  /** Of requests. */
  readonly headers?: ReadonlyArray<Header>
  readonly answers: ReadonlyArray<Answer>
  readonly refused?: ReadonlyArray<Refused>
  readonly handler: (
    incoming: IncomingRequest,
    parameter: (name: string) => string,
  ) => Effect.Effect<Reply, Refusal | StoreUnavailable>
}

export type OpenRoute = Route & OpenEntry

/** A GET of that path. */
export const openRoute = (path: string, entry: OpenEntry): OpenRoute => ({
  method: "GET",
  path,
  ...entry,
})

/** Answers requests for the paths of that table. */
export const openHandler = (routes: ReadonlyArray<OpenRoute>): Handler => {
  const find = routeFinder(routes)
  return (incoming) =>
    Effect.flatMap(Effect.fromResult(find(incoming)), ({ parameter, route }) =>
      route.handler(incoming, parameter),
    )
}

/** Success, with those headers beside the common ones. */
export const success = (
  description: string,
  content: Content,
  more: ReadonlyArray<Header> = [],
): Answer => ({ status: 200, description, headers: [...commonHeaders, ...more], content })

/** A body of that type. */
export const content = (contentType: string, json: JsonObject): Content => ({
  [contentType]: { schema: { json } },
})

const text = (description: string): JsonObject => ({ schema: { type: "string" }, description })

/** Readiness has a 503 of its own. */
const unavailable = ({ answers }: OpenRoute): ReadonlyArray<Refused> =>
  answers.some(({ status }) => status === 503) ? [] : ["service_unavailable"]

const operation = (route: OpenRoute): Operation => ({
  ...route,
  security: [],
  parameters: {
    token: text("From a link that the service gave out."),
    name: text("The file's name, from the same link."),
  },
  headers: [...(route.headers ?? []), clientRequestId],
  answers: [
    ...route.answers,
    ...refusals([...(route.refused ?? []), "internal_error", ...unavailable(route)]),
  ],
})

const tags = [
  { name: "Links", description: "What links in answers lead to." },
  { name: "Service", description: "Health, metrics and documentation." },
]

/** The routes that are served, for the document. */
export const documentOpen = (routes: ReadonlyArray<OpenRoute>): DescribedPart => ({
  name: "Open to all",
  tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
  security: {},
  operations: routes.map(operation),
})
