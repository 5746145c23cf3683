import { assert, describe, it } from "@effect/vitest"
import { parsePhone } from "@messaging-service/core"
import { isRegistered } from "../src/index.ts"

const phone = (text: string) => parsePhone(text)!

describe("isRegistered", () => {
  it("by the rule every valid phone exists except those ending in 0000", () => {
    assert.isTrue(isRegistered(null, phone("+4915112345678")))
    assert.isTrue(isRegistered(null, phone("+4915112340001")))
    assert.isTrue(isRegistered(null, phone("+4915100001")))
    assert.isFalse(isRegistered(null, phone("+4915112340000")))
  })

  it("configured phones replace the rule", () => {
    const set = [phone("+4915112340000")]
    assert.isTrue(isRegistered(set, phone("+4915112340000")))
    assert.isFalse(isRegistered(set, phone("+4915112345678")))
    assert.isFalse(isRegistered([], phone("+4915112345678")))
  })
})
