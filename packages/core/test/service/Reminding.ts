/** Requests about reminders, as the suites of the whole service make them. */
import { Effect } from "effect"
import { ReminderOperations, Reminders } from "../../src/index.ts"
import type { Caller, ReminderId, ReminderJson, WorkspaceId } from "../../src/index.ts"

type Fields = Readonly<Record<string, unknown>>

const aBody = (given: Fields = {}): Fields => ({
  name: "Rent",
  to: { phone: "+15550000001" },
  text: "Please pay",
  schedule: { cron: "0 9 * * *" },
  ...given,
})

/** Makes a reminder, and returns the answer with whether it was a replay. */
export const answer = (caller: Caller, given: Fields = {}, idempotencyKey: string | null = null) =>
  Reminders.use((reminders) =>
    reminders.create(
      caller,
      aBody(given),
      idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: "same" },
    ),
  )

export const remind = (caller: Caller, given: Fields = {}) =>
  Effect.map(answer(caller, given), (made) => made.answer)

/** A reminder with that pattern, in that zone. */
export const scheduled = (caller: Caller, cron: string, timezone = "UTC", given: Fields = {}) =>
  remind(caller, { schedule: { cron, timezone }, ...given })

export const read = (caller: Caller, { id }: Pick<ReminderJson, "id">) =>
  Reminders.use((reminders) => reminders.get(caller, id))

export const patch = (caller: Caller, { id }: Pick<ReminderJson, "id">, body: unknown) =>
  Reminders.use((reminders) => reminders.update(caller, id, body))

export const remove = (caller: Caller, { id }: Pick<ReminderJson, "id">) =>
  Reminders.use((reminders) => reminders.remove(caller, id))

export const list = (caller: Caller, query: ReadonlyArray<readonly [string, string]> = []) =>
  Reminders.use((reminders) => reminders.list(caller, query))

/** The log of a reminder, oldest first: due time, outcome and why. */
export const log = (workspace: WorkspaceId, { id }: Pick<ReminderJson, "id">) =>
  Effect.map(
    ReminderOperations.use((operations) =>
      operations.runs("owner", workspace, id as ReminderId, [["limit", "100"]]),
    ),
    ({ data }) => data.map((run) => [run.due_at, run.outcome, run.code] as const).toReversed(),
  )
