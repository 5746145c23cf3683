/** A number that has sent its 1,000 messages of a day (contract: Version 1: sends). */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aPlan, aKey, expectBody } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import { get } from "../v2/Asking.ts"
import { aClient, aText, answered, request, onV2 } from "./Asking.ts"
import type { Credentials } from "./Asking.ts"

describe("the daily limit in version 1", () => {
  const fill = (credentials: Credentials) =>
    Effect.map(
      request("send_msg/multi/", {
        ...credentials,
        phones: Array.from({ length: 1000 }, () => "15550001234"),
        msg: "Hi",
      }),
      (answer) => answered(answer),
    )

  layer(layerService())("over real sockets", (it) => {
    it.effect("stores a single send as failed and answers its id with 429", () =>
      Effect.gen(function* () {
        const client = yield* aClient({
          workspace: {
            plan: aPlan({ messages_remaining: 1001, media_storage_bytes: 1024 }),
          },
        })
        const { credentials } = client
        yield* fill(credentials)
        const answer = yield* request("send_msg/", { ...credentials, ...aText })
        assert.strictEqual(answer.status, 429)
        const { msg_id, ...rest } = answer.body as { msg_id: number }
        assert.deepStrictEqual(rest, {
          status: 0,
          code: "daily_limit_reached",
          message: "Daily limit reached",
        } as object)
        assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/)
        assert.strictEqual((yield* onV2(client, msg_id)).status, "failed")

        // "No allowance taken": one message is left of the 1,001.
        const me = yield* aKey(client.workspace)
        const info = yield* get(me.key, "/api/v2/me")
        assert.strictEqual(
          (info.body as { limits: { messages_remaining: number } }).limits.messages_remaining,
          1,
        )

        const scheduled = yield* request("schedule_msg/", {
          ...credentials,
          ...aText,
          date: "01/01/1970",
          time: "12:00",
        })
        assert.strictEqual(scheduled.status, 429)
        const later = yield* request("schedule_msg/", {
          ...credentials,
          ...aText,
          date: "03/01/1970",
          time: "12:00",
        })
        assert.strictEqual(later.status, 200, later.text)
      }),
    )

    it.effect("stores nothing of a send to many, and answers without `msg_id`", () =>
      Effect.gen(function* () {
        const { credentials, workspace } = yield* aClient()
        yield* fill(credentials)
        const answer = yield* request("send_msg/multi/", {
          ...credentials,
          phones: "15550001234",
          msg: "Hi",
        })
        assert.strictEqual(answer.status, 429)
        assert.deepStrictEqual(answer.body, {
          status: 0,
          code: "daily_limit_reached",
          message: "Daily limit reached",
        })
        const { key } = yield* aKey(workspace)
        const failed = yield* get(key, "/api/v2/messages?status=failed")
        assert.deepStrictEqual(expectBody<PageBody<MessageBody>>(failed, 200).data, [])
      }),
    )
  })
})
