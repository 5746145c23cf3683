import { assert, describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { get, post } from "./Asking.ts"

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
    expectBody<ReminderBody>(answer, 201),
  )

const remove = (token: string, id: number) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "DELETE", path: `${path}/${id}`, token }),
  )

const listRuns = (workspace: Created, id: number, query = "") =>
  operate({ path: `/admin/v1/workspaces/${workspace.id}/reminders/${id}/runs${query}` })

const adjustable = layerService({ ports: layerStoredClock() })

const advance = (seconds: number) =>
  Effect.map(
    operate({ method: "POST", path: "/admin/v1/simulator/clock/advance", json: { seconds } }),
    (answer) => expectBody<{ readonly now: string }>(answer, 200),
  )

describe("reminders", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("POST answers 201 with the Reminder, GET finds it, DELETE deletes it", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const reminderBody = yield* create(token)
        assert.deepStrictEqual(reminderBody, {
          id: reminderBody.id,
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
        assert.deepStrictEqual(
          expectBody(yield* get(token, `${path}/${reminderBody.id}`), 200),
          reminderBody,
        )
        assert.deepStrictEqual(expectBody(yield* remove(token, reminderBody.id), 200), {
          id: reminderBody.id,
          deleted: true,
        })
      }),
    )

    it.effect("the operator's log of an unknown reminder is a 404, and every role reads it", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const stranger = yield* aSender()
        const { id } = yield* create(token)
        const own = expectBody<PageBody<RunBody>>(yield* listRuns(workspace, id), 200)
        assert.deepStrictEqual(own, { data: [], next_cursor: null })
        const foreign = yield* listRuns(stranger.workspace, id)
        assert.strictEqual(errorBody(foreign).code, "reminder_not_found")
        const member = yield* operate({
          path: `/admin/v1/workspaces/${workspace.id}/reminders/${id}/runs`,
          headers: [["acting-role", "member"]],
        })
        assert.deepStrictEqual(expectBody(member, 200), own)
      }),
    )
  })

  layer(adjustable, { excludeTestServices: true })("when the clock is moved on", (it) => {
    it.effect("are refused where no number is connected", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { key: token } = yield* aKey(workspace)
        const { id } = yield* create(token, { schedule: { cron: "0 * * * *" } })
        yield* advance(3600)
        const { last_run } = expectBody<ReminderBody>(yield* get(token, `${path}/${id}`), 200)
        const message = "No number that reaches this recipient is connected."
        assert.deepInclude(last_run, {
          outcome: "refused",
          error: { code: "from_required", message },
        })
        expectBody(yield* remove(token, id), 200)
      }),
    )
  })
})
