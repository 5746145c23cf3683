import { assert, describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import { Doors, errorOf } from "../Doors.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, aWorkspace, bodyOf, change, operate } from "../Records.ts"
import type { Made, PageBody } from "../Records.ts"
import { get, list as listMessages, post } from "./Asking.ts"

const path = "/api/v2/reminders"

interface ReminderBody {
  readonly id: number
  readonly next_run_at: string | null
  readonly [field: string]: unknown
}

interface RunBody {
  readonly id: number
  readonly due_at: string
  readonly outcome: string
  readonly message_id: number | null
  readonly code: string | null
}

const aReminder = {
  name: "Rent",
  to: { phone: "+15550001234" },
  text: "Please pay",
  schedule: { cron: "0 9 * * *", timezone: "europe/berlin" },
}

const create = (token: string, fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(post(token, { ...aReminder, ...fields }, path), (answer) =>
    bodyOf<ReminderBody>(answer, 201),
  )

const patch = (token: string, id: number, json: unknown) =>
  Effect.flatMap(Doors, ({ socket }) =>
    socket.call({ method: "PATCH", path: `${path}/${id}`, token, json }),
  )

const remove = (token: string, id: number) =>
  Effect.flatMap(Doors, ({ socket }) =>
    socket.call({ method: "DELETE", path: `${path}/${id}`, token }),
  )

const list = (token: string, query = "") =>
  Effect.map(get(token, `${path}${query}`), (answer) => bodyOf<PageBody<ReminderBody>>(answer, 200))

const runsOf = (workspace: Made, id: number, query = "") =>
  operate({ path: `/admin/v1/workspaces/${workspace.id}/reminders/${id}/runs${query}` })

const adjustable = layerService({ ports: layerStoredClock() })

const advance = (seconds: number) =>
  Effect.map(
    operate({ method: "POST", path: "/admin/v1/simulator/clock/advance", json: { seconds } }),
    (answer) => bodyOf<{ readonly now: string }>(answer, 200),
  )

describe("reminders", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("POST answers 201 with the Reminder, GET finds it, DELETE deletes it", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const made = yield* create(token)
        assert.deepStrictEqual(made, {
          id: made.id,
          name: "Rent",
          active: true,
          to: { phone: "+15550001234" },
          from: null,
          text: "Please pay",
          media: null,
          schedule: { cron: "0 9 * * *", timezone: "Europe/Berlin" },
          next_run_at: "1970-01-01T09:00:00+01:00",
          created_at: "1970-01-01T00:00:00Z",
          last_run: null,
        })
        assert.deepStrictEqual(bodyOf(yield* get(token, `${path}/${made.id}`), 200), made)
        assert.deepStrictEqual(bodyOf(yield* remove(token, made.id), 200), {
          id: made.id,
          deleted: true,
        })
        for (const gone of [
          yield* get(token, `${path}/${made.id}`),
          yield* get(token, `${path}/none`),
          yield* patch(token, made.id, { name: "x" }),
          yield* remove(token, made.id),
        ]) {
          assert.strictEqual(gone.status, 404)
          assert.strictEqual(errorOf(gone).code, "reminder_not_found")
        }
      }),
    )

    it.effect("PATCH changes the given fields, and pauses and resumes", () =>
      Effect.gen(function* () {
        const { number, token } = yield* aSender()
        const made = yield* create(token)
        const given = { name: "Other", from: number.id, to: { group: "Team" }, text: "New" }
        const changed = bodyOf(yield* patch(token, made.id, given), 200)
        assert.deepStrictEqual<unknown>(changed, { ...made, ...given })
        const schedule = { cron: "30 6 * * *" }
        assert.deepInclude(bodyOf<ReminderBody>(yield* patch(token, made.id, { schedule }), 200), {
          schedule: { cron: "30 6 * * *", timezone: "Europe/Berlin" },
          next_run_at: "1970-01-01T06:30:00+01:00",
        })
        const paused = bodyOf<ReminderBody>(yield* patch(token, made.id, { active: false }), 200)
        assert.deepInclude(paused, { active: false, next_run_at: null })
        const resumed = bodyOf<ReminderBody>(yield* patch(token, made.id, { active: true }), 200)
        assert.strictEqual(resumed.next_run_at, "1970-01-01T06:30:00+01:00")
      }),
    )

    it.effect("are listed newest first, in pages, paused ones included", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const a = yield* create(token)
        const b = yield* create(token, { active: false })
        const c = yield* create(token)
        const first = yield* list(token, "?limit=2")
        assert.deepStrictEqual(first.data, [c, b])
        const rest = yield* list(token, `?limit=2&cursor=${first.next_cursor}`)
        assert.deepStrictEqual(rest, { data: [a], next_cursor: null })
        assert.deepStrictEqual((yield* list(token, "?active=false")).data, [b])
        const other = yield* get(token, `${path}?active=true&cursor=${first.next_cursor}`)
        assert.strictEqual(errorOf(other).code, "invalid_cursor")
      }),
    )

    it.effect("answers a problem with its status, code and field", () =>
      Effect.gen(function* () {
        const { number, token, workspace } = yield* aSender({ number: { status: "disconnected" } })
        const { key: limited } = yield* aKey(workspace, { number_ids: [number.id] })
        for (const [key, fields, status, code, field] of [
          [token, { text: " " }, 400, "text_required", "text"],
          [token, { schedule: { cron: "@daily" } }, 400, "invalid_cron", "schedule.cron"],
          [
            token,
            { schedule: { cron: "* * * * *", timezone: "+02:00" } },
            400,
            "invalid_timezone",
            "schedule.timezone",
          ],
          [token, { to: { phone: "x" } }, 422, "invalid_phone", "to.phone"],
          [token, { to: { contact_id: 1e9 } }, 422, "contact_not_found", "to.contact_id"],
          [token, { media: { media_id: 1e9 } }, 422, "media_not_found", "media.media_id"],
          [token, { from: number.id }, 422, "number_not_connected", "from"],
          [token, { from: 1e9 }, 422, "number_not_connected", "from"],
          [limited, {}, 400, "validation_failed", "from"],
        ] as const) {
          const answer = yield* post(key, { ...aReminder, ...fields }, path)
          assert.strictEqual(answer.status, status, code)
          assert.deepInclude(errorOf(answer), { code, field })
        }
      }),
    )

    it.effect("need the scope of that name, and a plan that includes them", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const made = yield* create(token)
        const sender = yield* aKey(workspace, { scopes: ["messages:send", "messages:read"] })
        for (const answer of [
          yield* post(sender.key, aReminder, path),
          yield* get(sender.key, path),
          yield* get(sender.key, `${path}/${made.id}`),
          yield* patch(sender.key, made.id, {}),
          yield* remove(sender.key, made.id),
        ]) {
          assert.strictEqual(answer.status, 403)
          assert.deepInclude(errorOf(answer), {
            code: "missing_scope",
            required_scope: "reminders",
          })
        }
        yield* change(workspace, { plan: null })
        for (const answer of [
          yield* post(token, aReminder, path),
          yield* patch(token, made.id, { active: false, name: "x" }),
        ]) {
          assert.strictEqual(answer.status, 403)
          assert.strictEqual(errorOf(answer).code, "plan_required")
        }
        bodyOf(yield* patch(token, made.id, { active: false }), 200)
        assert.lengthOf((yield* list(token)).data, 1)
        bodyOf(yield* remove(token, made.id), 200)
      }),
    )

    it.effect(
      "a repeat with the same Idempotency-Key gets the first answer, and creates nothing",
      () =>
        Effect.gen(function* () {
          const { socket } = yield* Doors
          const { token } = yield* aSender()
          const call = (json: unknown) =>
            socket.call({ method: "POST", path, token, json, headers: [["idempotency-key", "k"]] })
          const first = yield* call(aReminder)
          const made = bodyOf<ReminderBody>(first, 201)
          bodyOf(yield* patch(token, made.id, { name: "x", active: false }), 200)
          const again = yield* call(aReminder)
          assert.deepStrictEqual(bodyOf(again, 201), made)
          assert.strictEqual(again.headers["idempotent-replayed"], "true")
          assert.lengthOf((yield* list(token)).data, 1)
          const reused = yield* call({ ...aReminder, name: "other" })
          assert.strictEqual(errorOf(reused).code, "idempotency_key_reused")
        }),
    )

    it.effect("the operator's log of an unknown reminder is a 404, and every role reads it", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const stranger = yield* aSender()
        const { id } = yield* create(token)
        const own = bodyOf<PageBody<RunBody>>(yield* runsOf(workspace, id), 200)
        assert.deepStrictEqual(own, { data: [], next_cursor: null })
        const foreign = yield* runsOf(stranger.workspace, id)
        assert.strictEqual(errorOf(foreign).code, "reminder_not_found")
        const member = yield* operate({
          path: `/admin/v1/workspaces/${workspace.id}/reminders/${id}/runs`,
          headers: [["acting-role", "member"]],
        })
        assert.deepStrictEqual(bodyOf(member, 200), own)
      }),
    )
  })

  layer(adjustable, { excludeTestServices: true })("when the clock is moved on", (it) => {
    it.effect("run at each due time on the way, and the log has each result", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender({
          workspace: {
            plan: {
              name: "Two",
              messages_remaining: 2,
              reminders: true,
              qr_code_api: false,
              max_numbers: null,
              media_storage_bytes: 0,
            },
          },
        })
        const made = yield* create(token, { schedule: { cron: "*/20 * * * *" } })
        const first = Date.parse(made.next_run_at ?? "")
        const at = (run: number) =>
          new Date(first + run * 1_200_000).toISOString().replace(".000", "")
        yield* advance(3600)
        const page = yield* listMessages(token)
        assert.deepStrictEqual(
          page.data.map(({ created_at, status }) => [created_at, status]),
          [
            [at(1), "sent"],
            [at(0), "sent"],
          ],
        )
        const log = bodyOf<PageBody<RunBody>>(yield* runsOf(workspace, made.id), 200)
        assert.deepStrictEqual(
          log.data.map(({ code, due_at, message_id, outcome }) => [
            due_at,
            outcome,
            code,
            message_id,
          ]),
          [
            [at(2), "refused", "no_credits", null],
            [at(1), "accepted", null, page.data[0]?.id],
            [at(0), "accepted", null, page.data[1]?.id],
          ],
        )
        const one = bodyOf<PageBody<RunBody>>(yield* runsOf(workspace, made.id, "?limit=1"), 200)
        assert.deepStrictEqual(one.data, log.data.slice(0, 1))
        const still = bodyOf<ReminderBody>(yield* get(token, `${path}/${made.id}`), 200)
        assert.strictEqual(still["active"], true)
        assert.strictEqual(Date.parse(still.next_run_at ?? ""), Date.parse(at(3)))
        bodyOf(yield* remove(token, made.id), 200)
      }),
    )

    it.effect("are refused where no number is connected", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { key: token } = yield* aKey(workspace)
        const { id } = yield* create(token, { schedule: { cron: "0 * * * *" } })
        yield* advance(3600)
        const { last_run } = bodyOf<ReminderBody>(yield* get(token, `${path}/${id}`), 200)
        const message = "No number that reaches this recipient is connected."
        assert.deepInclude(last_run, {
          outcome: "refused",
          error: { code: "from_required", message },
        })
        bodyOf(yield* remove(token, id), 200)
      }),
    )

    it.effect("of a test key create test messages", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const { key: test } = yield* aKey(workspace, { mode: "test" })
        const { id } = yield* create(test, { schedule: { cron: "0 * * * *" } })
        yield* advance(3600)
        const page = yield* listMessages(test)
        assert.deepStrictEqual(
          page.data.map(({ status }) => status),
          ["sent"],
        )
        assert.deepStrictEqual((yield* listMessages(token)).data, [])
        assert.deepStrictEqual((yield* list(token)).data, [])
        bodyOf(yield* remove(test, id), 200)
      }),
    )
  })
})
