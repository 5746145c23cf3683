/** The operator API in the document, with the emulator controls where they are served. */
import { Effect } from "effect"
import type { EmulatorControls, OperatorRoute } from "../operator/OperatorRoute.ts"
import { operatorRoutes } from "../operator/operatorRoutes.ts"
import { describe } from "./Description.ts"
import type { Description } from "./Description.ts"
import { operatorDescriptions } from "./describeOperator.ts"
import { refusals } from "./errors.ts"
import type { Refused } from "./errors.ts"
import { actingRole, clientRequestId, commonHeaders } from "./headers.ts"
import type { DescribedSurface, Operation } from "./Operation.ts"
import { refusedReading } from "./reading.ts"

/** Token and `Acting-Role`. */
const refusedAdmission: ReadonlyArray<Refused> = [
  "missing_operator_token",
  "invalid_operator_token",
  "too_many_auth_failures",
  "validation_failed",
  "internal_error",
  "service_unavailable",
]

const operation = (route: OperatorRoute, description: Description): Operation => ({
  method: route.method,
  path: route.path,
  id: description.id,
  tag: description.tag,
  summary: description.summary,
  about: description.about ?? "",
  security: ["operatorToken"],
  parameters: {},
  query: description.query ?? null,
  headers: [actingRole, clientRequestId],
  body:
    description.body === undefined
      ? null
      : { required: route.takes === "json", content: description.body },
  answers: [
    {
      status: route.status,
      description: description.success,
      headers: commonHeaders,
      content: description.answer,
    },
    ...refusals([
      ...refusedAdmission,
      ...refusedReading(route.takes, description.query),
      ...(description.refused ?? []),
    ]),
  ],
})

const tags = [
  { name: "Workspaces", description: "What owns keys, numbers, contacts and messages." },
  { name: "Keys", description: "Keys of both versions." },
  { name: "Workspace numbers", description: "The numbers of a workspace." },
  { name: "Contacts", description: "The saved contacts of a workspace." },
  { name: "Deliveries", description: "What was sent to webhook endpoints." },
  { name: "Reminder runs", description: "What became of the runs of reminders." },
]

const described = Effect.map(operatorRoutes, (routes) => describe(routes, operatorDescriptions))

/** Over the core's services; `controls`: those of the emulator, if they are served. */
export const documentOperator = Effect.fnUntraced(function* (controls: EmulatorControls | null) {
  const emulator = controls === null ? null : yield* controls
  const surface: DescribedSurface = {
    name: "Operator API",
    tags: emulator === null ? tags : [...tags, emulator.tag],
    security: {
      operatorToken: {
        type: "http",
        scheme: "bearer",
        description: "The service's `OPERATOR_TOKEN`.",
      },
    },
    operations: [...(yield* described), ...(emulator?.operations ?? [])].map(
      ({ route, description }) => operation(route, description),
    ),
  }
  return surface
})
