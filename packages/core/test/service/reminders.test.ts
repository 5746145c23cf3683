/** New reminders: their requirements, answers and list. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Reminders } from "../../src/index.ts"
import type { CreateReminder, ListReminders } from "../../src/index.ts"
import {
  aCommand,
  answer,
  list,
  nextRun,
  patch,
  read,
  remind,
  remove,
  scheduled,
  refusedAs,
  withoutReminders,
} from "./Reminding.ts"
import { code, logOut, refusal } from "./Operations.ts"
import {
  aContact,
  aKey,
  aNumber,
  aSender,
  aWorkspace,
  hour,
  inAService,
  noon,
  pass,
} from "./Service.ts"

describe("a new reminder", () => {
  it.effect("returns the request's values, by default active, in UTC, from any number", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminder = yield* remind(key)
        assert.deepStrictEqual<unknown>(reminder, {
          id: reminder.id,
          workspaceId: workspace,
          mode: "live",
          name: "Rent",
          active: true,
          to: { kind: "phone", phone: "+15550000001" },
          from: null,
          text: "Please pay",
          media: null,
          cron: "0 9 * * *",
          timezone: "UTC",
          nextRunAt: noon + 21 * hour,
          createdAt: noon,
          revision: 1,
          lastRun: null,
        })
        assert.deepStrictEqual(yield* read(key, reminder), reminder)
      }),
    ),
  )

  it.effect("shows its next run in its zone with the offset, in the database's spelling", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* scheduled(key, "30 9 * * MON", "asia/calcutta")
        assert.deepInclude<unknown>(reminder, { cron: "30 9 * * MON", timezone: "Asia/Calcutta" })
        assert.strictEqual(nextRun(reminder), "2026-03-09T09:30:00+05:30")
      }),
    ),
  )

  it.effect("has no next run when paused", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* remind(key, { active: false })
        assert.deepInclude(reminder, { active: false, nextRunAt: null })
      }),
    ),
  )

  it.effect("keeps recipient and media as they were referred to", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* aNumber(workspace, { platform: "telegram", phone: "+15550000101" })
        const contactId = yield* aContact(workspace, { phone: "+15550000007" })
        for (const [to, kept] of [
          [{ phone: "+1 555-000-0001" }, { kind: "phone", phone: "+15550000001" }],
          [{ group: "Team" }, { kind: "group", group: "Team" }],
          [{ contactId }, { kind: "contact", contactId }],
        ] as const) {
          assert.deepStrictEqual<unknown>((yield* remind(key, { to })).to, kept)
        }
        const { to } = yield* remind(key, { to: { username: "t.me/jane" } })
        assert.strictEqual(to.kind === "username" && to.username.text, "t.me/jane")
        const reminder = yield* remind(key, { media: { url: "https://example.com/a.png" } })
        assert.deepStrictEqual(reminder.media, {
          mediaId: null,
          attachmentId: null,
          url: "https://example.com/a.png",
          type: "image",
          fileName: null,
        })
      }),
    ),
  )

  it.effect.each([
    [{ name: undefined }, "validation_failed name"],
    [{ name: "" }, "validation_failed name"],
    [{ name: " \u3000" }, "validation_failed name"],
    [{ name: "x".repeat(101) }, "validation_failed name"],
    [{ to: {} }, "validation_failed to"],
    [{ to: { phone: "0555" } }, "invalid_phone to.phone"],
    [{ to: { username: "jane" } }, "invalid_username to.username"],
    [{ text: undefined }, "text_required text"],
    [{ text: " \n" }, "text_required text"],
    [{ text: " ", media: { url: "https://example.com/a" } }, "text_required text"],
    [{ text: null }, "validation_failed text"],
    [{ text: "x".repeat(3001) }, "text_too_long text"],
    [{ media: {} }, "validation_failed media"],
    [{ media: { url: "http://localhost/a" } }, "invalid_media_url media.url"],
    [{ media: { mediaId: 99 } }, "media_not_found media.mediaId"],
    [{ schedule: undefined }, "validation_failed schedule"],
    [{ schedule: {} }, "validation_failed schedule.cron"],
    [{ schedule: { cron: "@daily" } }, "invalid_cron schedule.cron"],
    [{ schedule: { cron: "0 0 30 2 *" } }, "invalid_cron schedule.cron"],
    [{ schedule: { cron: "* * * * *", timezone: "PST" } }, "invalid_timezone schedule.timezone"],
    [{ schedule: { cron: "* * * * *", timezone: null } }, "validation_failed schedule.timezone"],
    [{ schedule: { cron: "* * * * *", zone: "UTC" } }, "validation_failed schedule.zone"],
    [{ active: null }, "validation_failed active"],
    [{ sendAt: "2030-01-01T00:00:00Z" }, "validation_failed sendAt"],
    [{ to: { contactId: 99 } }, "contact_not_found to.contactId"],
    [{ from: 99 }, "number_not_connected from"],
    [{ to: { username: "@jane" } }, "username_needs_telegram to.username"],
  ] as ReadonlyArray<readonly [Readonly<Record<string, unknown>>, string]>)(
    "refuses %j as %s",
    ([input, expected]) =>
      inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          // JSON leaves undefined out.
          const command = JSON.parse(JSON.stringify(aCommand(input))) as CreateReminder
          const create = Reminders.use((reminders) => reminders.create(key, command, null))
          assert.strictEqual(yield* refusedAs(create), expected)
          assert.deepStrictEqual((yield* list(key)).items, [])
        }),
      ),
  )

  it.effect("reports its problems in the order of the contract's table", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const refused = yield* refusal(
          remind(key, {
            active: 1,
            schedule: { timezone: "nowhere", cron: "x" },
            text: "",
            to: { phone: "1" },
            name: 1,
          }),
        )
        assert.deepStrictEqual(
          [refused, ...refused.errors].map(({ field }) => field),
          ["name", "to.phone", "text", "schedule.cron", "schedule.timezone", "active"],
        )
      }),
    ),
  )

  it.effect("needs a plan with reminders, before its references are checked", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace(withoutReminders)
        const key = yield* aKey(workspace)
        assert.strictEqual(yield* code(remind(key, { from: 99 })), "plan_required")
        const none = yield* aWorkspace({ plan: null })
        assert.strictEqual(yield* code(remind(yield* aKey(none))), "plan_required")
      }),
    ),
  )

  it.effect("needs a connected number that suits its recipient", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000101" })
        assert.strictEqual((yield* remind(key, { from: number })).from, number)
        const jane = { username: "@jane" }
        assert.strictEqual((yield* remind(key, { from: telegram, to: jane })).from, telegram)
        assert.strictEqual(
          yield* refusedAs(remind(key, { from: number, to: jane })),
          "username_needs_telegram to.username",
        )
        assert.strictEqual(
          yield* refusedAs(remind(key, { from: telegram, to: { group: "Team" } })),
          "validation_failed to.group",
        )
        // Any of several is enough.
        yield* aNumber(workspace, { platform: "telegram", phone: "+15550000102" })
        assert.isNull((yield* remind(key, { to: jane })).from)
        yield* logOut(number)
        assert.strictEqual(
          yield* refusedAs(remind(key, { from: number })),
          "number_not_connected from",
        )
        // The number is chosen when it runs.
        yield* logOut(telegram)
        assert.isNull((yield* remind(key)).from)
      }),
    ),
  )

  it.effect("is made once for an Idempotency-Key, and a repeat gets the first answer", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const first = yield* answer(key, {}, "k")
        assert.isFalse(first.replayed)
        yield* patch(key, first.answer, { name: "other", schedule: { cron: "* * * * *" } })
        yield* pass(hour)
        const again = { answer: first.answer, replayed: true }
        assert.deepStrictEqual(yield* answer(key, {}, "k"), again)
        yield* remove(key, first.answer)
        assert.deepStrictEqual(yield* answer(key, {}, "k"), again)
        assert.deepStrictEqual((yield* list(key)).items, [])
      }),
    ),
  )

  it.effect("frees its Idempotency-Key when refused", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        assert.strictEqual(yield* code(answer(key, { from: 99 }, "k")), "number_not_connected")
        assert.isFalse((yield* answer(key, {}, "k")).replayed)
      }),
    ),
  )
})

describe("the list", () => {
  it.effect("is paged, newest first, and filtered by active", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const a = yield* remind(key)
        const b = yield* remind(key, { active: false })
        const c = yield* remind(key)
        const first = yield* list(key, { limit: 2 })
        assert.deepStrictEqual(first.items, [c, b])
        const cursor = first.next ?? ""
        assert.deepStrictEqual(yield* list(key, { cursor }), { items: [a], next: null })
        assert.deepStrictEqual((yield* list(key, { active: true })).items, [c, a])
        assert.deepStrictEqual((yield* list(key, { active: false })).items, [b])
        const other = list(key, { cursor, active: true })
        assert.strictEqual(yield* refusedAs(other), "invalid_cursor cursor")
        for (const query of [{ active: 1 }, { limit: 0 }, { from: 1 }]) {
          assert.strictEqual(
            yield* refusedAs(list(key, query as ListReminders)),
            `validation_failed ${Object.keys(query)[0]}`,
          )
        }
      }),
    ),
  )
})
