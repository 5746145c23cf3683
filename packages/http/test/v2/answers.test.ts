/** Sends to chats over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { aKey, aListener, aNumber, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { ask, layerWithWayOut, simulator } from "../webhooks/Asking.ts"

type Body = Created & Readonly<Record<string, unknown>>

const messages = "/api/v2/messages"

const post = (token: string, json: object, path = messages, headers: Call["headers"] = []) =>
  ask({ method: "POST", path, token, json, headers })

const accepted = (token: string, json: object) =>
  Effect.map(post(token, json), (answer) => expectBody<Body>(answer, 202))

/** A person, or another one in a group, writes; the chat that it is in. */
const aChat = (number: Created, json: object = {}) =>
  Effect.map(
    operate({
      method: "POST",
      path: `${simulator}/numbers/${number.id}/received-messages`,
      json: { text: "Hello", ...json },
    }),
    (answer) => (expectBody<Body>(answer, 201)["chat"] as Created).id,
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
