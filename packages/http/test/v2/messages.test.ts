import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aContact, aSender, expectBody } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import { anHourLater, cancel, get, path, post, send } from "./Asking.ts"

layer(layerService())("the message operations", (it) => {
  it.effect("POST answers 202 with the whole Message, which GET shows again", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender({ number: { status: "disconnected" } })
      const sent = yield* send(token, { from: number.id })
      assert.deepStrictEqual(sent, {
        id: sent.id,
        status: "queued",
        from: { id: number.id, phone: number.phone, platform: "whatsapp" },
        to: { phone: "+15550001234", contact_id: null },
        text: "Hello",
        media: null,
        send_at: null,
        expires_at: null,
        created_at: "1970-01-01T00:00:00Z",
        sent_at: null,
        error: null,
      })
      assert.deepStrictEqual(expectBody(yield* get(token, `${path}/${sent.id}`), 200), sent)
    }),
  )

  it.effect("POST batch answers 202 with data in the order of to", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const contact = yield* aContact(workspace, { phone: "+15550009999" })
      const answer = yield* post(
        token,
        {
          to: [{ group: "Team" }, { phone: "+15550000001" }, { contact_id: contact.id }],
          text: "Hi",
        },
        `${path}/batch`,
      )
      const { data } = expectBody<PageBody<MessageBody>>(answer, 202)
      assert.deepStrictEqual(Object.keys(answer.body as object), ["data"])
      assert.deepStrictEqual(
        data.map(({ to }) => to),
        [
          { group: "Team" },
          { phone: "+15550000001", contact_id: null },
          { contact_id: contact.id, phone: "+15550009999" },
        ],
      )
    }),
  )

  it.effect("another workspace's message is as unknown as one that never existed", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token, { send_at: anHourLater })
      const stranger = yield* aSender()
      const other = yield* get(stranger.token, `${path}/${id}`)
      const never = yield* get(stranger.token, `${path}/999999999`)
      assert.strictEqual(other.status, 404)
      assert.strictEqual(errorBody(other).code, "message_not_found")
      const { request_id: _, ...known } = errorBody(other)
      const { request_id: __, ...unknown } = errorBody(never)
      assert.deepStrictEqual(known, unknown)
      assert.strictEqual((yield* cancel(stranger.token, id)).status, 404)
    }),
  )
})
