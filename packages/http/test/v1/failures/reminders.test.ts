/** Answers of the operations on reminders (contract: Version 1: reminders). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../../Service.ts"
import { aKey } from "../../Records.ts"
import { get } from "../../v2/Asking.ts"
import { aClient, aText, answered, call, assertRefusedV1, withFile } from "../Asking.ts"
import type { Fields } from "../Asking.ts"
import { says } from "./Cases.ts"
import type { Case } from "./Cases.ts"

const schedule = { reminder_name: "Rent", cron_expression: "0 9 * * *" }
const aReminder = { ...schedule, ...aText }

const creation = (fields: Fields, text: string, scene?: Case["scene"]): Case => ({
  operation: "reminder/create/",
  fields,
  message: text,
  ...(scene === undefined ? {} : { scene }),
})

const withMedia = { ...aReminder, msg_type: 1 }

says("version 1 refuses reminders", [
  creation({ ...aReminder, reminder_name: null }, "Reminder name cant be null"),
  creation({ ...aReminder, reminder_name: "" }, "Reminder name cant be null"),
  creation({ ...aReminder, reminder_name: " " }, "Reminder name cant be null"),
  creation({ ...aReminder, reminder_name: "x".repeat(101) }, "Reminder name is too long"),

  creation({ ...schedule, msg: "Hello" }, "Either phone or group_name parameter is required"),
  creation(
    { ...aReminder, group_name: "Team" },
    "Please provide either phone OR group_name, not both",
  ),
  creation({ ...aReminder, phone: "12" }, "Invalid phone number"),
  creation({ ...aReminder, phone: "@x" }, "Invalid phone number"),
  creation({ ...aReminder, phone: null, group_name: "x".repeat(101) }, "Invalid group name"),

  creation({ ...aReminder, msg_type: 3 }, "Invalid msg_type"),
  creation({ ...aReminder, msg_type: "" }, "Invalid msg_type"),
  creation({ ...aReminder, msg: null }, "Msg cant be null"),
  creation({ ...aReminder, msg: " \n" }, "Msg cant be null"),
  creation({ ...withMedia, msg: null, img_url: "https://example.com/a.png" }, "Msg cant be null"),
  creation({ ...aReminder, msg: "x".repeat(3001) }, "Message length is too long"),
  creation(withMedia, "Image Url Can't be null"),
  creation({ ...withMedia, img_url: "http://127.0.0.1/a.png" }, "Invalid file url, Can't download"),
  creation({ ...withMedia, img_url: "no link" }, "Invalid file url, Can't download"),
  creation({ ...aReminder, msg_type: 2 }, "File Url Can't be null"),

  creation({ ...aReminder, cron_expression: null }, "Invalid cron expression"),
  creation({ ...aReminder, cron_expression: "hourly" }, "Invalid cron expression"),
  creation({ ...aReminder, cron_expression: "0 0 30 2 *" }, "Invalid cron expression"),
  creation({ ...aReminder, timezone: "Mars/Olympus" }, "Invalid timezone"),
  creation({ ...aReminder, timezone: "+02:00" }, "Invalid timezone"),

  creation({ ...aReminder, whatsapp_client: "main" }, "Invalid whatsapp client"),
  creation({ ...aReminder, whatsapp_client: 999_999_999 }, "Invalid whatsapp client"),
  creation(aReminder, "Invalid whatsapp client", "another workspace's number"),
  creation(aReminder, "Whatsapp client is not connected", "its disconnected number"),
  creation(
    { ...aReminder, country_code: null, phone: null, group_name: "Team" },
    "Invalid whatsapp client",
    "its Telegram account",
  ),
  creation({ ...aReminder, phone: "@recipient" }, "Invalid whatsapp client", "its WhatsApp number"),
  creation({ ...aReminder, phone: "@recipient" }, "Invalid whatsapp client id."),
  creation(aReminder, "Your plan does not include this", "a plan without reminders and numbers"),

  { operation: "reminder/list/", fields: { page: 0 }, message: "Invalid page" },
  { operation: "reminder/list/", fields: { page: "last" }, message: "Invalid page" },

  ...[{}, { reminder_id: "first" }, { reminder_id: 0 }, { reminder_id: 999_999_999 }].map(
    (fields): Case => ({ operation: "reminder/cancel/", fields, message: "Invalid reminder id" }),
  ),
])

layer(layerService())("a refused reminder with a file that is", (it) => {
  const refusals = [
    ["for its number", { whatsapp_client: 999_999_999 }, "Invalid whatsapp client"],
    ["for its pattern", { cron_expression: "hourly" }, "Invalid cron expression"],
    ["for its text", { msg: "" }, "Msg cant be null"],
  ] as const
  it.effect.each(refusals)("%s leaves no file in the media directory", ([, fields, message]) =>
    Effect.gen(function* () {
      const { credentials, workspace } = yield* aClient()
      const request = { ...credentials, ...aReminder, msg_type: 2, ...fields }
      assertRefusedV1(yield* call("reminder/create/", withFile(request, [{}])), 400, message)
      const { key } = yield* aKey(workspace)
      const files = answered<{ readonly data: ReadonlyArray<unknown> }>(
        yield* get(key, "/api/v2/media"),
      )
      assert.deepStrictEqual(files.data, [])
    }),
  )
})
