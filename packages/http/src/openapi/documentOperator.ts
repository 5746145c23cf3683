/** The operator API and the emulator controls in the document. */
import { Emulator } from "@messaging-service/core"
import { Effect, Option } from "effect"
import { emulatorRoutes } from "../operator/emulatorRoutes.ts"
import type { OperatorRoute } from "../operator/OperatorRoute.ts"
import { operatorRoutes } from "../operator/operatorRoutes.ts"
import { describe } from "./Description.ts"
import type { Description } from "./Description.ts"
import { emulatorDescriptions } from "./describeEmulator.ts"
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

const emulatorTag = {
  name: "Emulator",
  description:
    "The other side of the simulated wire, and the clock; only with `TRANSPORT=simulated`.",
}

const described = Effect.map(operatorRoutes, (routes) =>
  describe(routes, operatorDescriptions).map(({ route, description }) =>
    operation(route, description),
  ),
)

const describedEmulator = Effect.map(Effect.serviceOption(Emulator), (emulator) =>
  Option.isNone(emulator)
    ? []
    : describe(emulatorRoutes(emulator.value), emulatorDescriptions).map(({ route, description }) =>
        operation(route, description),
      ),
)

/** Over the core's services; `emulator`: whether its controls are served. */
export const documentOperator = Effect.fnUntraced(function* (emulator: boolean) {
  const surface: DescribedSurface = {
    name: "Operator API",
    tags: emulator ? [...tags, emulatorTag] : tags,
    security: {
      operatorToken: {
        type: "http",
        scheme: "bearer",
        description: "The service's `OPERATOR_TOKEN`.",
      },
    },
    operations: [...(yield* described), ...(emulator ? yield* describedEmulator : [])],
  }
  return surface
})
