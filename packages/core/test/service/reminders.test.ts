import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Contacts, Numbers, Reminders, Workspaces } from "../../src/index.ts"
import type {
  CreateReminder,
  ListReminders,
  NumberId,
  Refusal,
  StoreUnavailable,
} from "../../src/index.ts"
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

/** The code and the field of the refusal with which an operation must fail. */
const refusedAs = <A, R>(operation: Effect.Effect<A, Refusal | StoreUnavailable, R>) =>
  Effect.map(refusal(operation), ({ code, field }) => `${code} ${field ?? ""}`.trim())

const aPlan = (fields: Readonly<Record<string, unknown>> = {}) => ({
  name: "Plan",
  messages_remaining: null,
  reminders: true,
  qr_code_api: true,
  max_numbers: null,
  media_storage_bytes: 0,
  ...fields,
})

const withoutReminders = { plan: aPlan({ reminders: false }) }

describe("a new reminder", () => {
  it.effect("is answered as it was asked for, active, in UTC and from any number by default", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const made = yield* remind(key)
        assert.deepStrictEqual<unknown>(made, {
          id: made.id,
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
        assert.deepStrictEqual(yield* read(key, made), made)
      }),
    ),
  )

  it.effect("shows its next run in its zone with the offset, in the database's spelling", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* scheduled(key, "30 9 * * MON", "asia/calcutta")
        assert.deepInclude<unknown>(made, { cron: "30 9 * * MON", timezone: "Asia/Calcutta" })
        assert.strictEqual(nextRun(made), "2026-03-09T09:30:00+05:30")
      }),
    ),
  )

  it.effect("that is paused has no next run", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* remind(key, { active: false })
        assert.deepInclude(made, { active: false, nextRunAt: null })
      }),
    ),
  )

  it.effect("keeps recipient and media as they were referred to", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* aNumber(workspace, { platform: "telegram", phone: "+15550000101" })
        const contact_id = yield* aContact(workspace, { phone: "+15550000007" })
        for (const [to, kept] of [
          [{ phone: "+1 555-000-0001" }, { kind: "phone", phone: "+15550000001" }],
          [{ group: "Team" }, { kind: "group", group: "Team" }],
          [{ contact_id }, { kind: "contact", contactId: contact_id }],
        ] as const) {
          assert.deepStrictEqual<unknown>((yield* remind(key, { to })).to, kept)
        }
        const { to } = yield* remind(key, { to: { username: "t.me/jane" } })
        assert.strictEqual(to.kind === "username" && to.username.given, "t.me/jane")
        const made = yield* remind(key, { media: { url: "https://example.com/a.png" } })
        assert.deepStrictEqual(made.media, {
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
    [{ media: { media_id: 99 } }, "media_not_found media.media_id"],
    [{ schedule: undefined }, "validation_failed schedule"],
    [{ schedule: {} }, "validation_failed schedule.cron"],
    [{ schedule: { cron: "@daily" } }, "invalid_cron schedule.cron"],
    [{ schedule: { cron: "0 0 30 2 *" } }, "invalid_cron schedule.cron"],
    [{ schedule: { cron: "* * * * *", timezone: "PST" } }, "invalid_timezone schedule.timezone"],
    [{ schedule: { cron: "* * * * *", timezone: null } }, "validation_failed schedule.timezone"],
    [{ schedule: { cron: "* * * * *", zone: "UTC" } }, "validation_failed schedule.zone"],
    [{ active: null }, "validation_failed active"],
    [{ send_at: "2030-01-01T00:00:00Z" }, "validation_failed send_at"],
    [{ to: { contact_id: 99 } }, "contact_not_found to.contact_id"],
    [{ from: 99 }, "number_not_connected from"],
    [{ to: { username: "@jane" } }, "username_needs_telegram to.username"],
  ] as ReadonlyArray<readonly [Readonly<Record<string, unknown>>, string]>)(
    "is refused: %j is %s",
    ([given, expected]) =>
      inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          // What is undefined is left out, as JSON leaves it out.
          const command = JSON.parse(JSON.stringify(aCommand(given))) as CreateReminder
          const create = Reminders.use((reminders) => reminders.create(key, command, null))
          assert.strictEqual(yield* refusedAs(create), expected)
          assert.deepStrictEqual((yield* list(key)).items, [])
        }),
      ),
  )

  it.effect("has its problems in the order of the contract's table", () =>
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

  it.effect("needs a plan with reminders, before its references are looked at", () =>
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

  it.effect("sends from a connected number that suits its recipient", () =>
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
        // Any of several will do.
        yield* aNumber(workspace, { platform: "telegram", phone: "+15550000102" })
        assert.isNull((yield* remind(key, { to: jane })).from)
        yield* logOut(number)
        assert.strictEqual(
          yield* refusedAs(remind(key, { from: number })),
          "number_not_connected from",
        )
        // Which number is there when it runs is seen then.
        yield* logOut(telegram)
        assert.isNull((yield* remind(key)).from)
      }),
    ),
  )

  it.effect("is made once for an Idempotency-Key, and its repeat gets the first answer", () =>
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

  it.effect("that is refused leaves its Idempotency-Key free", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        assert.strictEqual(yield* code(answer(key, { from: 99 }, "k")), "number_not_connected")
        assert.isFalse((yield* answer(key, {}, "k")).replayed)
      }),
    ),
  )
})

describe("a change", () => {
  it.effect("touches the fields that are given and no others", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const made = yield* scheduled(key, "0 9 * * *", "Europe/Berlin")
        for (const [given, change] of [
          [{ name: "Other" }, { name: "Other" }],
          [{ text: "Other" }, { text: "Other" }],
          [{ from: number }, { from: number }],
          [{ from: null }, { from: null }],
          [{ to: { group: "Team" } }, { to: { kind: "group", group: "Team" } }],
        ] as const) {
          const before = yield* read(key, made)
          const changed = yield* patch(key, made, given)
          const revision = before.revision + 1
          assert.deepStrictEqual<unknown>(changed, { ...before, ...change, revision })
          assert.deepStrictEqual(yield* read(key, made), changed)
        }
        yield* patch(key, made, { media: { url: "https://example.com/a" } })
        assert.isNull((yield* patch(key, made, { media: null })).media)
      }),
    ),
  )

  it.effect("of the schedule replaces it as a whole, and without timezone keeps the zone", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* scheduled(key, "0 9 * * *", "Europe/Berlin")
        const other = yield* patch(key, made, { schedule: { cron: "0 18 * * *" } })
        assert.deepInclude<unknown>(other, { cron: "0 18 * * *", timezone: "Europe/Berlin" })
        assert.strictEqual(nextRun(other), "2026-03-02T18:00:00+01:00")
        const zone = { cron: "0 18 * * *", timezone: "America/New_York" }
        const moved = yield* patch(key, made, { schedule: zone })
        assert.strictEqual(nextRun(moved), "2026-03-02T18:00:00-05:00")
        assert.strictEqual(
          yield* refusedAs(patch(key, made, { schedule: { timezone: "UTC" } })),
          "validation_failed schedule.cron",
        )
      }),
    ),
  )

  it.effect("that blanks the text is text_required, with media too", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* remind(key, { media: { url: "https://example.com/a" } })
        assert.strictEqual(yield* refusedAs(patch(key, made, { text: "" })), "text_required text")
      }),
    ),
  )

  it.effect("to paused works in any plan, and alone; everything else needs a plan", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const made = yield* remind(key)
        const workspaces = yield* Workspaces
        yield* workspaces.update("owner", workspace, withoutReminders)
        assert.strictEqual(yield* code(patch(key, made, { name: "Other" })), "plan_required")
        assert.strictEqual(yield* code(patch(key, made, {})), "plan_required")
        const more = { active: false, name: "Other" }
        assert.strictEqual(yield* code(patch(key, made, more)), "plan_required")
        const paused = yield* patch(key, made, { active: false })
        assert.deepStrictEqual(paused, { ...made, active: false, nextRunAt: null, revision: 2 })
        assert.strictEqual(yield* code(patch(key, made, { active: true })), "plan_required")
        assert.deepStrictEqual(yield* read(key, made), paused)
        assert.deepStrictEqual((yield* list(key)).items, [paused])
        yield* workspaces.update("owner", workspace, { plan: aPlan() })
        assert.deepStrictEqual(yield* patch(key, made, { active: true }), { ...made, revision: 3 })
        yield* workspaces.update("owner", workspace, withoutReminders)
        assert.strictEqual(yield* remove(key, made), made.id)
      }),
    ),
  )

  it.effect("of another field does not ask whether the number is still connected, or there", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace, { phone: "+15550000102" })
        const made = yield* remind(key, { from: number })
        yield* logOut(number)
        assert.strictEqual((yield* patch(key, made, { text: "a", from: number })).text, "a")
        yield* logOut(other)
        assert.strictEqual(yield* code(patch(key, made, { from: other })), "number_not_connected")
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        assert.strictEqual((yield* patch(key, made, { text: "b" })).text, "b")
        assert.deepStrictEqual((yield* patch(key, made, { to: { group: "Team" } })).to, {
          kind: "group",
          group: "Team",
        })
      }),
    ),
  )

  it.effect("of the recipient must suit the number, and of the number the recipient", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const made = yield* remind(key, { from: number, to: { group: "Team" } })
        assert.strictEqual(
          yield* refusedAs(patch(key, made, { to: { username: "@jane" } })),
          "username_needs_telegram to.username",
        )
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000101" })
        assert.strictEqual(
          yield* refusedAs(patch(key, made, { from: telegram })),
          "validation_failed to.group",
        )
        const both = { from: telegram, to: { username: "@jane" } }
        assert.strictEqual((yield* patch(key, made, both)).from, telegram)
        assert.strictEqual(
          yield* refusedAs(patch(key, made, { to: { contact_id: 99 } })),
          "contact_not_found to.contact_id",
        )
      }),
    ),
  )

  it.effect("says nothing of a contact that was deleted since", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const contact_id = yield* aContact(workspace, { phone: "+15550000007" })
        const made = yield* remind(key, { to: { contact_id } })
        yield* Contacts.use((contacts) => contacts.delete("owner", workspace, contact_id))
        assert.strictEqual((yield* patch(key, made, { name: "x" })).name, "x")
      }),
    ),
  )
})

describe("a key that may not see a reminder finds none", () => {
  it.effect("another workspace, the other mode, and a key limited to other numbers", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const made = yield* remind(key)
        const strangers = [
          yield* aKey(yield* aWorkspace()),
          yield* aKey(workspace, { mode: "test" }),
          yield* aKey(workspace, { number_ids: [number] }),
        ]
        for (const stranger of strangers) {
          assert.strictEqual(yield* code(read(stranger, made)), "reminder_not_found")
          assert.strictEqual(yield* code(patch(stranger, made, {})), "reminder_not_found")
          assert.strictEqual(yield* code(remove(stranger, made)), "reminder_not_found")
          assert.deepStrictEqual((yield* list(stranger)).items, [])
        }
        yield* remove(key, made)
        assert.strictEqual(yield* code(read(key, made)), "reminder_not_found")
        assert.strictEqual(yield* code(remove(key, made)), "reminder_not_found")
      }),
    ),
  )

  it.effect("a limited key names one of its numbers, and goes on naming one", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other: NumberId = yield* aNumber(workspace, { phone: "+15550000102" })
        const limited = yield* aKey(workspace, { number_ids: [number] })
        for (const from of [undefined, null]) {
          const given = from === undefined ? {} : { from }
          assert.strictEqual(yield* refusedAs(remind(limited, given)), "validation_failed from")
        }
        assert.strictEqual(
          yield* refusedAs(remind(limited, { from: other })),
          "number_not_allowed from",
        )
        const made = yield* remind(limited, { from: number })
        const hidden = yield* remind(key, { from: other })
        assert.deepStrictEqual((yield* list(limited)).items, [made])
        assert.deepStrictEqual((yield* list(key)).items, [hidden, made])
        assert.strictEqual(
          yield* refusedAs(patch(limited, made, { from: null })),
          "validation_failed from",
        )
        assert.strictEqual(
          yield* refusedAs(patch(limited, made, { from: other })),
          "number_not_allowed from",
        )
        assert.strictEqual((yield* patch(limited, made, { name: "x" })).name, "x")
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
