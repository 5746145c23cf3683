/** The operator API in the document, with the emulator controls where they are served. */
import type { OperatorRoute } from "../operator/OperatorRoute.ts"
import type { Refused } from "./errors.ts"
import { actingRole } from "./headers.ts"
import type { DescribedSurface } from "./Operation.ts"
import { routeOperation } from "./routeOperation.ts"
import type { Common } from "./routeOperation.ts"

/** Token and `Acting-Role`. */
const refusedAdmission: ReadonlyArray<Refused> = [
  "missing_operator_token",
  "invalid_operator_token",
  "too_many_auth_failures",
  "validation_failed",
  "internal_error",
  "service_unavailable",
]

const common: Common = {
  security: "operatorToken",
  headers: [actingRole],
  refused: refusedAdmission,
}

const tags = [
  { name: "Workspaces", description: "What owns keys, numbers, contacts and messages." },
  { name: "Keys", description: "Keys of both versions." },
  { name: "Workspace numbers", description: "The numbers of a workspace." },
  { name: "Contacts", description: "The saved contacts of a workspace." },
  { name: "Deliveries", description: "What was sent to webhook endpoints." },
  { name: "Reminder runs", description: "What became of the runs of reminders." },
  {
    name: "Emulator",
    description:
      "The other side of the simulated wire, and the clock; only with `TRANSPORT=simulated`.",
  },
]

/** With the emulator's tag where its controls are among the routes. */
export const documentOperator = (routes: ReadonlyArray<OperatorRoute>): DescribedSurface => ({
  name: "Operator API",
  tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
  security: {
    operatorToken: {
      type: "http",
      scheme: "bearer",
      description: "The service's `OPERATOR_TOKEN`.",
    },
  },
  operations: routes.map((route) => routeOperation(route, common)),
})
