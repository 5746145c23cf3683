import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { byKey, byWord, sendAndFollow } from "../src/coreWithoutHttp.ts"
import { Service } from "../src/service.ts"

it.live("the core sends without HTTP", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* sendAndFollow(yield* byKey), ["waiting", "sent"])
    assert.deepStrictEqual(yield* sendAndFollow(yield* byWord), ["waiting", "sent"])
  }).pipe(Effect.provide(Service)),
)
