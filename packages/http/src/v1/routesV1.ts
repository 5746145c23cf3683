/** The operations of version 1 (contract: Version 1). */
import { Connections } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { textsOfMe } from "./FailureV1.ts"
import { idOf, integer } from "./FieldsV1.ts"
import { mediaRoutes } from "./mediaRoutes.ts"
import { messageRoutes } from "./messageRoutes.ts"
import { numberRoutes } from "./numberRoutes.ts"
import { reminderRoutes } from "./RemindV1.ts"
import { routeV1, successV1 } from "./RouteV1.ts"
import type { RouteV1 } from "./RouteV1.ts"
import { sendRoutes } from "./SendV1.ts"
import { verificationRoutes } from "./verificationRoutes.ts"

const MeAnswer = successV1({
  message: Schema.String,
  name: Schema.String.annotate({ description: "Of the workspace." }),
})

/** Whether credentials work together, without sending or using up anything. */
const accountRoutes = Effect.gen(function* () {
  const connections = yield* Connections

  return [
    routeV1("POST /api/v1/me", {
      summary: "Check credentials",
      fields: { whatsapp_client: integer("A number that must be the workspace's.") },
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

/** The table, over the core's services. */
export const routesV1 = Effect.gen(function* () {
  const routes: ReadonlyArray<RouteV1> = [
    ...(yield* sendRoutes),
    ...(yield* messageRoutes),
    ...(yield* accountRoutes),
    ...(yield* mediaRoutes),
    ...(yield* reminderRoutes),
    ...(yield* verificationRoutes),
    ...(yield* numberRoutes),
  ]
  return routes
})
