import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { catalogue, problem, toProblems, refuse, refuseAll } from "../src/model/Refusal.ts"
import type { Code } from "../src/model/Refusal.ts"

const codes: Readonly<Record<string, number>> = {
  api_v2_not_enabled: 403,
  missing_api_key: 401,
  invalid_api_key: 401,
  v1_key_on_v2: 401,
  api_key_revoked: 401,
  api_key_expired: 401,
  too_many_auth_failures: 429,
  demo_account: 403,
  missing_scope: 403,
  rate_limited: 429,
  not_found: 404,
  invalid_json: 400,
  unsupported_content_type: 415,
  method_not_allowed: 405,
  request_too_large: 413,
  validation_failed: 400,
  invalid_cursor: 400,
  invalid_idempotency_key: 400,
  idempotency_key_reused: 422,
  idempotency_in_progress: 409,
  internal_error: 500,
  service_unavailable: 503,
  text_required: 400,
  text_too_long: 400,
  too_many_recipients: 400,
  invalid_datetime: 400,
  invalid_phone: 422,
  invalid_username: 422,
  username_needs_telegram: 422,
  contact_not_found: 422,
  media_not_found: 422,
  invalid_media_url: 422,
  time_in_past: 422,
  number_not_found: 422,
  from_required: 422,
  number_not_allowed: 403,
  no_credits: 402,
  account_disabled: 403,
  message_rejected: 422,
  number_daily_cap_reached: 429,
  message_not_found: 404,
  not_cancellable: 409,
  invalid_cron: 400,
  invalid_timezone: 400,
  plan_required: 403,
  number_not_connected: 422,
  reminder_not_found: 404,
  webhook_limit_reached: 403,
  invalid_webhook_url: 422,
  webhook_not_found: 404,
  number_exists: 409,
  contact_exists: 409,
  webhook_stopped: 409,
  event_not_found: 404,
  missing_operator_token: 401,
  invalid_operator_token: 401,
  role_required: 403,
  workspace_not_found: 404,
  key_not_found: 404,
  key_limit_reached: 403,
  not_connecting: 409,
  telegram_not_configured: 409,
  login_not_found: 404,
  invalid_code: 422,
  invalid_password: 422,
  already_restored: 409,
  clock_not_adjustable: 409,
}

describe("the error catalogue", () => {
  it.effect.each(Object.keys(codes))("has %s with the contract's status", (code) =>
    Effect.sync(() => assert.strictEqual(catalogue[code as Code].status, codes[code])),
  )

  it.effect("has English text for every code", () =>
    Effect.sync(() => {
      for (const [code, { message }] of Object.entries(catalogue)) {
        assert.match(message, /^[A-Z`].*\.$/s, code)
      }
    }),
  )

  it.effect(
    "answers 404 for what is missing in the path, 422 for what is missing in a request",
    () =>
      Effect.sync(() => {
        for (const code of ["number_not_found", "media_not_found", "contact_not_found"] as const) {
          assert.strictEqual(refuse(code).status, 422)
          assert.strictEqual(refuse(code, { inPath: true }).status, 404)
        }
        assert.strictEqual(refuse("message_not_found", { inPath: true }).status, 404)
      }),
  )

  it.effect("names the limit of 10 keys in the message of key_limit_reached", () =>
    Effect.sync(() => assert.include(refuse("key_limit_reached").message, "10")),
  )

  it.effect("refuses with the first problem and lists the others in errors", () =>
    Effect.sync(() => {
      const [first, second] = [
        problem("invalid_phone", "to.phone"),
        problem("validation_failed", "from", "has the wrong type"),
      ]
      const refusal = refuseAll(first, [second])
      assert.deepStrictEqual(
        [refusal.code, refusal.status, refusal.field, refusal.message, refusal.errors],
        ["invalid_phone", 422, "to.phone", first.message, [second]],
      )
      assert.deepStrictEqual(toProblems(refusal), [first, second])
    }),
  )
})
