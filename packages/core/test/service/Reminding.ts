/** Requests about reminders, for the suites of the whole service. */
import { Effect } from "effect"
import { Reminders, formatInZone, formatInstant, Messages } from "../../src/index.ts"
import type {
  Caller,
  ChangeReminder,
  CursorPage,
  ListReminders,
  Message,
  MessageJson,
  Refusal,
  Reminder,
  StoreUnavailable,
  WorkspaceId,
} from "../../src/index.ts"
import { shown, refusal } from "./Operations.ts"
import { aPlan } from "./Service.ts"

type Fields = Readonly<Record<string, unknown>>

export const aCommand = (overrides: Fields = {}) => ({
  name: "Rent",
  to: { phone: "+15550000001" },
  text: "Please pay",
  schedule: { cron: "0 9 * * *" },
  ...overrides,
})

/** Creates a reminder, and returns the answer with whether it was a replay. */
export const answer = (
  caller: Caller,
  overrides: Fields = {},
  idempotencyKey: string | null = null,
) =>
  Reminders.use((reminders) =>
    reminders.create(
      caller,
      aCommand(overrides),
      idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: "same" },
    ),
  )

export const remind = (caller: Caller, overrides: Fields = {}) =>
  Effect.map(answer(caller, overrides), (repeatable) => repeatable.answer)

/** A reminder with that pattern, in that zone. */
export const scheduled = (caller: Caller, cron: string, timezone = "UTC", overrides: Fields = {}) =>
  remind(caller, { schedule: { cron, timezone }, ...overrides })

export const read = (caller: Caller, { id }: Pick<Reminder, "id">) =>
  Reminders.use((reminders) => reminders.get(caller, id))

export const patch = (caller: Caller, { id }: Pick<Reminder, "id">, change: Fields) =>
  Reminders.use((reminders) => reminders.update(caller, id, change as ChangeReminder))

export const remove = (caller: Caller, { id }: Pick<Reminder, "id">) =>
  Reminders.use((reminders) => reminders.remove(caller, id))

export const list = (caller: Caller, query: ListReminders = {}) =>
  Reminders.use((reminders) => reminders.list(caller, query))

/** The log of a reminder, oldest first: due time, outcome and reason. */
export const log = (workspace: WorkspaceId, { id }: Pick<Reminder, "id">) =>
  Effect.map(
    Reminders.use((reminders) => reminders.runs("owner", workspace, id, { limit: 100 })),
    ({ items }) =>
      items.map((run) => [formatInstant(run.dueAt), run.outcome, run.code] as const).toReversed(),
  )

/** The due time of its next run in its zone's wall time. */
export const nextRun = ({ nextRunAt, timezone }: Reminder) =>
  nextRunAt === null ? null : formatInZone(nextRunAt, timezone)

/** The messages that a key sees, oldest first. */
export const sent = (key: Caller) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const all: Array<MessageJson> = []
    let cursor: string | null = null
    do {
      const page: CursorPage<Message> = yield* messages.list(key, {
        limit: 100,
        ...(cursor === null ? {} : { cursor }),
      })
      all.push(...(yield* shown(page.items)))
      cursor = page.next
    } while (cursor !== null)
    return all.toReversed()
  })

export const times = (key: Caller) =>
  Effect.map(sent(key), (all) => all.map(({ created_at }) => created_at))

/** The code and the field of the refusal with which an operation must fail. */
export const refusedAs = <A, R>(operation: Effect.Effect<A, Refusal | StoreUnavailable, R>) =>
  Effect.map(refusal(operation), ({ code, field }) => `${code} ${field ?? ""}`.trim())

export const withoutReminders = { plan: aPlan({ reminders: false }) }
