/** Sends to chats over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { aKey, aListener, aNumber, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { anEndpoint, ask, layerWithWayOut, pass, simulator } from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery } from "../webhooks/Receiver.ts"

type Body = Created & Readonly<Record<string, unknown>>

const messages = "/api/v2/messages"

const post = (token: string, json: object, path = messages, headers: Call["headers"] = []) =>
  ask({ method: "POST", path, token, json, headers })

const accepted = (token: string, json: object) =>
  Effect.map(post(token, json), (answer) => expectBody<Body>(answer, 202))

/** A person writes, perhaps in a group. */
const write = (number: Created, json: object) =>
  Effect.map(
    operate({
      method: "POST",
      path: `${simulator}/numbers/${number.id}/received-messages`,
      json: { text: "Hello", ...json },
    }),
    (answer) => expectBody<Body>(answer, 201),
  )

/** The chat in which a person writes. */
const aChat = (number: Created, json: object) =>
  Effect.map(write(number, json), ({ chat }) => (chat as Created).id)

/** What people got of the number, newest first. */
const getCopies = (number: Created) =>
  Effect.map(
    operate({ path: `${simulator}/sent?number_id=${number.id}` }),
    (answer) => expectBody<PageBody<Body>>(answer, 200).data,
  )

const refusal = (token: string, json: object, path = messages) =>
  Effect.map(post(token, json, path), (answer) => {
    const { code, field } = errorBody(answer)
    return [answer.status, code, field]
  })

layer(layerWithWayOut())("sends to chats", (it) => {
  it.effect("reach whom no phone and no name reaches", () =>
    Effect.gen(function* () {
      const { number, token: key, workspace } = yield* aListener({ groups: true })
      yield* aNumber(workspace, { phone: "+15550007777" })
      const byLid = yield* aChat(number, { from: { lid: "4711" } })
      const byPhone = yield* aChat(number, { from: { phone: "+15550001234" } })
      const inGroup = yield* aChat(number, { from: { phone: "+15550001234" }, group: "Team" })
      const first = yield* accepted(key, { to: { chat_id: byLid }, text: "To a LID" })
      assert.deepInclude(first, { to: { chat_id: byLid }, status: "queued" })
      assert.deepInclude(first["from"], { id: number.id })
      const batch = expectBody<{ readonly data: ReadonlyArray<Body> }>(
        yield* post(
          key,
          { to: [{ chat_id: byPhone }, { chat_id: inGroup }], from: number.id, text: "To two" },
          `${messages}/batch`,
        ),
        202,
      )
      assert.deepStrictEqual(
        batch.data.map(({ to }) => to),
        [
          { chat_id: byPhone, phone: "+15550001234" },
          { chat_id: inGroup, group: "Team" },
        ],
      )
      yield* settle
      const sent = expectBody<PageBody<Body>>(
        yield* operate({ path: `${simulator}/sent?number_id=${number.id}` }),
        200,
      )
      assert.deepStrictEqual(sent.data.map(({ text, to }) => [to, text]).toSorted(), [
        ["+15550001234", "To two"],
        ["Team", "To two"],
        ["lid:4711", "To a LID"],
      ])
      const read = expectBody<Body>(
        yield* ask({ path: `${messages}/${first.id}`, token: key }),
        200,
      )
      assert.deepInclude(read, { status: "sent", to: { chat_id: byLid } })
    }),
  )

  it.effect("are refused where the chat is not the number's", () =>
    Effect.gen(function* () {
      const { number, token: key, workspace } = yield* aListener()
      const other = yield* aNumber(workspace, { phone: "+15550007777" })
      const limited = yield* aKey(workspace, { number_ids: [other.id] })
      const chat = yield* aChat(number, { from: { lid: "4711" } })
      const send = (chatId: number, more: object = {}) => ({
        to: { chat_id: chatId },
        text: "Hello",
        ...more,
      })
      const unknown = [422, "chat_not_found", "to.chat_id"]
      assert.deepStrictEqual(yield* refusal(key, send(999_999)), unknown)
      assert.deepStrictEqual(yield* refusal(key, send(chat, { from: other.id })), unknown)
      assert.deepStrictEqual(yield* refusal(limited.key, send(chat)), unknown)
      const test = yield* aKey(workspace, { mode: "test" })
      assert.deepStrictEqual(yield* refusal(test.key, send(chat)), unknown)
      const both = { to: { chat_id: chat, phone: "+15550001234" }, text: "Hello" }
      assert.deepStrictEqual(yield* refusal(key, both), [400, "validation_failed", "to"])
      const batch = { to: [{ chat_id: chat }, { chat_id: 999_999 }], text: "Hello" }
      assert.deepStrictEqual(yield* refusal(key, batch, `${messages}/batch`), [
        422,
        "chat_not_found",
        "to[1].chat_id",
      ])
    }),
  )

  it.effect("give the same answer to the same request again", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const chat = yield* aChat(number, { from: { lid: "4711" } })
      const once = post(key, { to: { chat_id: chat }, text: "Once" }, messages, [
        ["idempotency-key", "once"],
      ])
      const first = expectBody<Body>(yield* once, 202)
      yield* settle
      const path = `/api/v2/chats/${chat}`
      expectBody(yield* ask({ method: "DELETE", path, token: key }), 200)
      assert.deepStrictEqual(expectBody<Body>(yield* once, 202), first)
    }),
  )

  it.effect("quote a message of the chat, which the phone shows", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token: key } = yield* aListener()
      yield* anEndpoint(key, receiver, { events: ["message.sent"] })
      const from = { lid: "4711" }
      const question = yield* write(number, { from, text: "Open today?" })
      const chat = (question["chat"] as Created).id
      const answer = { to: { chat_id: chat }, text: "Yes" }
      const reply_to = { received_message_id: question.id }
      const first = yield* accepted(key, { ...answer, reply_to })
      assert.deepStrictEqual(first["reply_to"], reply_to)
      yield* settle
      const own = { message_id: first.id }
      const second = yield* accepted(key, { ...answer, text: "Until ten", reply_to: own })
      const plain = yield* accepted(key, { ...answer, text: "Bye" })
      assert.notProperty(plain, "reply_to")
      yield* settle
      const copies = yield* getCopies(number)
      assert.deepStrictEqual(
        copies.map(({ quote, text }) => [text, quote]),
        [
          ["Bye", undefined],
          ["Until ten", "Yes"],
          ["Yes", "Open today?"],
        ],
      )
      assert.sameDeepMembers(
        receiver.deliveries.map((delivery) => {
          const { message } = bodyOfDelivery(delivery).data as unknown as { readonly message: Body }
          return [message.id, message["reply_to"]]
        }),
        [
          [first.id, reply_to],
          [second.id, own],
          [plain.id, undefined],
        ],
      )
      const read = expectBody<Body>(
        yield* ask({ path: `${messages}/${second.id}`, token: key }),
        200,
      )
      assert.deepStrictEqual(read["reply_to"], own)
    }),
  )

  it.effect("leave without a quote that was erased meanwhile, and take none that is", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const question = yield* write(number, { from: { lid: "4711" }, text: "Open today?" })
      const send = {
        to: { chat_id: (question["chat"] as Created).id },
        text: "Yes",
        reply_to: { received_message_id: question.id },
      }
      yield* write(number, { from: { lid: "4711" }, text: "Hello?" })
      const { now } = expectBody<{ readonly now: string }>(
        yield* operate({ path: `${simulator}/clock` }),
        200,
      )
      const send_at = new Date(Date.parse(now) + 60_000).toISOString()
      const sent = yield* accepted(key, { ...send, send_at })
      const path = `/api/v2/received-messages/${question.id}`
      expectBody(yield* ask({ method: "DELETE", path, token: key }), 200)
      yield* pass(120)
      yield* settle
      assert.deepStrictEqual(
        (yield* getCopies(number)).map(({ quote, text }) => [text, quote]),
        [["Yes", undefined]],
      )
      const read = expectBody<Body>(yield* ask({ path: `${messages}/${sent.id}`, token: key }), 200)
      assert.deepInclude(read, { status: "sent", reply_to: send.reply_to })
      const field = "reply_to.received_message_id"
      assert.deepStrictEqual(yield* refusal(key, send), [422, "reply_not_possible", field])
    }),
  )

  it.effect("are unknown while conversations are off", () =>
    Effect.gen(function* () {
      const { token: key } = yield* aSender()
      const field = (name: string) => ({ to: { [name]: 1 }, text: "Hello" })
      const bodies = yield* Effect.forEach(["chat_id", "chat_no"], (name) =>
        Effect.map(post(key, field(name)), ({ body, status }) => [
          status,
          JSON.stringify(body)
            .replaceAll(name, "…")
            .replaceAll(/"req_\w+"/g, ""),
        ]),
      )
      assert.deepStrictEqual(bodies[0], bodies[1])
      assert.strictEqual(bodies[0]?.[0], 400)
    }),
  )
})
