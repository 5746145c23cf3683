/** The key itself (contract: Key info). */
import { KeyInfo, keyInfo } from "@messaging-service/core"
import { Effect } from "effect"
import { examples } from "../openapi/examples.ts"
import { routeV2 } from "./RouteV2.ts"

export const meRoute = routeV2({
  method: "GET",
  path: "/api/v2/me",
  id: "getKeyInfo",
  tag: "Account",
  summary: "Check the key",
  about: "What the key is and may do. Sends nothing.",
  success: "What the key is and may do.",
  answer: KeyInfo,
  example: examples.keyInfo,
  handler: ({ caller }) => Effect.succeed(keyInfo(caller)),
})
