import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { jsonName, camelizeKeys, toRequestField } from "../src/JsonNames.ts"

describe("the names of JSON", () => {
  it.effect("become the core's at every depth, and come back in the field of a refusal", () =>
    Effect.sync(() => {
      assert.deepStrictEqual<unknown>(
        camelizeKeys({
          send_at: "2030-01-31T07:00:00Z",
          to: [{ contact_id: 1 }],
          pacing: { jitter_ms: 5 },
          api_v2_enabled: true,
        }),
        {
          sendAt: "2030-01-31T07:00:00Z",
          to: [{ contactId: 1 }],
          pacing: { jitterMillis: 5 },
          apiV2Enabled: true,
        },
      )
      assert.strictEqual(toRequestField("to[3].contactId"), "to[3].contact_id")
      assert.strictEqual(jsonName("roomAt"), "room_at")
    }),
  )

  it.effect.each([
    "sendAt",
    "send_at",
    "sendat",
    "_x",
    "to__y",
    "__proto__",
    "xMs",
    "x_ms",
    "x_millis",
  ])("%s is written back as it was sent", (name) =>
    Effect.sync(() => {
      const [read = ""] = Object.keys(
        camelizeKeys(JSON.parse(`{ "${name}": 1 }`) as Readonly<Record<string, number>>) as object,
      )
      assert.strictEqual(toRequestField(read), name)
      // Only JSON's own spelling is the core's field.
      assert.strictEqual(read === "sendAt", name === "send_at")
    }),
  )
})
