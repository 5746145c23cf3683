/** A store that went back in time (contract: Restored stores). */
import {
  HeldBody,
  MarkSentBody,
  MediaLinks,
  PageInput,
  Restoration,
  RestoredBody,
  described,
} from "@messaging-service/core"
import type { ListPage, MarkSent, SelectHeld, StoreRestored } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import {
  jsonBody,
  json,
  listOf,
  optionalJson,
  pageBody,
  query,
  pageJson,
  IdJson,
} from "../Entry.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import { WorkspaceMessageJson, shownMessage } from "../v2/messages.ts"
import type { OperatorRoute } from "./pipeline.ts"

const route = operatorRoute("Restored stores")

const EpochJson = Schema.Struct({
  epoch: described(Schema.Int, "Increases with each restore; 1 before the first."),
  held: described(Schema.Int, "Number of held messages and reminders."),
}).annotate({ identifier: "Epoch" })

const HeldJson = Schema.Struct({
  workspaceId: IdJson,
  messages: Schema.Int,
  reminders: Schema.Int,
  campaigns: described(
    Schema.Int,
    "Number of campaigns that ask for the row to go on from when they are resumed.",
  ),
}).annotate({ identifier: "Held" })

const more = described(Schema.Boolean, "True when more remain: a call handles at most 1,000.")

const ReleasedJson = Schema.Struct({ released: Schema.Int, more }).annotate({
  identifier: "HeldReleased",
})

const CancelledJson = Schema.Struct({ cancelled: Schema.Int, more }).annotate({
  identifier: "HeldCancelled",
})

const MarkedJson = Schema.Struct({ marked: Schema.Int, more }).annotate({
  identifier: "HeldMarked",
})

const selecting = json<SelectHeld>()(HeldBody, { filter: {} })

export const restoreRoutes: ReadonlyArray<OperatorRoute> = [
  route("POST /admin/v1/store/restored", {
    id: "storeRestored",
    right: "operator",
    summary: "Report a restored store",
    about:
      "Call it after a restore, or after a lagging standby took over. The service never reuses earlier ids, and holds everything that waits.",
    request: optionalJson<StoreRestored>()(RestoredBody, { above: 21300 }),
    success: "The new epoch, and how much is held.",
    answer: jsonBody(EpochJson, { epoch: 2, held: 83 }),
    refused: ["role_required", "already_restored"],
    handler: Effect.fnUntraced(function* storeRestored({ request, role }) {
      const restoration = yield* Restoration
      return yield* restoration.restored(role, request)
    }),
  }),
  route("GET /admin/v1/held", {
    id: "listHeldWorkspaces",
    right: "operator",
    summary: "List workspaces with held messages",
    success: "Each workspace with held messages or reminders.",
    answer: listOf(HeldJson, { workspace_id: 3, messages: 82, reminders: 1, campaigns: 0 }),
    refused: ["role_required"],
    handler: Effect.fnUntraced(function* listHeldWorkspaces({ role }) {
      const restoration = yield* Restoration
      return { data: yield* restoration.counts(role) }
    }),
  }),
  route(`GET ${workspacePath}/held`, {
    id: "listHeld",
    right: "operator",
    summary: "List a workspace's held messages",
    request: query<ListPage>()(PageInput),
    success: "A page of messages, newest first.",
    answer: pageBody(WorkspaceMessageJson, { ...examples.message, ...examples.workspaceOnly }),
    handler: Effect.fnUntraced(function* listHeld({ id, request, role }) {
      const restoration = yield* Restoration
      const { link } = yield* MediaLinks
      const page = yield* restoration.list(role, id("id"), request)
      const now = yield* Clock.currentTimeMillis
      return pageJson(page, (message) => shownMessage(message, now, link))
    }),
  }),
  route(`POST ${workspacePath}/held/release`, {
    id: "releaseHeld",
    right: "operator",
    summary: "Release held messages",
    about:
      "Messages leave in the order of their due times. A selected reminder continues with its next run; missed runs are not made up.",
    request: selecting,
    success: "How many messages and reminders were released.",
    answer: jsonBody(ReleasedJson, { released: 83, more: false }),
    refused: ["invalid_datetime"],
    handler: Effect.fnUntraced(function* releaseHeld({ id, request, role }) {
      const restoration = yield* Restoration
      const { count, more: left } = yield* restoration.release(role, id("id"), request)
      return {
        released: count,
        more: left,
      }
    }),
  }),
  route(`POST ${workspacePath}/held/cancel`, {
    id: "cancelHeld",
    right: "operator",
    summary: "Cancel held messages",
    about:
      "Each with its event. A selected reminder is not deleted: it continues with its next run.",
    request: selecting,
    success: "How many messages were cancelled and reminders released.",
    answer: jsonBody(CancelledJson, { cancelled: 83, more: false }),
    refused: ["invalid_datetime"],
    handler: Effect.fnUntraced(function* cancelHeld({ id, request, role }) {
      const restoration = yield* Restoration
      const { count, more: left } = yield* restoration.cancel(role, id("id"), request)
      return {
        cancelled: count,
        more: left,
      }
    }),
  }),
  route(`POST ${workspacePath}/held/mark-sent`, {
    id: "markHeldSent",
    right: "operator",
    summary: "Mark held messages as sent",
    about:
      "For messages that left after the backup. Each becomes `sent` with its event, counts in its number's quota, and keeps its allowance. A `filter` passes over messages planned for later: they cannot have left. A selected reminder continues with its next run.",
    request: json<MarkSent>()(MarkSentBody, { filter: {}, sent_at: "2026-11-24T09:00:00Z" }),
    success: "How many messages were marked and reminders released.",
    answer: jsonBody(MarkedJson, { marked: 83, more: false }),
    refused: ["invalid_datetime"],
    handler: Effect.fnUntraced(function* markHeldSent({ id, request, role }) {
      const restoration = yield* Restoration
      const { count, more: left } = yield* restoration.markSent(role, id("id"), request)
      return {
        marked: count,
        more: left,
      }
    }),
  }),
]
