import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isGroupName } from "../../src/model/Recipient.ts"

describe("a group name", () => {
  it.effect("has 1 to 100 code points", () =>
    Effect.sync(() => {
      for (const name of ["T", "Team", "x".repeat(100), "😀".repeat(100)]) {
        assert.isTrue(isGroupName(name), name)
      }
      for (const name of ["", " ", "\u2003\t", "x".repeat(101), "😀".repeat(100) + "x"]) {
        assert.isFalse(isGroupName(name), name)
      }
    }),
  )

  it.effect("matches exactly, including white space", () =>
    Effect.sync(() => {
      assert.isTrue(isGroupName(" Team "))
      assert.isFalse(isGroupName("x".repeat(100) + " "))
    }),
  )
})
