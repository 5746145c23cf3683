/**
 * Whether credentials work together, without sending or using up anything (contract: Version 1:
 * account).
 */
import { Connections } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { integer } from "./FieldsV1.ts"
import { idOf } from "./idV1.ts"
import { operationV1 } from "./RouteV1.ts"
import { textsOfMe } from "./texts.ts"

const MeAnswer = Schema.Struct({
  status: Schema.Literal(1),
  message: Schema.String,
  name: Schema.String.annotate({ description: "Of the workspace." }),
})

export const accountRoutes = Effect.gen(function* () {
  const connections = yield* Connections

  return [
    operationV1({
      method: "POST",
      path: "/api/v1/me",
      summary: "Check credentials",
      credentials: "client",
      fields: { whatsapp_client: integer("A number that must be the workspace's.") },
      example: {},
      texts: textsOfMe,
      answer: MeAnswer,
      handler: Effect.fnUntraced(function* ({ caller, fields: { whatsapp_client } }) {
        if (whatsapp_client !== null) {
          yield* connections.get(caller, idOf<NumberId>(whatsapp_client))
        }
        return {
          status: 1,
          message: "The credentials are valid",
          name: caller.workspace.name,
        }
      }),
    }),
  ]
})
