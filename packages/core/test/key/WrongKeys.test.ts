/** What the guard against wrong keys remembers, and its bounds. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { addressGroup, makeWrongKeys } from "../../src/service/Keys.ts"
import { sharedLimits } from "../../src/model/Bulkhead.ts"

const now = Date.UTC(2026, 2, 2, 12, 34, 56, 789)

const exhaust = (guard: ReturnType<typeof makeWrongKeys>, address: string) => {
  for (let request = 0; request < 31; request++) guard.count("v2", address, now)
}

/** The n-th address of 10.0.0.0/8. */
const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`

describe("the guard against wrong keys", () => {
  it.effect("tracks as many addresses as the bounds allow, then evicts the oldest", () =>
    Effect.sync(() => {
      const { whole } = sharedLimits.wrongKeyAddresses
      const guard = makeWrongKeys()
      exhaust(guard, address(0))
      exhaust(guard, address(1))
      for (let other = 2; other < whole; other++) guard.count("v2", address(other), now)
      assert.isTrue(guard.isExceeded("v2", address(0), now))
      guard.count("v2", address(whole), now)
      assert.isFalse(guard.isExceeded("v2", address(0), now))
      assert.isTrue(guard.isExceeded("v2", address(1), now))
    }),
  )

  it.effect("remembers as many unknown keys as the bounds allow, then evicts the oldest", () =>
    Effect.sync(() => {
      const { whole } = sharedLimits.unknownKeys
      const guard = makeWrongKeys()
      for (let key = 0; key < whole; key++) guard.noteUnknown(`hash ${key}`, now)
      assert.isTrue(guard.isUnknown("hash 0", now))
      guard.noteUnknown(`hash ${whole}`, now)
      assert.isFalse(guard.isUnknown("hash 0", now))
      for (const key of [1, whole]) assert.isTrue(guard.isUnknown(`hash ${key}`, now), `${key}`)
    }),
  )

  const groups = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:db8::ffff:0:0:1", "2001:db8:0:0::/64"],
    ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["no:address", "no:address"],
    ["", ""],
  ] as const
  it.effect.each(groups)("counts %s as %s", ([text, group]) =>
    Effect.sync(() => assert.strictEqual(addressGroup(text), group)),
  )
})
