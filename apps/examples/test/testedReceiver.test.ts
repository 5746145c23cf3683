/** A recipe of `docs/testing.md`: a program's own receiver, in a test. */
import { verifyWebhook } from "@messaging-service/client/webhook"
import { openTest } from "@messaging-service/service/testing"
import { assert, test } from "vitest"

test("a receiver of yours verifies what the service has signed", async () => {
  const t = await openTest()
  await t.api.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
  const [call] = t.receiver.calls
  assert.exists(call)
  const { secret } = t.receiver
  const request = { body: call.body, headers: call.headers, secret }
  const verified = await verifyWebhook({ ...request, now: t.now })
  assert.isTrue(verified.valid)
  // A copy that is replayed an hour later.
  await t.advance({ hours: 1 })
  assert.deepStrictEqual(await verifyWebhook({ ...request, now: t.now }), {
    valid: false,
    reason: "timestamp_out_of_tolerance",
  })
  await t.close()
})
