import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { sendAndFollow } from "../src/coreWithoutHttp.ts"
import { Service } from "../src/service.ts"

it.live("the core sends without HTTP", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* sendAndFollow, ["queued", "sent"])
  }).pipe(Effect.provide(Service)),
)
