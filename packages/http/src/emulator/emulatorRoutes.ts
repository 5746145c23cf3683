/** The emulator controls (operator API: `/admin/v1/simulator`). */
import type { Emulator } from "@messaging-service/emulator"
import type { OperatorRoute } from "../operator/OperatorRoute.ts"

const simulatorPath = "/admin/v1/simulator"

/** The table, over the emulator. */
export const emulatorRoutes = (emulator: typeof Emulator.Service) =>
  [
    {
      method: "PUT",
      path: `${simulatorPath}/numbers/{number_id}/behaviour`,
      takes: "json",
      status: 200,
      handler: ({ id, body }) => emulator.setBehaviour(id("number_id"), body),
    },
    {
      method: "POST",
      path: `${simulatorPath}/numbers/{number_id}/scan`,
      takes: "optional_json",
      status: 200,
      handler: ({ id, body }) => emulator.scan(id("number_id"), body),
    },
    {
      method: "POST",
      path: `${simulatorPath}/numbers/{number_id}/logout`,
      takes: "nothing",
      status: 200,
      handler: ({ id }) => emulator.logout(id("number_id")),
    },
    {
      method: "PUT",
      path: `${simulatorPath}/registered`,
      takes: "json",
      status: 200,
      handler: ({ body }) => emulator.setRegistered(body),
    },
    {
      method: "POST",
      path: `${simulatorPath}/messages/{message_id}/ticks`,
      takes: "json",
      status: 200,
      handler: ({ id, body }) => emulator.tick(id("message_id"), body),
    },
    {
      method: "GET",
      path: `${simulatorPath}/sent`,
      takes: "query",
      status: 200,
      handler: ({ query }) => emulator.sent(query),
    },
    {
      method: "GET",
      path: `${simulatorPath}/clock`,
      takes: "nothing",
      status: 200,
      handler: () => emulator.clock,
    },
    {
      method: "POST",
      path: `${simulatorPath}/clock/advance`,
      takes: "json",
      status: 200,
      handler: ({ body }) => emulator.advance(body),
    },
    {
      method: "POST",
      path: `${simulatorPath}/settle`,
      takes: "nothing",
      status: 200,
      handler: () => emulator.settle,
    },
  ] as const satisfies ReadonlyArray<OperatorRoute>
