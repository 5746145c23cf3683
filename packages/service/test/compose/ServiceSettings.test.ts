/** What a process reads from its environment (contract: Configuration). */
import { assert, it } from "@effect/vitest"
import { readVariables } from "@messaging-service/node"
import { Effect } from "effect"
import { serviceSettings, serviceVariables } from "../../src/compose/index.ts"

it.effect("ATTACHMENT_BYTES is 1 GiB unless it is given", () =>
  Effect.gen(function* () {
    const readBytes = (environment: Readonly<Record<string, string>>) =>
      readVariables(serviceVariables, environment).pipe(
        Effect.flatMap(serviceSettings),
        Effect.map(({ attachmentBytes }) => attachmentBytes),
      )
    assert.strictEqual(yield* readBytes({}), 1_073_741_824)
    assert.strictEqual(yield* readBytes({ ATTACHMENT_BYTES: "3MiB" }), 3_145_728)
  }),
)
