/** The recipes of `docs/testing.md`. */
import { openTest } from "@messaging-service/service/testing"
import { createHmac } from "node:crypto"
import { assert, test } from "vitest"

const phone = "+15550100002"

test("a monthly reminder over a year", async () => {
  const t = await openTest({ at: "2026-01-15T12:00:00Z" })
  await t.api.reminders.create({
    name: "Rent",
    to: { phone },
    text: "The rent is due.",
    schedule: { cron: "0 9 1 * *", timezone: "Europe/Berlin" },
  })
  await t.advance({ days: 365 })
  assert.lengthOf(t.sent, 12)
  assert.strictEqual(t.sent[0]?.at.toISOString(), "2026-02-01T08:00:00.000Z")
  // Nine o'clock in summer.
  assert.strictEqual(t.sent[6]?.at.toISOString(), "2026-08-01T07:00:00.000Z")
  await t.close()
})

test("a webhook that fails twice", async () => {
  const t = await openTest()
  t.receiver.answer(503, "timeout")
  await t.api.messages.send({ to: { phone }, text: "Hello" })
  await t.advance({ hours: 1 })
  assert.deepStrictEqual(
    t.receiver.calls.map(({ answered }) => answered),
    [503, "timeout", 200],
  )
  // All three calls carry one event, with a signature by the endpoint's secret.
  const ids = t.receiver.calls.map(({ json }) => (json as { id: string }).id)
  assert.strictEqual(new Set(ids).size, 1)
  for (const { body, headers } of t.receiver.calls) {
    const mac = createHmac("sha256", t.receiver.secret)
    mac.update(`${headers["service-timestamp"]}.${body}`)
    assert.strictEqual(headers["service-signature"], `v1=${mac.digest("hex")}`)
  }
  await t.close()
})

test("a message that expires while its number is logged out", async () => {
  const t = await openTest()
  const { id } = await t.api.messages.send({
    from: t.number.id,
    to: { phone },
    text: "The train leaves at nine.",
    sendAt: new Date("2026-01-01T08:00:00Z"),
    expiresAt: new Date("2026-01-01T09:00:00Z"),
  })
  await t.phones.logOut()
  await t.advanceTo("2026-01-01T08:30:00Z")
  assert.deepStrictEqual(await t.why(id), [
    { reason: "not_connected", until: null, because: "logged_out" },
  ])
  await t.advance({ hours: 1 })
  assert.strictEqual((await t.api.messages.get(id)).status, "expired")
  // Too late: it no longer leaves.
  await t.phones.logIn()
  assert.isEmpty(t.sent)
  await t.close()
})

test("cancelling just before and just after it left", async () => {
  const t = await openTest()
  const sendAt = new Date("2026-01-01T08:00:00Z")
  const early = await t.api.messages.send({ to: { phone }, text: "One", sendAt })
  const late = await t.api.messages.send({ to: { phone }, text: "Two", sendAt })
  await t.advanceTo(new Date(sendAt.getTime() - 1))
  await t.api.messages.cancel(early.id)
  await t.advance({ millis: 1 })
  const refused = await t.api.messages.cancel(late.id).catch((error) => error)
  assert.strictEqual(refused.code, "not_cancellable")
  assert.strictEqual(refused.details.status, "sent")
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Two"],
  )
  await t.close()
})

test("a number that has sent its fill for the day", async () => {
  const t = await openTest()
  await t.phones.useUpQuota({ leave: 1 })
  await t.api.messages.send({ to: { phone }, text: "The last one" })
  const refused = await t.api.messages
    .send({ to: { phone }, text: "One too many" })
    .catch((error) => error)
  assert.strictEqual(refused.code, "number_daily_cap_reached")
  await t.advance({ days: 1 })
  await t.api.messages.send({ to: { phone }, text: "The next day" })
  assert.strictEqual(t.sent.at(-1)?.text, "The next day")
  await t.close()
})

test("a phone that fails", async () => {
  const t = await openTest()
  const heard: Array<string> = []
  t.messaging.on("message.failed", ({ message }) => {
    heard.push(`${message.error?.code}: ${message.error?.message}`)
  })
  await t.phones.fail("This account is restricted.")
  const failed = await t.api.messages.send({ to: { phone }, text: "Hello" })
  await t.advance({ minutes: 1 })
  assert.strictEqual((await t.api.messages.get(failed.id)).status, "failed")
  assert.deepStrictEqual(heard, ["send_failed: This account is restricted."])
  await t.phones.succeed()
  await t.api.messages.send({ to: { phone }, text: "Hello again" })
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Hello again"],
  )
  await t.close()
})

test("an answer that is lost on the way is no second copy", async () => {
  const t = await openTest()
  await t.phones.loseNextAnswer()
  const { id } = await t.api.messages.send({ to: { phone }, text: "Once" })
  await t.advance({ minutes: 5 })
  assert.strictEqual((await t.api.messages.get(id)).status, "sent")
  assert.lengthOf(t.sent, 1)
  await t.phones.tick(id, "read")
  assert.strictEqual((await t.api.messages.get(id)).status, "read")
  await t.close()
})

test("a receiver that is down for an hour", async () => {
  const t = await openTest()
  t.receiver.down(503)
  await t.api.messages.send({ to: { phone }, text: "Hello" })
  await t.advance({ hours: 1 })
  t.receiver.up()
  await t.advance({ hours: 12 })
  const answers = t.receiver.calls.map(({ answered }) => answered)
  assert.deepStrictEqual([answers[0], answers.at(-1)], [503, 200])
  assert.lengthOf(
    answers.filter((answer) => answer === 200),
    1,
  )
  await t.close()
})

test("a webhook at an address of the emulator", async () => {
  const t = await openTest()
  const shop = t.receiverAt("shop")
  await t.api.webhooks.create({ url: `${shop.url}orders` })
  await shop.answers({ status: 500, body: "out of order" })
  await t.api.messages.send({ to: { phone }, text: "Hello" })
  await shop.answers({ status: 200 })
  await t.advance({ minutes: 1 })
  const calls = await shop.calls()
  assert.deepStrictEqual(
    calls.map(({ answered, path, signature, type }) => ({ answered, path, signature, type })),
    [
      { answered: 500, path: "/orders", signature: "valid", type: "message.sent" },
      { answered: 200, path: "/orders", signature: "valid", type: "message.sent" },
    ],
  )
  assert.strictEqual(calls[0]?.eventId, calls[1]?.eventId)
  await t.close()
})

test("an order and its message, in one transaction or not at all", async () => {
  const t = await openTest()
  const client = t.client()
  const place = async (paid: boolean) => {
    await client.query("begin")
    await client.query("insert into orders default values returning id")
    await t.api.messages.send(
      { to: { phone }, text: "Your order is placed." },
      { transaction: client },
    )
    await client.query(paid ? "commit" : "rollback")
  }
  await place(false)
  assert.isEmpty(t.sent)
  await place(true)
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Your order is placed."],
  )
  await t.close()
})
