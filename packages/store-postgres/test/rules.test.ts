/**
 * What SQL repeats of the core's rules, compared with them. Each test is named in docs/rules.md, and a
 * rule that SQL states without such a test is a defect.
 */
import { layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Layer } from "effect"
import { layerDatabase } from "./rules/compare.ts"
import { endpointRules } from "./rules/endpoints.ts"
import { figureRules } from "./rules/figures.ts"
import { fileRules } from "./rules/files.ts"
import { keyRules } from "./rules/keys.ts"
import { laneRules } from "./rules/lanes.ts"
import { messageRules } from "./rules/messages.ts"
import { nextDueRules } from "./rules/nextDue.ts"
import { numberRules } from "./rules/numbers.ts"
import { receivedRules } from "./rules/received.ts"
import { shareRules } from "./rules/shares.ts"

layer(layerDatabase.pipe(Layer.provide(EmbeddedPostgres.shared)), {
  excludeTestServices: true,
})("rules in core and in SQL", (it) => {
  messageRules(it)
  keyRules(it)
  laneRules(it)
  nextDueRules(it)
  shareRules(it)
  numberRules(it)
  endpointRules(it)
  fileRules(it)
  figureRules(it)
  receivedRules(it)
})
