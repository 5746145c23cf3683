/** Reminders of a caller. */
import { Reminders } from "@messaging-service/core"
import type {
  ChangeReminder,
  CreateReminder,
  ListReminders,
  ReminderId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { RemindersApi } from "../api/reminders.ts"
import { bodyOf } from "../names.ts"
import type { CallerApi } from "./Calls.ts"
import { idOf, listingOf, made, repeatable } from "./asking.ts"
import { reminderShown } from "./records.ts"

export const remindersApi: CallerApi<RemindersApi> = ({ caller, run }) => ({
  create: (command, options) =>
    run(
      Effect.gen(function* () {
        const body = bodyOf<CreateReminder>(command)
        const who = yield* caller
        const repeat = yield* repeatable(options, "/api/v2/reminders", body)
        const { answer, replayed } = yield* (yield* Reminders).create(who, body, repeat)
        return made(reminderShown(answer), replayed)
      }),
    ),
  get: (id) =>
    run(
      Effect.gen(function* () {
        const who = yield* caller
        return reminderShown(yield* (yield* Reminders).get(who, idOf<ReminderId>(id)))
      }),
    ),
  list: (query) =>
    listingOf(
      { caller, run },
      query,
      (who, asked) =>
        Reminders.use((reminders) => reminders.list(who, bodyOf<ListReminders>(asked))),
      Effect.succeed(reminderShown),
    ),
  update: (id, change) =>
    run(
      Effect.gen(function* () {
        const who = yield* caller
        const body = bodyOf<ChangeReminder>(change)
        return reminderShown(yield* (yield* Reminders).update(who, idOf<ReminderId>(id), body))
      }),
    ),
  remove: (id) =>
    run(
      Effect.gen(function* () {
        const who = yield* caller
        yield* (yield* Reminders).remove(who, idOf<ReminderId>(id))
      }),
    ),
})
