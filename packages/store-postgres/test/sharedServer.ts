/** Called by the runner (`vitest.config.ts`): one server for a whole run, and a template with all tables. */
import { sharePostgres } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { layer } from "../src/index.ts"
import { toOptions } from "./databases.ts"

export const setup = () =>
  sharePostgres((database) => Effect.scoped(Layer.build(layer(toOptions(database)))))
