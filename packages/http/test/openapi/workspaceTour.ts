/** Operations of version 2 in a workspace, as a part of the tour through the whole interface. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Created, PageBody } from "../Records.ts"
import { operatorToken } from "../Service.ts"
import type { aTour } from "./Tour.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"

type Tour = Effect.Success<typeof aTour>

/** `at` is the path of the workspace; `url` that of a receiver. */
export const workspaceTour = Effect.fnUntraced(function* workspaceTour(
  { as, request }: Tour,
  at: string,
  url: string,
  from: number,
) {
  const operator = as(operatorToken)
  const to = { phone: "+15550001234" }
  const once = { headers: [["idempotency-key", "one of the operator"]] } as const
  const message = { from, to, text: "Hello", send_at: "2999-01-31T09:00:00Z" }
  const sent = yield* request(operator("POST", `${at}/messages`, message, once), 202)
  yield* request(operator("POST", `${at}/messages`, message, once), 202)
  yield* request(operator("POST", `${at}/messages/batch`, { ...message, to: [to] }), 202)
  yield* request(operator("GET", `${at}/messages?mode=test&limit=1`), 200)
  yield* request(operator("GET", `${at}/messages?mode=dead`), 400)
  yield* request(operator("GET", `${at}/messages/${sent.id}?mode=live`), 200)
  yield* request(operator("GET", `${at}/messages/${sent.id}/timeline`), 200)
  yield* request(operator("GET", `${at}/messages?text=hello&error=send_failed`), 200)
  yield* request(operator("GET", `${at}/messages?text=hello&to=%2B15550001234`), 400)
  yield* request(operator("POST", `${at}/messages/cancel`, { ids: [987654], mode: "test" }), 200)

  yield* request(operator("POST", `${at}/numbers/link`, { login_method: "qr" }), 202)

  const reminder = {
    name: "Rent",
    from,
    to,
    text: "Rent is due",
    schedule: { cron: "0 9 1 * *", timezone: "Europe/London" },
  }
  const { id } = yield* request(operator("POST", `${at}/reminders`, reminder), 201)
  yield* request(operator("GET", `${at}/reminders`), 200)
  yield* request(operator("GET", `${at}/reminders/${id}`), 200)
  const run = operator("POST", `${at}/reminders/${id}/run`, undefined, {
    headers: [["idempotency-key", "one run"]],
  })
  const { id: first } = yield* request(run, 202)
  assert.strictEqual((yield* request(run, 202)).id, first)
  yield* request(operator("GET", `${at}/reminders/${id}/runs`), 200)
  const { schedule } = reminder
  yield* request(operator("POST", `${at}/reminders/preview`, { schedule, count: 50 }), 200)
  yield* request(operator("PATCH", `${at}/reminders/${id}`, { active: false }), 200)
  yield* request(operator("DELETE", `${at}/reminders/${id}`), 200)

  const upload = operator("POST", `${at}/media`, undefined, {
    body: form([aPart()]),
    headers: [multipart],
  })
  const file = yield* request(upload, 201)
  yield* request(operator("GET", `${at}/media`), 200)
  yield* request(operator("GET", `${at}/media/${file.id}`), 200)
  yield* request(operator("DELETE", `${at}/media/${file.id}`), 200)

  const check = yield* request(
    operator("POST", `${at}/number-checks`, { from, phones: [to.phone] }),
    202,
  )
  yield* request(operator("GET", `${at}/number-checks`), 200)
  yield* request(operator("GET", `${at}/number-checks/${check.id}`), 200)
  yield* request(operator("GET", `${at}/number-checks/${check.id}/results`), 200)

  const links = `${at}/portal-sessions`
  const link = yield* request(operator("POST", links, { role: "member", return_url: null }), 201)
  yield* request(operator("GET", links), 200)
  yield* request(operator("DELETE", `${links}/${link.id}`), 200)

  const endpoint = yield* request<Created>(operator("POST", `${at}/webhooks`, { url }), 201)
  const path = `${at}/webhooks/${endpoint.id}`
  yield* request(operator("POST", `${path}/rotate-secret`), 200)
  yield* request(operator("POST", `${path}/test`), 202)
  yield* request(operator("PATCH", path, { description: "Till" }), 200)
  const { now } = yield* request<{ readonly now: string }>(
    operator("GET", "/admin/v1/simulator/clock"),
    200,
  )
  yield* request(operator("POST", `${path}/recover`, { since: now }), 202)
  yield* request(operator("GET", `${path}/deliveries?type=ping&failed=true`), 200)
  yield* request(operator("POST", "/admin/v1/simulator/settle"), 200)
  const [delivery] = (yield* request<PageBody<Created>>(operator("GET", `${path}/deliveries`), 200))
    .data
  yield* request(operator("GET", `${path}/deliveries/${delivery?.id}`), 200)
  yield* request(operator("DELETE", path), 200)
})
