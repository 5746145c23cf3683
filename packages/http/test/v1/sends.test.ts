/** Sends of version 1, and their answers (contract: Version 1: sends). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Answer } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aNumber, settle } from "../Records.ts"
import {
  aClient,
  aText,
  answered,
  request,
  call,
  onV2,
  assertRefusedV1,
  sends,
  toShape,
} from "./Asking.ts"
import type { SentBody } from "./Asking.ts"

const isErrorPage = (answer: Answer): void => {
  assert.strictEqual(answer.status, 500)
  assert.match(answer.headers["content-type"] ?? "", /^text\/html/)
  assert.match(answer.text, /^<!doctype html>/)
  assert.match(answer.headers["x-request-id"] ?? "", /^req_/)
}

/** Country code, phone, and their meaning together. */
const phones: ReadonlyArray<readonly [code: unknown, phone: unknown, meant: string]> = [
  ["1", "5550001234", "+15550001234"],
  [1, 5550001234, "+15550001234"],
  ["49", "030 123-4567", "+49301234567"],
  ["49", "0030 1234567", "+49301234567"],
  ["+49", "301234567", "+49301234567"],
  ["39", "06 1234-5678", "+390612345678"],
  ["44", "447400123456", "+447400123456"],
  ["1", "+49301234567", "+49301234567"],
  [null, "15550001234", "+15550001234"],
  [null, "+1 555-000-1234", "+15550001234"],
  ["", "15550001234", "+15550001234"],
]

layer(layerService())("a send of version 1", (it) => {
  it.effect("to a phone answers `status` 1, `message` and `msg_id`", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const answer = yield* request("send_msg/", { ...credentials, ...aText })
      assert.deepStrictEqual(toShape(answer), [
        ["status", "number"],
        ["message", "string"],
        ["msg_id", "number"],
      ])
      assert.strictEqual(answered<SentBody>(answer).status, 1)
    }),
  )

  for (const [country_code, phone, meant] of phones) {
    it.effect(`with country_code ${country_code} and phone ${phone} goes to ${meant}`, () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const id = yield* sends(client.credentials, { country_code, phone })
        assert.deepStrictEqual((yield* onV2(client, id)).to, { phone: meant, contact_id: null })
      }),
    )
  }

  it.effect("`phone` holding an `@username` goes to Telegram", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const telegram = yield* aNumber(client.workspace, { platform: "telegram" })
      const id = yield* sends(client.credentials, { phone: "@some_one" })
      const { from, to } = yield* onV2(client, id)
      assert.deepStrictEqual(to, { username: "@some_one" })
      assert.strictEqual(from.id, telegram.id)
    }),
  )

  it.effect("to a group looks it up at send time: `Group not found`", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const fields = { ...credentials, msg: "Hi" }
      const there = yield* request("send_msg/group/", { ...fields, group_name: "Team" })
      const either = yield* request("send_msg/", { ...fields, group_name: "Team" })
      const nowhere = yield* request("send_msg/group/", { ...fields, group_name: "Nowhere" })
      yield* settle
      const getStatus = ({ body }: Answer) =>
        Effect.map(
          request("message/status/", { ...credentials, msg_id: (body as SentBody).msg_id }),
          (answer) => {
            const { error, status } = answered<{ status: number; error: string | null }>(answer)
            return [status, error]
          },
        )
      assert.deepStrictEqual(yield* getStatus(there), [1, null])
      assert.deepStrictEqual(yield* getStatus(either), [1, null])
      assert.deepStrictEqual(yield* getStatus(nowhere), [2, "Group not found"])
    }),
  )

  it.effect(
    "treats a JSON-number `group_name` as text in send_msg, as an error page in send_msg/group",
    () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const fields = { ...client.credentials, group_name: 7, msg: "Hi" }
        const { msg_id } = answered<SentBody>(yield* request("send_msg/", fields))
        assert.deepStrictEqual((yield* onV2(client, msg_id)).to, { group: "7" })
        isErrorPage(yield* request("send_msg/group/", fields))
        for (const kind of ["form", "multipart"] as const) {
          const answer = yield* request("send_msg/group/", fields, kind)
          assert.strictEqual(answered<SentBody>(answer).status, 1)
        }
      }),
  )

  it.effect(
    "answers a `msg_type` that is not a whole number with an error page in send_msg/group",
    () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        const fields = { ...credentials, group_name: "Team", msg: "Hi" }
        for (const msg_type of [1.5, "1.5", "text", true, [0], "0x1", "", null]) {
          isErrorPage(yield* request("send_msg/group/", { ...fields, msg_type }))
          assertRefusedV1(
            yield* request("send_msg/", { ...fields, msg_type }),
            400,
            "Invalid msg_type",
          )
        }
        isErrorPage(yield* request("send_msg/group/", { ...fields, msg_type: "1.5" }, "form"))
        isErrorPage(yield* request("send_msg/group/", { ...fields, msg_type: "x" }, "multipart"))
        for (const kind of ["form", "multipart"] as const) {
          isErrorPage(yield* request("send_msg/group/", { ...fields, msg_type: "" }, kind))
        }
        // A whole number, though with more digits than a double holds exactly.
        for (const msg_type of [3, -1, "00000000000000000003", 2 ** 53, 1e300]) {
          assertRefusedV1(
            yield* request("send_msg/group/", { ...fields, msg_type }),
            400,
            "Invalid msg_type",
          )
        }
        const whole = yield* request("send_msg/group/", { ...fields, msg_type: 0.0 })
        assert.strictEqual(whole.status, 200)
        // Credentials are checked first.
        assertRefusedV1(
          yield* request("send_msg/group/", { ...fields, api_key: "x", group_name: 7 }),
          400,
          "Auth Error: invalid api key",
        )
      }),
  )

  it.effect("accepts `message` as an alias of `msg`", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const alias = yield* sends(client.credentials, { msg: null, message: "Hello" })
      assert.strictEqual((yield* onV2(client, alias)).text, "Hello")
      const both = yield* sends(client.credentials, { msg: "This", message: "Not this" })
      assert.strictEqual((yield* onV2(client, both)).text, "This")
    }),
  )

  it.effect("sends text of 3,000 characters unchanged", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const msg = ` ${"👋".repeat(2998)}\n`
      assert.strictEqual((yield* onV2(client, yield* sends(client.credentials, { msg }))).text, msg)
    }),
  )

  it.effect("counts `expire_after_seconds` from now, or from the due time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1, 12) + 700)
      const client = yield* aClient({ number: { status: "disconnected" } })
      const named = { whatsapp_client: client.number.id, expire_after_seconds: "90" }
      const now = yield* sends(client.credentials, named)
      assert.strictEqual((yield* onV2(client, now))["expires_at"], "2030-01-01T12:01:30Z")
      const later = yield* sends(
        client.credentials,
        { ...named, date: "02/01/2030", time: "08:00" },
        "schedule_msg/",
      )
      assert.strictEqual((yield* onV2(client, later))["expires_at"], "2030-01-02T08:01:30Z")
      yield* TestClock.adjust("89 seconds")
      yield* settle
      assert.strictEqual((yield* onV2(client, now)).status, "queued")
      yield* TestClock.adjust("1 second")
      yield* settle
      assert.strictEqual((yield* onV2(client, now)).status, "expired")
    }),
  )

  it.effect("to many answers their ids in order, from a list or commas", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const args = ["555 000-1234", "05550001235", "5550001234"]
      for (const phones of [args, args.join(","), ` ${args.join(" , ")},`]) {
        const answer = yield* request("send_msg/multi/", {
          ...client.credentials,
          country_code: "1",
          phones,
          msg: "Hi",
        })
        const { msg_ids, ...rest } = answered<{
          status: 1
          message: string
          msg_ids: Array<number>
        }>(answer)
        assert.deepStrictEqual(Object.keys(rest), ["status", "message"])
        const messages = yield* Effect.forEach(msg_ids, (id) => onV2(client, id))
        assert.deepStrictEqual(
          messages.map(({ to }) => to["phone"]),
          ["+15550001234", "+15550001235", "+15550001234"],
        )
      }
    }),
  )

  it.effect("accepts a repeated `phones` in a form", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const body = new URLSearchParams({ ...credentials, msg: "Hi" } as never)
      body.append("phones", "15550001234")
      body.append("phones", "15550001235,15550001236")
      const answer = yield* call("send_msg/multi/", {
        headers: [["content-type", "application/x-www-form-urlencoded"]],
        body: body.toString(),
      })
      assert.strictEqual(answered<{ msg_ids: Array<number> }>(answer).msg_ids.length, 3)
    }),
  )
})
