/** `reference`: what the program calls a message. */
import { assert, it } from "vitest"
import { all, aShop, failure, first, opened, phone } from "./Opened.ts"

const reference = "order 4711"

it("a message keeps the reference that its program gave it, in lists and events too", async () => {
  const messaging = await opened()
  const { api } = await aShop(messaging)
  const { all: events, handler } = first(2)
  messaging.on("message.sent", handler)
  const sent = await api.messages.send({ to: { phone }, text: "Hello", reference })
  const { messages } = await api.messages.sendBatch({
    to: [{ phone: "+15550100003" }, { phone: "+15550100004" }],
    text: "Hello",
    reference: "order 4712",
    sendAt: new Date(Date.now() + 3_600_000),
  })
  const plain = await api.messages.send({ to: { phone }, text: "Hello" })
  assert.deepStrictEqual(
    [sent, ...messages, plain].map((message) => message.reference),
    [reference, "order 4712", "order 4712", null],
  )
  assert.strictEqual((await api.messages.get(sent.id)).reference, reference)
  const listed = await all(api.messages.list({ reference }))
  assert.deepStrictEqual(
    listed.map(({ id }) => id),
    [sent.id],
  )
  await messaging.drain()
  assert.deepStrictEqual(
    (await events).map(({ message }) => [message.id, message.reference]),
    [
      [sent.id, reference],
      [plain.id, null],
    ],
  )
})

it("a repeat with another reference is another command", async () => {
  const messaging = await opened()
  const { api } = await aShop(messaging)
  const command = { to: { phone }, text: "Hello", reference }
  const options = { idempotencyKey: "order 4711" }
  const created = await api.messages.send(command, options)
  const again = await api.messages.send(command, options)
  assert.deepStrictEqual(again, { ...created, replayed: true })
  const other = api.messages.send({ ...command, reference: "order 4712" }, options)
  assert.strictEqual((await failure(other)).code, "idempotency_key_reused")
  const without = api.messages.send({ to: { phone }, text: "Hello" }, options)
  assert.strictEqual((await failure(without)).code, "idempotency_key_reused")
})

it("a reference has 1 to 200 characters, and null is none", async () => {
  const messaging = await opened()
  const { api } = await aShop(messaging)
  const send = (value: unknown) =>
    api.messages.send({ to: { phone }, text: "Hello", reference: value as string })
  for (const fitting of ["x", "👩".repeat(200), null, undefined]) {
    assert.strictEqual((await send(fitting)).reference, fitting ?? null)
  }
  for (const wrong of ["", " \n", "x".repeat(201), 4711, {}, "\uD800"]) {
    const { code, field } = await failure(send(wrong))
    assert.deepStrictEqual([code, field], ["validation_failed", "reference"])
  }
  const listed = api.messages.list({ reference: "" }).page()
  assert.strictEqual((await failure(listed)).field, "reference")
})

it("a key gives no reference and asks by none, here as over HTTP", async () => {
  const messaging = await opened()
  const { shop } = await aShop(messaging)
  const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
  const own = messaging.withKey(key)
  for (const refused of [
    own.messages.send({ to: { phone }, text: "Hello", reference }),
    own.messages.sendBatch({ to: [{ phone }], text: "Hello", reference }),
    own.messages.list({ reference }).page(),
  ]) {
    const { code, field } = await failure(refused)
    assert.deepStrictEqual([code, field], ["validation_failed", "reference"])
  }
})
