/** The service under node:test; run by `nodeTest.slow.test.ts`. */
import { openTest } from "@messaging-service/service/testing"
import assert from "node:assert/strict"
import { test } from "node:test"

test("a message that is due tomorrow leaves tomorrow", async () => {
  const t = await openTest({ at: "2026-01-15T12:00:00Z" })
  const sendAt = new Date("2026-01-16T12:00:00Z")
  await t.api.messages.send({ to: { phone: "+15550100002" }, text: "Hello", sendAt })
  assert.equal(t.sent.length, 0)
  await t.advance({ days: 1 })
  assert.deepEqual(t.sent[0]?.at, sendAt)
  await t.close()
})
