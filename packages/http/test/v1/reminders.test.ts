/** Reminders of version 1: version 2's reminders, with version 1's requests. */
import { assert, describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aPlan, aKey, aNumber, operate } from "../Records.ts"
import type { PageBody } from "../Records.ts"
import { get, list as listMessages, post } from "../v2/Asking.ts"
import { path as mediaPath, png, sha256, upload } from "../v2/Uploading.ts"
import type { FileBody } from "../v2/Uploading.ts"
import { aClient, aText, answered, request, call, kinds, withFile } from "./Asking.ts"
import type { Client, Credentials, Fields } from "./Asking.ts"

const path = "/api/v2/reminders"

interface ReminderBody {
  readonly id: number
  readonly [field: string]: unknown
}

interface ReminderV1 {
  readonly reminder_id: number
  readonly [field: string]: unknown
}

const aReminder = { reminder_name: "Rent", cron_expression: "0 9 * * *", ...aText }

const getId = (answer: Parameters<typeof answered>[0]) =>
  answered<{ readonly reminder_id: number }>(answer).reminder_id

const create = ({ credentials }: { readonly credentials: Credentials }, fields: Fields = {}) =>
  Effect.map(request("reminder/create/", { ...credentials, ...aReminder, ...fields }), getId)

const list = ({ credentials }: Client, fields: Fields = {}) =>
  Effect.map(request("reminder/list/", { ...credentials, ...fields }), (answer) =>
    answered<{
      readonly status: 1
      readonly total: number
      readonly page: number
      readonly reminders: ReadonlyArray<ReminderV1>
    }>(answer),
  )

/** The reminder as version 2 shows it. */
const read = ({ workspace }: Client, id: number) =>
  Effect.gen(function* () {
    const { key } = yield* aKey(workspace)
    return answered<ReminderBody>(yield* get(key, `${path}/${id}`))
  })

const advance = (seconds: number) =>
  Effect.map(
    operate({ method: "POST", path: "/admin/v1/simulator/clock/advance", json: { seconds } }),
    (answer) => answered(answer),
  )

describe("reminder/create/", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("creates a reminder that version 2 shows", () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const answer = yield* request("reminder/create/", {
          ...client.credentials,
          ...aReminder,
          phone: "0555-000 1234",
          timezone: " europe/berlin ",
          whatsapp_client: String(client.number.id),
        })
        const body = answered<{ readonly reminder_id: number }>(answer)
        const { reminder_id } = body
        assert.deepStrictEqual<unknown>(body, {
          status: 1,
          message: "Reminder created",
          reminder_id,
        })
        assert.deepStrictEqual(yield* read(client, reminder_id), {
          id: reminder_id,
          name: "Rent",
          active: true,
          to: { phone: "+15550001234" },
          from: client.number.id,
          text: "Hello",
          media: null,
          schedule: { cron: "0 9 * * *", timezone: "Europe/Berlin" },
          next_run_at: "1970-01-01T09:00:00+01:00",
          created_at: "1970-01-01T00:00:00Z",
          last_run: null,
        })
      }),
    )

    it.effect.each(kinds)("takes its fields in %s, and ignores unknown ones", (kind) =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const { msg, ...rest } = aReminder
        for (const operation of ["reminder/create", "reminder/create/"]) {
          const fields = { ...client.credentials, ...rest, message: msg, msg_type: "0", x: "y" }
          const id = getId(yield* request(operation, fields, kind))
          const reminderBody = yield* read(client, id)
          assert.deepStrictEqual([reminderBody["text"], reminderBody["from"]], ["Hello", null])
        }
      }),
    )

    it.effect("for a group, and for a Telegram username", () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        yield* aNumber(client.workspace, { platform: "telegram" })
        const toGroup = yield* create(client, { phone: null, group_name: "Team" })
        assert.deepStrictEqual((yield* read(client, toGroup))["to"], { group: "Team" })
        const toUser = yield* create(client, { phone: "@some_one" })
        assert.deepStrictEqual((yield* read(client, toUser))["to"], { username: "@some_one" })
      }),
    )

    const links = [
      ["image", { msg_type: 1, img_url: "https://example.com/a" }, { file_name: null }],
      [
        "file",
        { msg_type: 2, file_url: "https://example.com/a", file_name: "a.pdf" },
        { file_name: "a.pdf" },
      ],
    ] as const
    it.effect.each(links)("with the link of an %s, which is fetched at each run", (one) =>
      Effect.gen(function* () {
        const [type, fields, named] = one
        const client = yield* aClient()
        const { media } = yield* read(client, yield* create(client, fields))
        const url = "https://example.com/a"
        assert.deepStrictEqual<unknown>(media, { media_id: null, url, type, ...named })
      }),
    )

    it.effect("with an uploaded file, which is then in the media directory", () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const requested = { ...client.credentials, ...aReminder, msg_type: 2 }
        const form = withFile(requested, [{ fileName: "plan.png" }])
        const { media } = yield* read(client, getId(yield* call("reminder/create/", form)))
        const { key } = yield* aKey(client.workspace)
        const files = answered<PageBody<FileBody>>(yield* get(key, mediaPath)).data
        assert.deepStrictEqual(
          files.map(({ file_name, size }) => [file_name, size]),
          [["plan.png", png.length]],
        )
        assert.deepStrictEqual<unknown>(media, {
          media_id: files[0]?.id,
          url: null,
          type: "file",
          file_name: null,
        })
      }),
    )

    it.effect("takes storage for the file, and refuses when there is none", () =>
      Effect.gen(function* () {
        const plan = aPlan({ media_storage_bytes: png.length })
        const { credentials, workspace } = yield* aClient({ workspace: { plan } })
        yield* upload((yield* aKey(workspace)).key)
        const requested = { ...credentials, ...aReminder, msg_type: 2 }
        const answer = yield* call("reminder/create/", withFile(requested, [{}]))
        assert.deepStrictEqual(
          [answer.status, answer.body],
          [400, { status: 0, message: "Media storage is full" }],
        )
      }),
    )
  })

  layer(layerService({ ports: layerStoredClock() }))("with a clock that can be moved", (it) => {
    it.effect("runs as version 2's do, with its file", () =>
      Effect.gen(function* () {
        const client = yield* aClient()
        const requested = {
          ...client.credentials,
          ...aReminder,
          cron_expression: "0 * * * *",
          msg_type: 2,
        }
        yield* call("reminder/create/", withFile(requested, [{ fileName: "plan.png" }]))
        yield* advance(3600)
        const { key } = yield* aKey(client.workspace)
        const { data } = yield* listMessages(key)
        assert.deepStrictEqual(
          data.map(({ status, text }) => [status, text]),
          [["sent", "Hello"]],
        )
        const { data: sent } = answered<PageBody<Fields>>(
          yield* operate({ path: `/admin/v1/simulator/sent?number_id=${client.number.id}` }),
        )
        assert.deepStrictEqual<unknown>(
          sent.map(({ media }) => ({ ...(media as object), url: undefined })),
          [
            {
              file_name: "plan.png",
              mime_type: "image/png",
              size: png.length,
              sha256: sha256(png),
              url: undefined,
            },
          ],
        )
      }),
    )
  })
})

layer(layerService())("reminder/list/ and reminder/cancel/", (it) => {
  it.effect("show and delete reminders of either version", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const { key } = yield* aKey(client.workspace)
      const first = yield* create(client, { timezone: "Europe/Berlin" })
      const paused = answered<ReminderBody>(
        yield* post(
          key,
          {
            name: "Paused",
            to: { group: "Team" },
            text: "Later",
            schedule: { cron: "*/5 * * * *" },
            active: false,
          },
          path,
        ),
        201,
      ).id
      const shown = {
        reminder_id: paused,
        reminder_name: "Paused",
        phone: null,
        group_name: "Team",
        message: "Later",
        cron_expression: "*/5 * * * *",
        timezone: "UTC",
        active: false,
        next_run_at: null,
      }
      assert.deepStrictEqual<unknown>(yield* list(client), {
        status: 1,
        total: 2,
        page: 1,
        reminders: [
          shown,
          {
            reminder_id: first,
            reminder_name: "Rent",
            phone: "+15550001234",
            group_name: null,
            message: "Hello",
            cron_expression: "0 9 * * *",
            timezone: "Europe/Berlin",
            active: true,
            next_run_at: "1970-01-01T09:00:00+01:00",
          },
        ],
      })
      const fields = { ...client.credentials, reminder_id: String(first) }
      assert.deepStrictEqual(answered(yield* request("reminder/cancel/", fields, "form")), {
        status: 1,
        message: "Reminder cancelled",
      })
      assert.strictEqual((yield* get(key, `${path}/${first}`)).status, 404)
      assert.deepStrictEqual<unknown>((yield* list(client)).reminders, [shown])
      const { socket } = yield* HttpTestClients
      yield* socket.call({ method: "DELETE", path: `${path}/${paused}`, token: key })
      assert.deepStrictEqual((yield* list(client)).reminders, [])
    }),
  )

  it.effect("have 50 a page, newest first, with the total", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const created: Array<number> = []
      for (let index = 0; index < 52; index++) created.push(yield* create(client))
      const newest = created.toReversed()
      for (const [page, ids] of [
        [1, newest.slice(0, 50)],
        [2, newest.slice(50)],
        [3, []],
      ] as const) {
        const shown = yield* list(client, { page })
        assert.deepStrictEqual<unknown>(
          [shown.total, shown.page, shown.reminders.map(({ reminder_id }) => reminder_id)],
          [52, page, ids],
        )
      }
    }),
  )

  it.effect("ignore reminders of another workspace", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const id = yield* create(client)
      const stranger = yield* aClient()
      const answer = yield* request("reminder/cancel/", {
        ...stranger.credentials,
        reminder_id: id,
      })
      assert.deepStrictEqual(answer.body, { status: 0, message: "Invalid reminder id" })
      assert.deepStrictEqual((yield* list(stranger)).reminders, [])
      assert.strictEqual((yield* list(client)).total, 1)
    }),
  )
})
