/** What platforms let numbers do with new chats. */
import {
  isRestrictionReported,
  newChatsUntil,
  restrictionReport,
  restrictionsEvent,
} from "@messaging-service/core"
import type {
  CapWarning,
  NewChatCap,
  NumberStore,
  Restrictions,
  RestrictionState,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import { toNumber } from "./numberRow.ts"

const lockLane = statement("number.lockLaneToRestrict")
const lockNumber = statement("number.lockToRestrict")
export const getRestrictions = statement("number.restrictions")
const restrictNumber = statement("restrict_number")

type RestrictionsRow = Row<"number.restrictions">

const toCap = (row: RestrictionsRow): NewChatCap | null =>
  row.chats_used === null
    ? null
    : {
        limit: row.chat_limit === null ? null : Number(row.chat_limit),
        used: Number(row.chats_used),
        resetsAt: millis(row.resets_at),
        warning: row.warning as CapWarning,
      }

export const toRestrictions = (row: RestrictionsRow): Restrictions => ({
  state: row.state as RestrictionState,
  until: millis(row.until),
  reason: row.reason,
  newChats: toCap(row),
  checkedAt: millis(row.checked_at),
})

const toWaitsUntil = (row: RestrictionsRow | undefined): number | null =>
  row?.waits_endlessly === true ? Infinity : millis(row?.waits_until ?? null)

/** The number is locked before the stored row is read, so that a change is announced once. */
export const restrict =
  (database: DatabaseService, notify: Effect.Effect<void>): NumberStore["restrict"] =>
  (id, restrictions, now, eventId, extraMillis) =>
    database
      .transaction("number.restrict", (run) =>
        Effect.gen(function* () {
          yield* lockLane.in(run, { id })
          const [locked] = yield* lockNumber.in(run, { id })
          if (locked === undefined) return "refused"
          const number = toNumber(locked)
          const [stored] = yield* getRestrictions.in(run, number)
          const isReported = stored?.is_reported ?? false
          const waitsUntil = toWaitsUntil(stored)
          const type = restrictionReport(isReported, restrictions.state)
          const event =
            type === undefined
              ? null
              : restrictionsEvent({ id: eventId, type }, number, restrictions, now)
          const { newChats } = restrictions
          yield* restrictNumber.in(run, {
            number: id,
            workspaceId: number.workspaceId,
            mode: number.mode,
            state: restrictions.state,
            until: restrictions.until,
            reason: restrictions.reason,
            chatLimit: newChats?.limit ?? null,
            chatsUsed: newChats?.used ?? null,
            resetsAt: newChats?.resetsAt ?? null,
            warning: newChats?.warning ?? null,
            checkedAt: restrictions.checkedAt,
            waitsUntil: newChatsUntil(waitsUntil, restrictions, extraMillis, now),
            isReported: isRestrictionReported(isReported, restrictions.state),
            now,
            eventId,
            eventType: event?.type ?? null,
            eventBody: event?.body ?? null,
          })
          return event === null ? "stored" : "announced"
        }),
      )
      .pipe(
        Effect.tap((outcome) => (outcome === "announced" ? notify : Effect.void)),
        Effect.map((outcome) => outcome !== "refused"),
      )
