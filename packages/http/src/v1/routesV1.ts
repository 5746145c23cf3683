/** The operations of version 1 (contract: Version 1). */
import { Connections, described } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { textsOfMe } from "./FailureV1.ts"
import { idOf, integer } from "./FieldsV1.ts"
import { mediaRoutes } from "./mediaRoutes.ts"
import { messageRoutes } from "./messageRoutes.ts"
import { numberRoutes } from "./numberRoutes.ts"
import { reminderRoutes } from "./RemindV1.ts"
import { routeV1, succeeded, successV1 } from "./RouteV1.ts"
import { sendRoutes } from "./SendV1.ts"
import { verificationRoutes } from "./verificationRoutes.ts"

/** Whether credentials work together, without sending or using up anything. */
const meRoute = Effect.map(Connections, (connections) =>
  routeV1("POST /api/v1/me", {
    summary: "Check credentials",
    fields: { whatsapp_client: integer("A number that must be the workspace's.") },
    texts: textsOfMe,
    answer: successV1({
      message: Schema.String,
      name: described(Schema.String, "Of the workspace."),
    }),
    handler: Effect.fnUntraced(function* ({ caller, fields: { whatsapp_client } }) {
      if (whatsapp_client !== null) {
        yield* connections.get(caller, idOf<NumberId>(whatsapp_client))
      }
      return {
        status: succeeded,
        message: "The credentials are valid",
        name: caller.workspace.name,
      }
    }),
  }),
)

export const routesV1 = Effect.gen(function* () {
  return [
    ...(yield* sendRoutes),
    ...(yield* messageRoutes),
    yield* meRoute,
    ...(yield* mediaRoutes),
    ...(yield* reminderRoutes),
    ...(yield* verificationRoutes),
    ...(yield* numberRoutes),
  ]
})
