/** Sends at a given time: date, time and zone apart (contract: Version 1: sends). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerService } from "../Service.ts"
import { settle } from "../Records.ts"
import { aClient, answered, request, onV2, assertRefusedV1, sends, toShape } from "./Asking.ts"
import type { SentBody } from "./Asking.ts"

/** Date, time, zone, and the moment that they mean. */
const times: ReadonlyArray<
  readonly [date: string, time: string, timezone: string | null, moment: string]
> = [
  ["01/02/2031", "08:30", null, "2031-02-01T08:30:00Z"],
  ["01/02/2031", "08:30", "UTC", "2031-02-01T08:30:00Z"],
  ["01/07/2031", "08:30", "Europe/Berlin", "2031-07-01T06:30:00Z"],
  ["01/07/2031", "08:30", "america/new_york", "2031-07-01T12:30:00Z"],
  ["01/07/2031", "00:15", "Asia/Kathmandu", "2031-06-30T18:30:00Z"],
  ["29/02/2032", "23:59", "UTC", "2032-02-29T23:59:00Z"],
  // A time that a clock change skips means the end of the gap (contract: Version 1: sends).
  ["30/03/2031", "02:30", "Europe/Berlin", "2031-03-30T01:00:00Z"],
  // One that occurs twice means the first.
  ["26/10/2031", "02:30", "Europe/Berlin", "2031-10-26T00:30:00Z"],
]

layer(layerService())("schedule_msg of version 1", (it) => {
  for (const [date, time, timezone, instant] of times) {
    it.effect(`${date} ${time} ${timezone ?? "without a zone"} is ${instant}`, () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const id = yield* sends(client.credentials, { date, time, timezone }, "schedule_msg/")
        const message = yield* onV2(client, id)
        assert.strictEqual(message["send_at"], instant)
        assert.strictEqual(message.status, "scheduled")
      }),
    )
  }

  it.effect("leaves when due; until then it is pending and can be cancelled", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2040, 0, 1))
      const { credentials } = yield* aClient()
      const when = { date: "01/01/2040", time: "00:01" }
      const sent = yield* sends(credentials, when, "schedule_msg/")
      const group = yield* request("schedule_msg/", {
        ...credentials,
        ...when,
        group_name: "Team",
        msg: "Hi",
      })
      const cancelled = answered<SentBody>(group).msg_id
      const status = (msg_id: number) =>
        Effect.map(
          request("message/status/", { ...credentials, msg_id }),
          (answer) => answered<{ status: number }>(answer).status,
        )
      assert.strictEqual(yield* status(sent), 0)
      const answer = yield* request("cancel_msg/", { ...credentials, msg_id: cancelled })
      assert.deepStrictEqual(toShape(answer), [
        ["status", "number"],
        ["message", "string"],
      ])
      yield* TestClock.adjust("1 minute")
      yield* settle
      assert.strictEqual(yield* status(sent), 1)
      assert.strictEqual(yield* status(cancelled), 3)
      for (const msg_id of [sent, cancelled]) {
        assertRefusedV1(
          yield* request("cancel_msg/", { ...credentials, msg_id }),
          400,
          "Message can not be cancelled",
        )
      }
    }),
  )
})
