/** Numbers of a workspace (contract: Workspace numbers). */
import { NumberBody, NumberPatch, Numbers } from "@messaging-service/core"
import type { ChangeNumber, CreateNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { examples, listOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { DeletedJson, asCommand, deleted, json, listJson } from "../route/Entry.ts"
import { NumberJson, numberJson } from "../v2/numbers.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

const tag = "Workspace numbers"

const missing: Refused = { code: "number_not_found", inPath: true }

export const numberRoutes = Effect.gen(function* () {
  const numbers = yield* Numbers

  return [
    operatorRoute({
      method: "POST",
      path: `${workspacePath}/numbers`,
      id: "createNumber",
      tag,
      summary: "Add a number",
      request: json(
        NumberBody,
        { platform: "whatsapp", phone: "+15550001000" },
        asCommand<CreateNumber>,
      ),
      status: 201,
      success: "The number.",
      answer: NumberJson,
      example: examples.number,
      refused: ["workspace_not_found", "role_required", "invalid_phone"],
      handler: ({ id, request, role }) =>
        Effect.map(numbers.create(role, id("id"), request), numberJson),
    }),
    operatorRoute({
      method: "GET",
      path: `${workspacePath}/numbers`,
      id: "listWorkspaceNumbers",
      tag,
      summary: "List numbers",
      success: "The numbers, oldest first.",
      answer: listJson(NumberJson),
      example: listOf(examples.number),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, role }) =>
        Effect.map(numbers.list(role, id("id")), (all) => ({ data: all.map(numberJson) })),
    }),
    operatorRoute({
      method: "PATCH",
      path: `${workspacePath}/numbers/{number_id}`,
      id: "updateNumber",
      tag,
      summary: "Change a number's label",
      request: json(NumberPatch, { label: "Front desk" }, asCommand<ChangeNumber>),
      success: "The number as it is now.",
      answer: NumberJson,
      example: examples.number,
      refused: ["workspace_not_found", "role_required", missing],
      handler: ({ id, request, role }) =>
        Effect.map(numbers.update(role, id("id"), id("number_id"), request), numberJson),
    }),
    operatorRoute({
      method: "DELETE",
      path: `${workspacePath}/numbers/{number_id}`,
      id: "deleteNumber",
      tag,
      summary: "Remove a number",
      about: "Its waiting messages are cancelled, each with its event.",
      success: "It is gone.",
      answer: DeletedJson,
      example: { id: 12, deleted: true },
      refused: ["workspace_not_found", "role_required", missing],
      handler: ({ id, role }) =>
        Effect.map(numbers.remove(role, id("id"), id("number_id")), deleted),
    }),
  ]
})
