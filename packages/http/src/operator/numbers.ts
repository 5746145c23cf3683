/** Numbers of a workspace (contract: Workspace numbers). */
import { NumberBody, NumberPatch, Numbers } from "@messaging-service/core"
import type { ChangeNumber, CreateNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { DeletedJson, asCommand, bodyOf, deleted, json, listOf } from "../route/Entry.ts"
import { NumberJson, numberJson } from "../v2/numbers.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

const route = operatorRoute("Workspace numbers")

const missing: Refused = { code: "number_not_found", inPath: true }

export const numberRoutes = Effect.gen(function* () {
  const numbers = yield* Numbers

  return [
    route(`POST ${workspacePath}/numbers`, {
      id: "createNumber",
      summary: "Add a number",
      request: json(
        NumberBody,
        { platform: "whatsapp", phone: "+15550001000" },
        asCommand<CreateNumber>,
      ),
      status: 201,
      success: "The number.",
      answer: bodyOf(NumberJson, examples.number),
      refused: ["invalid_phone"],
      handler: ({ id, request, role }) =>
        Effect.map(numbers.create(role, id("id"), request), numberJson),
    }),
    route(`GET ${workspacePath}/numbers`, {
      id: "listWorkspaceNumbers",
      summary: "List numbers",
      success: "The numbers, oldest first.",
      answer: listOf(NumberJson, examples.number),
      handler: ({ id, role }) =>
        Effect.map(numbers.list(role, id("id")), (all) => ({ data: all.map(numberJson) })),
    }),
    route(`PATCH ${workspacePath}/numbers/{number_id}`, {
      id: "updateNumber",
      summary: "Change a number's label",
      request: json(NumberPatch, { label: "Front desk" }, asCommand<ChangeNumber>),
      success: "The number as it is now.",
      answer: bodyOf(NumberJson, examples.number),
      refused: [missing],
      handler: ({ id, request, role }) =>
        Effect.map(numbers.update(role, id("id"), id("number_id"), request), numberJson),
    }),
    route(`DELETE ${workspacePath}/numbers/{number_id}`, {
      id: "deleteNumber",
      summary: "Remove a number",
      about: "Its waiting messages are cancelled, each with its event.",
      success: "It is gone.",
      answer: bodyOf(DeletedJson, deleted(12)),
      refused: [missing],
      handler: ({ id, role }) =>
        Effect.map(numbers.remove(role, id("id"), id("number_id")), deleted),
    }),
  ]
})
