import { assert, describe, it } from "@effect/vitest"
import { Caller, unlimitedPlan } from "@messaging-service/core"
import type { NumberId, Workspace } from "@messaging-service/core"
import { aStoredKey, aStoredWorkspace } from "@messaging-service/testkit"
import { Effect } from "effect"
import { keyInfo, meRoute } from "../../src/v2/me.ts"
import { writeJson } from "../../src/writeJson.ts"

const answered = (caller: Parameters<typeof keyInfo>[0]) =>
  JSON.parse(writeJson(meRoute.answer.schema, keyInfo(caller)))

describe("GET /me", () => {
  it.effect("shows workspace, key, plan and limits", () =>
    Effect.sync(() => {
      const key = aStoredKey({
        mode: "test",
        scopes: ["messages:send", "numbers"],
        numberIds: [7 as NumberId, 9 as NumberId],
        expiresAt: Date.UTC(2030, 0, 1, 0, 0, 0, 999),
      })
      const workspace = aStoredWorkspace({
        plan: { ...unlimitedPlan, name: "Starter", messagesRemaining: 12 },
      })
      assert.deepStrictEqual<unknown>(answered(Caller.ofKey(key, workspace)), {
        workspace: { id: 1, name: "Workspace" },
        key: {
          id: 5,
          name: "Key",
          mode: "test",
          scopes: ["messages:send", "numbers"],
          limited_to_numbers: true,
          number_ids: [7, 9],
          expires_at: "2030-01-01T00:00:00Z",
        },
        plan: { name: "Starter" },
        limits: {
          requests_per_minute: 60,
          requests_per_day: 10_000,
          messages_per_number_per_day: 1000,
          messages_remaining: 12,
        },
      })
    }),
  )

  it.effect("number_ids of an unlimited key is []", () =>
    Effect.sync(() => {
      const { key } = answered(Caller.ofKey(aStoredKey(), aStoredWorkspace()))
      assert.deepStrictEqual(
        [key.limited_to_numbers, key.number_ids, key.expires_at],
        [false, [], null],
      )
    }),
  )

  it.effect("plan is null without an active one, and messages_remaining null when unlimited", () =>
    Effect.sync(() => {
      const info = (plan: Workspace["plan"]) =>
        answered(Caller.ofKey(aStoredKey(), aStoredWorkspace({ plan })))
      assert.isNull(info(unlimitedPlan).limits.messages_remaining)
      assert.deepStrictEqual(info(unlimitedPlan).plan, { name: "Unlimited" })
      assert.isNull(info(null).plan)
      assert.strictEqual(info(null).limits.messages_remaining, 0)
    }),
  )
})
