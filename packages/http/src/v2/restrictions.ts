/** What WhatsApp lets numbers do with new chats (contract: Restrictions). */
import {
  capWarnings,
  Connections,
  described,
  restrictionsJson,
  restrictionStates,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { IdJson, jsonBody, TimeText } from "../Entry.ts"
import { examples } from "../openapi/examples.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

/** Restrictions as the core's `restrictionsJson` shows them, in answers as in events. */
export const RestrictionsJson = Schema.Struct({
  number_id: IdJson,
  state: described(
    Schema.Literals(restrictionStates),
    "`new_chats_closed`: people who never wrote to the number cannot be written to. `unknown`: not asked yet, not connected, or refused; always for Telegram.",
  ),
  until: described(Schema.NullOr(TimeText), "End of `new_chats_closed`; null when unknown."),
  reason: described(Schema.NullOr(Schema.String), "WhatsApp's name of the reason; null for none."),
  new_chats: described(
    Schema.NullOr(
      Schema.Struct({
        limit: described(Schema.NullOr(Schema.Int), "Null without a cap."),
        used: Schema.Int,
        resets_at: described(
          Schema.NullOr(TimeText),
          "When `used` starts again; null when unknown.",
        ),
        warning: Schema.Literals(capWarnings),
      }),
    ),
    "How many new chats the number may open; null when unknown.",
  ),
  checked_at: described(
    Schema.NullOr(TimeText),
    "When WhatsApp was last asked or told of it; null for never.",
  ),
}).annotate({ identifier: "Restrictions" })

export const restrictionRoutes: ReadonlyArray<RouteV2> = [
  routeV2("Numbers")("GET /api/v2/numbers/{id}/restrictions", {
    ofConversations: true,
    id: "getNumberRestrictions",
    summary: "Read what WhatsApp lets a number do with new chats",
    about:
      "As last heard: WhatsApp is asked when the number connects, after it refused a message to someone new, at `until`, and every 6 hours.",
    success: "The restrictions.",
    answer: jsonBody(RestrictionsJson, examples.restrictions),
    refused: [{ code: "number_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* getNumberRestrictions({ caller, id }) {
      const connections = yield* Connections
      const { numberId, ...restrictions } = yield* connections.restrictions(caller, id("id"))
      return restrictionsJson(numberId, restrictions)
    }),
  }),
]
