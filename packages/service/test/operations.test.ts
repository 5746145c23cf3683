/** Every operation of a caller and of the operator, once, in memory. */
import { Effect } from "effect"
import { Admission, RealTime, parseId } from "@messaging-service/core"
import { assert, it } from "vitest"
import { numbersApi } from "../src/facade/CallerApi.ts"
import { openTest } from "../src/testing/index.ts"
import { aShop, all, failure, opened, openedWithPhones, phone } from "./Opened.ts"

it("reminders are made, read, listed, changed, and removed", async () => {
  const messaging = await opened({ worker: false })
  const { api, shop } = await aShop(messaging)
  const command = {
    name: "Weekly",
    to: { phone },
    text: "It is Monday.",
    schedule: { cron: "0 9 * * 1", timezone: "Europe/Berlin" },
  }
  const { replayed, ...created } = await api.reminders.create(command, { idempotencyKey: "weekly" })
  assert.isFalse(replayed)
  assert.deepStrictEqual(
    { ...created, id: 0, nextRunAt: null, createdAt: null },
    {
      id: 0,
      workspaceId: shop.id,
      mode: "live",
      name: "Weekly",
      active: true,
      to: { phone },
      from: null,
      text: "It is Monday.",
      media: null,
      schedule: { cron: "0 9 * * 1", timezone: "Europe/Berlin" },
      nextRunAt: null,
      createdAt: null,
      lastRun: null,
    },
  )
  assert.instanceOf(created.nextRunAt, Date)
  assert.isTrue((await api.reminders.create(command, { idempotencyKey: "weekly" })).replayed)
  assert.deepStrictEqual(await api.reminders.get(created.id), created)
  const paused = await api.reminders.update(created.id, {
    active: false,
    schedule: { cron: "1 9 * * 1" },
  })
  assert.deepStrictEqual(paused, {
    ...created,
    active: false,
    nextRunAt: null,
    schedule: { cron: "1 9 * * 1", timezone: "Europe/Berlin" },
  })
  assert.deepStrictEqual(await all(api.reminders.list({ active: false })), [paused])
  assert.deepStrictEqual(await all(messaging.operator(shop).reminderRuns(created.id)), [])
  await api.reminders.remove(created.id)
  assert.strictEqual((await failure(api.reminders.get(created.id))).code, "reminder_not_found")
  const wrong = await failure(api.reminders.create({ ...command, schedule: { cron: "never" } }))
  assert.deepStrictEqual([wrong.code, wrong.field], ["invalid_cron", "schedule.cron"])
})

it("the latest run of a reminder says in words that no number is connected", async () => {
  const t = await openTest()
  const { id } = await t.api.reminders.create({
    name: "Hourly",
    to: { phone },
    text: "Hello",
    schedule: { cron: "0 * * * *" },
  })
  await t.phones.logOut()
  await t.advance({ hours: 1 })
  const { lastRun } = await t.api.reminders.get(id)
  assert.deepStrictEqual(
    { ...lastRun, dueAt: null },
    {
      dueAt: null,
      outcome: "refused",
      messageId: null,
      code: "from_required",
      message: "No number that reaches this recipient is connected.",
    },
  )
  await t.phones.logIn()
  await t.advance({ hours: 1 })
  assert.deepInclude((await t.api.reminders.get(id)).lastRun, {
    outcome: "accepted",
    message: null,
  })
  await t.close()
})

it("a timeline says what happened to a message, and why it waits", async () => {
  const t = await openTest({ at: "2026-01-01T00:00:00Z" })
  const operator = t.messaging.operator(t.workspace)
  t.receiver.answer(503)
  const sendAt = new Date("2026-01-01T01:00:00Z")
  const message = await t.api.messages.send({ to: { phone }, text: "Hello", sendAt })
  const before = await operator.timeline(message)
  assert.deepStrictEqual(before.waiting, {
    for: [{ reason: "scheduled", until: sendAt, because: null }],
    ahead: 0,
  })
  await t.advance({ hours: 2 })
  const { entries, message: now, truncated, waiting } = await operator.timeline(message.id)
  assert.deepStrictEqual([now.status, waiting, truncated], ["sent", null, false])
  assert.deepStrictEqual(
    entries
      .map(({ at, responseStatus, type }) => [type, at.toISOString(), responseStatus])
      .slice(0, 4),
    [
      ["accepted", "2026-01-01T00:00:00.000Z", null],
      ["due", "2026-01-01T01:00:00.000Z", null],
      ["sent", "2026-01-01T01:00:00.000Z", null],
      ["delivery", "2026-01-01T01:00:00.000Z", 503],
    ],
  )
  assert.deepStrictEqual(entries[3]?.nextAttemptAt, entries[4]?.at)
  assert.strictEqual(entries[4]?.responseStatus, 200)
  assert.strictEqual((await failure(operator.timeline(99))).code, "message_not_found")
  await t.close()
})

it("many messages are cancelled by a filter or by id, and none by mistake", async () => {
  const t = await openTest()
  const operator = t.messaging.operator(t.workspace)
  const sendAt = new Date("2026-02-01T00:00:00Z")
  const { messages } = await t.api.messages.sendBatch({
    to: [{ phone }, { phone }, { phone: "+15550100003" }],
    text: "Too early",
    sendAt,
  })
  const [first] = messages
  assert.deepStrictEqual(await operator.cancelMessages({ ids: [first?.id ?? 0, 99] }), {
    cancelled: 1,
    notCancellable: 1,
    more: false,
  })
  const filter = {
    to: phone,
    status: "scheduled",
    since: new Date("2026-01-01T00:00:00Z"),
  } as const
  assert.deepStrictEqual(await operator.cancelMessages({ filter }), {
    cancelled: 1,
    notCancellable: 0,
    more: false,
  })
  assert.deepStrictEqual(
    (await all(t.api.messages.list())).map(({ status }) => status),
    ["scheduled", "cancelled", "cancelled"],
  )
  for (const wrong of [{ filter: {} }, {}, { ids: [1], filter }]) {
    assert.strictEqual((await failure(operator.cancelMessages(wrong))).code, "validation_failed")
  }
  const member = t.messaging.operator(t.workspace, { role: "member" })
  assert.strictEqual((await member.cancelMessages({ filter })).cancelled, 0)
  await t.close()
})

it("linking a number reports every change", async () => {
  const { messaging, phones } = await openedWithPhones()
  const { api } = await aShop(messaging)
  const states: Array<string> = []
  for await (const number of api.numbers.link({ loginMethod: "qr" })) {
    const { connect } = number
    states.push(connect?.qrText == null ? number.status : `${number.status} with a code`)
    if (connect?.qrText == null || connect.linking) continue
    const png = await api.numbers.qrCode(number.id)
    assert.deepStrictEqual(Array.from(png?.slice(1, 4) ?? []), [0x50, 0x4e, 0x47])
    await Effect.runPromise(phones.scan(parseId(String(number.id)), { phone: "+15550100009" }))
  }
  assert.strictEqual(states.at(-1), "connected")
  assert.include(states, "connecting with a code")
  const listed = await api.numbers.list()
  assert.deepStrictEqual(
    listed.map(({ phone: digits, status }) => [digits, status]),
    [
      ["15550100001", "connected"],
      ["15550100009", "connected"],
    ],
  )
  const [first] = listed
  const again = await failure(api.numbers.connect({ numberId: first?.id }))
  assert.deepStrictEqual([again.code, again.field], ["already_connected", "numberId"])
  assert.isNull(await api.numbers.qrCode(first?.id ?? 0))
  assert.strictEqual((await failure(api.numbers.get(99))).code, "number_not_found")
})

it("a number is linked by a key without using up its rate, however long it takes", async () => {
  const { context, messaging, phones } = await openedWithPhones()
  const { shop } = await aShop(messaging)
  const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Link" })
  let checks = 0
  let id: number | undefined
  const sleep = () =>
    ++checks === 400
      ? Effect.orDie(phones.scan(parseId(String(id)), { phone: "+15550100009" }))
      : Effect.void
  const { link } = numbersApi({
    run: (effect) =>
      effect.pipe(
        Effect.updateService(RealTime, (time) => ({ ...time, sleep })),
        Effect.provideContext(context),
        Effect.runPromise,
      ),
    isTrusted: false,
    joins: false,
    caller: Effect.map(
      Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "127.0.0.1")),
      ({ caller }) => caller,
    ),
  })
  let status: string | undefined
  for await (const number of link({ loginMethod: "qr" })) {
    id = number.id
    status = number.status
  }
  assert.strictEqual(status, "connected")
  assert.isAtLeast(checks, 400)
})

it("phones are checked, and their results listed", async () => {
  const messaging = await opened()
  const { api } = await aShop(messaging)
  const created = await api.numberChecks.create({ phones: [phone, "+15550100000"], name: "Two" })
  await messaging.drain()
  const check = await api.numberChecks.get(created.id)
  assert.deepStrictEqual(
    [check.status, check.registered, check.notRegistered, check.total],
    ["completed", 1, 1, 2],
  )
  assert.deepStrictEqual(await all(api.numberChecks.list()), [check])
  const results = await all(api.numberChecks.results(created.id, { status: ["not_registered"] }))
  assert.deepStrictEqual(
    results.map((result) => [result.phone, result.status]),
    [["+15550100000", "not_registered"]],
  )
  const wrong = await failure(api.numberChecks.create({ phones: ["1"] }))
  assert.deepStrictEqual([wrong.code, wrong.field], ["invalid_phone", "phones[0]"])
})

it("files are uploaded from bytes, blobs and streams, read back, sent and removed", async () => {
  const messaging = await opened({ worker: false, http: { basePath: "/service" } })
  const { api } = await aShop(messaging)
  const bytes = new TextEncoder().encode("a menu")
  const { replayed, ...first } = await api.media.upload(
    { fileName: "menu.txt", content: bytes },
    { idempotencyKey: "menu" },
  )
  assert.isFalse(replayed)
  assert.deepStrictEqual(
    [first.fileName, first.type, first.mimeType, first.size],
    ["menu.txt", "file", "text/plain", 6],
  )
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:8080\/service\/media\//)
  assert.isTrue(
    (await api.media.upload({ fileName: "menu.txt", content: bytes }, { idempotencyKey: "menu" }))
      .replayed,
  )
  const streamed = await api.media.upload({
    fileName: "dir/menu.txt",
    content: (async function* () {
      yield bytes.subarray(0, 3)
      yield bytes.subarray(3)
    })(),
  })
  const blob = await api.media.upload({ fileName: "menu.txt", content: new Blob([bytes]) })
  assert.deepStrictEqual(
    (await all(api.media.list({ type: "file" }))).map(({ id }) => id),
    [blob.id, streamed.id, first.id],
  )
  assert.deepStrictEqual(await api.media.content(streamed.id), bytes)
  const message = await api.messages.send({ to: { phone }, media: { mediaId: first.id } })
  assert.deepStrictEqual(
    { ...message.media, url: "" },
    { mediaId: first.id, url: "", type: "file", fileName: "menu.txt" },
  )
  await api.media.remove(first.id)
  assert.strictEqual((await failure(api.media.content(first.id))).code, "media_not_found")
  assert.strictEqual((await api.media.get(blob.id)).size, 6)
  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [{ fileName: "x", content: new Uint8Array() }, "content"],
    [{ fileName: "x", content: "text" }, "content"],
    [{ fileName: "", content: bytes }, "fileName"],
    [undefined, "content"],
  ]
  for (const [file, field] of refused) {
    const error = await failure(api.media.upload(file as never))
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
  }
  const broken = await failure(
    api.media.upload({
      fileName: "x",
      // oxlint-disable-next-line require-yield -- it is interrupted before it gives anything
      content: (async function* (): AsyncGenerator<Uint8Array> {
        throw new Error("the source broke off")
      })(),
    }),
  )
  assert.deepStrictEqual(
    [broken.code, broken.cause],
    ["internal_error", new Error("the source broke off")],
  )
})

it("webhook endpoints are made with a secret, tested, replaced and removed", async () => {
  const messaging = await opened({ worker: false, egress: "open" })
  const { api, shop } = await aShop(messaging)
  const command = { url: "https://127.0.0.1/events", events: ["message.failed"] as const }
  const created = await api.webhooks.create(command, { idempotencyKey: "hook" })
  assert.match(created.secret ?? "", /^[0-9a-f]{64}$/)
  assert.deepStrictEqual(
    [created.active, created.events, created.lastAttempt],
    [true, ["message.failed"], null],
  )
  const again = await api.webhooks.create(command, { idempotencyKey: "hook" })
  assert.deepStrictEqual([again.id, again.secret, again.replayed], [created.id, null, true])
  const rotated = await api.webhooks.rotateSecret(created.id)
  assert.notStrictEqual(rotated.secret, created.secret)
  const { secret: _, ...shown } = rotated
  assert.deepStrictEqual(await api.webhooks.get(created.id), shown)
  assert.deepStrictEqual(await api.webhooks.list(), [shown])
  assert.strictEqual((await api.webhooks.test(created.id)).type, "ping")
  const { webhooks } = messaging.operator(shop)
  assert.deepStrictEqual(await webhooks.list(), [shown])
  assert.deepStrictEqual(await all(webhooks.deliveries(created.id)), [])
  assert.deepStrictEqual(await webhooks.resume(created.id), shown)
  const unknown = await failure(webhooks.redeliver(created.id, { eventId: "evt_none" }))
  assert.strictEqual(unknown.code, "event_not_found")
  await api.webhooks.remove(created.id)
  assert.deepStrictEqual(await api.webhooks.list(), [])
})

it("the operator keeps workspaces, keys, contacts, numbers and secrets", async () => {
  const messaging = await opened({ worker: false })
  const { workspaces } = messaging
  const workspace = await workspaces.create({ name: "Bakery", plan: null })
  assert.deepStrictEqual(await workspaces.get(workspace.id), workspace)
  const plan = {
    name: "Small",
    messagesRemaining: 1,
    reminders: false,
    qrCodeApi: false,
    maxNumbers: 2,
    mediaStorageBytes: 1024,
  }
  const changed = await workspaces.update(workspace, { plan })
  assert.deepStrictEqual(changed, { ...workspace, plan })
  assert.deepStrictEqual(await all(workspaces.list()), [changed])
  const { callbacks, contacts, keys, numbers } = messaging.operator(workspace.id)

  const number = await numbers.create({ platform: "whatsapp", phone: "+15550100001" })
  const operated = await numbers.update(number.id, {
    label: "Front desk",
    pacing: { perMinute: 10, minIntervalMillis: 1000 },
  })
  assert.deepStrictEqual([operated.label, operated.pacing.perMinute], ["Front desk", 10])
  assert.strictEqual(operated.pacing.minIntervalMillis, 1000)
  const until = new Date(Date.now() + 60_000)
  assert.deepStrictEqual((await numbers.pause(number.id, { until })).pausedUntil, until)
  assert.strictEqual((await numbers.connection(number.id)).reason, "paused")
  assert.isNull((await numbers.resume(number.id)).reason)
  assert.strictEqual((await numbers.logOut(number.id)).status, "disconnected")

  const contact = await contacts.create({ name: "Ada", phone })
  assert.deepStrictEqual(await all(contacts.list()), [contact])
  await contacts.remove(contact.id)
  assert.strictEqual((await failure(contacts.remove(contact.id))).code, "contact_not_found")

  const { key, ...record } = await keys.create({ version: 2, name: "Shop", expiresIn: "30d" })
  assert.match(key, /^svc_live_/)
  assert.deepStrictEqual(await keys.list(), [record])
  const secret = await callbacks.secret()
  assert.notStrictEqual(await callbacks.rotateSecret(), secret)
  assert.deepStrictEqual(await all(callbacks.deliveries()), [])

  const limited = messaging.operator(workspace, { role: "member" })
  assert.strictEqual(
    (await failure(limited.keys.create({ version: 2, name: "No" }))).code,
    "role_required",
  )
  const account = await messaging.as(workspace).account()
  assert.deepStrictEqual(
    [account.plan, account.limits.messagesRemaining, account.key],
    ["Small", 1, null],
  )
  await numbers.remove(number.id)
  await workspaces.remove(workspace)
  assert.strictEqual((await failure(workspaces.get(workspace.id))).code, "workspace_not_found")
  assert.strictEqual((await failure(messaging.as(workspace).account())).code, "workspace_not_found")
})

it("a caller may be trusted with less", async () => {
  const messaging = await opened({ worker: false })
  const { shop } = await aShop(messaging)
  const reader = messaging.as(shop.id, { scopes: ["messages:read"], mode: "test" })
  const refused = await failure(reader.messages.send({ to: { phone }, text: "Hello" }))
  assert.strictEqual(refused.code, "missing_scope")
  const limited = messaging.as(shop, { numberIds: [99] })
  assert.deepStrictEqual(await limited.numbers.list(), [])
})
