/** Changes of reminders, and keys that may not see them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Contacts, Numbers, Workspaces } from "../../src/index.ts"
import type { NumberId } from "../../src/index.ts"
import {
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
import { code, logOut } from "./Operations.ts"
import { aContact, aKey, aNumber, aPlan, aSender, aWorkspace, inAService } from "./Service.ts"

describe("a change", () => {
  it.effect("affects only the given fields", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const reminder = yield* scheduled(key, "0 9 * * *", "Europe/Berlin")
        for (const [input, change] of [
          [{ name: "Other" }, { name: "Other" }],
          [{ text: "Other" }, { text: "Other" }],
          [{ from: number }, { from: number }],
          [{ from: null }, { from: null }],
          [{ to: { group: "Team" } }, { to: { kind: "group", group: "Team" } }],
        ] as const) {
          const before = yield* read(key, reminder)
          const changed = yield* patch(key, reminder, input)
          const revision = before.revision + 1
          assert.deepStrictEqual<unknown>(changed, { ...before, ...change, revision })
          assert.deepStrictEqual(yield* read(key, reminder), changed)
        }
        yield* patch(key, reminder, { media: { url: "https://example.com/a" } })
        assert.isNull((yield* patch(key, reminder, { media: null })).media)
      }),
    ),
  )

  it.effect("of the schedule replaces it as a whole, and keeps the zone without timezone", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* scheduled(key, "0 9 * * *", "Europe/Berlin")
        const other = yield* patch(key, reminder, { schedule: { cron: "0 18 * * *" } })
        assert.deepInclude<unknown>(other, { cron: "0 18 * * *", timezone: "Europe/Berlin" })
        assert.strictEqual(nextRun(other), "2026-03-02T18:00:00+01:00")
        const zone = { cron: "0 18 * * *", timezone: "America/New_York" }
        const moved = yield* patch(key, reminder, { schedule: zone })
        assert.strictEqual(nextRun(moved), "2026-03-02T18:00:00-05:00")
        assert.strictEqual(
          yield* refusedAs(patch(key, reminder, { schedule: { timezone: "UTC" } })),
          "validation_failed schedule.cron",
        )
      }),
    ),
  )

  it.effect("to a blank text is text_required, with media too", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* remind(key, { media: { url: "https://example.com/a" } })
        assert.strictEqual(
          yield* refusedAs(patch(key, reminder, { text: "" })),
          "text_required text",
        )
      }),
    ),
  )

  it.effect("to paused alone works in any plan; everything else needs a plan", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminder = yield* remind(key)
        const workspaces = yield* Workspaces
        yield* workspaces.update("owner", workspace, withoutReminders)
        assert.strictEqual(yield* code(patch(key, reminder, { name: "Other" })), "plan_required")
        assert.strictEqual(yield* code(patch(key, reminder, {})), "plan_required")
        const more = { active: false, name: "Other" }
        assert.strictEqual(yield* code(patch(key, reminder, more)), "plan_required")
        const paused = yield* patch(key, reminder, { active: false })
        assert.deepStrictEqual(paused, { ...reminder, active: false, nextRunAt: null, revision: 2 })
        assert.strictEqual(yield* code(patch(key, reminder, { active: true })), "plan_required")
        assert.deepStrictEqual(yield* read(key, reminder), paused)
        assert.deepStrictEqual((yield* list(key)).items, [paused])
        yield* workspaces.update("owner", workspace, { plan: aPlan() })
        assert.deepStrictEqual(yield* patch(key, reminder, { active: true }), {
          ...reminder,
          revision: 3,
        })
        yield* workspaces.update("owner", workspace, withoutReminders)
        assert.strictEqual(yield* remove(key, reminder), reminder.id)
      }),
    ),
  )

  it.effect("of another field ignores whether the number is still connected, or exists", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace, { phone: "+15550000102" })
        const reminder = yield* remind(key, { from: number })
        yield* logOut(number)
        assert.strictEqual((yield* patch(key, reminder, { text: "a", from: number })).text, "a")
        yield* logOut(other)
        assert.strictEqual(
          yield* code(patch(key, reminder, { from: other })),
          "number_not_connected",
        )
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        assert.strictEqual((yield* patch(key, reminder, { text: "b" })).text, "b")
        assert.deepStrictEqual((yield* patch(key, reminder, { to: { group: "Team" } })).to, {
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
        const reminder = yield* remind(key, { from: number, to: { group: "Team" } })
        assert.strictEqual(
          yield* refusedAs(patch(key, reminder, { to: { username: "@jane" } })),
          "username_needs_telegram to.username",
        )
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000101" })
        assert.strictEqual(
          yield* refusedAs(patch(key, reminder, { from: telegram })),
          "validation_failed to.group",
        )
        const both = { from: telegram, to: { username: "@jane" } }
        assert.strictEqual((yield* patch(key, reminder, both)).from, telegram)
        assert.strictEqual(
          yield* refusedAs(patch(key, reminder, { to: { contactId: 99 } })),
          "contact_not_found to.contactId",
        )
      }),
    ),
  )

  it.effect("ignores a contact that was deleted since", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const contactId = yield* aContact(workspace, { phone: "+15550000007" })
        const reminder = yield* remind(key, { to: { contactId } })
        yield* Contacts.use((contacts) => contacts.delete("owner", workspace, contactId))
        assert.strictEqual((yield* patch(key, reminder, { name: "x" })).name, "x")
      }),
    ),
  )
})

describe("a key that may not see a reminder finds none", () => {
  it.effect("in another workspace, the other mode, or limited to other numbers", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const reminder = yield* remind(key)
        const strangers = [
          yield* aKey(yield* aWorkspace()),
          yield* aKey(workspace, { mode: "test" }),
          yield* aKey(workspace, { numberIds: [number] }),
        ]
        for (const stranger of strangers) {
          assert.strictEqual(yield* code(read(stranger, reminder)), "reminder_not_found")
          assert.strictEqual(yield* code(patch(stranger, reminder, {})), "reminder_not_found")
          assert.strictEqual(yield* code(remove(stranger, reminder)), "reminder_not_found")
          assert.deepStrictEqual((yield* list(stranger)).items, [])
        }
        yield* remove(key, reminder)
        assert.strictEqual(yield* code(read(key, reminder)), "reminder_not_found")
        assert.strictEqual(yield* code(remove(key, reminder)), "reminder_not_found")
      }),
    ),
  )

  it.effect("a limited key must keep naming one of its numbers", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other: NumberId = yield* aNumber(workspace, { phone: "+15550000102" })
        const limited = yield* aKey(workspace, { numberIds: [number] })
        for (const from of [undefined, null]) {
          const input = from === undefined ? {} : { from }
          assert.strictEqual(yield* refusedAs(remind(limited, input)), "validation_failed from")
        }
        assert.strictEqual(
          yield* refusedAs(remind(limited, { from: other })),
          "number_not_allowed from",
        )
        const reminder = yield* remind(limited, { from: number })
        const hidden = yield* remind(key, { from: other })
        assert.deepStrictEqual((yield* list(limited)).items, [reminder])
        assert.deepStrictEqual((yield* list(key)).items, [hidden, reminder])
        assert.strictEqual(
          yield* refusedAs(patch(limited, reminder, { from: null })),
          "validation_failed from",
        )
        assert.strictEqual(
          yield* refusedAs(patch(limited, reminder, { from: other })),
          "number_not_allowed from",
        )
        assert.strictEqual((yield* patch(limited, reminder, { name: "x" })).name, "x")
      }),
    ),
  )
})
