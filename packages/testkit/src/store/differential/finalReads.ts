/** All that the ports can read, of every record that a store is known to have had. */
import { everyMessage, shardOf } from "@messaging-service/core"
import type { Message, NumberId, WorkspaceId } from "@messaging-service/core"
import { day } from "../Records.ts"
import { everyAttempt } from "./methods/ofWebhooks.ts"
import type { Known, Side } from "./Side.ts"

export interface Call {
  readonly namespace: string
  readonly name: string
  readonly input: ReadonlyArray<unknown>
}

const everything = { before: null, limit: 1000 }
const sendCap = { messages: 1000, windowMillis: day }

const idsOf = (side: Side, of: string): ReadonlyArray<number> => [
  ...new Set((side.known(of) as ReadonlyArray<Known>).map(({ id }) => id)),
]

/** Workspaces that are not deleted. */
const present = (side: Side): ReadonlyArray<number> => {
  const deleted = new Set(idsOf(side, "deleted"))
  return idsOf(side, "workspace").filter((id) => !deleted.has(id))
}

const call = (place: string, ...input: ReadonlyArray<unknown>): Call => {
  const [namespace = "", name = ""] = place.split(".")
  return { namespace, name, input }
}

const ofWorkspace = (id: number, now: number): ReadonlyArray<Call> => {
  const workspaceId = id as WorkspaceId
  return [
    call("workspaces.get", id),
    call("workspaces.listKeys", id),
    call("workspaces.listContacts", id, everything),
    call("workspaces.callbackSalt", id),
    call("numbers.list", id),
    call("numbers.connections", id, now, sendCap, 100),
    call("webhooks.list", { workspaceId, mode: null }, true),
    call("webhooks.callbackAttempts", id, everything),
    call(
      "reminders.list",
      { workspaceId, mode: null, restriction: null },
      { active: null },
      everything,
    ),
    call("browserSessions.links", id, everything),
    call("system.listHeld", id, everything),
    ...(["live", "test"] as const).flatMap((mode) => [
      call(
        "messages.list",
        { workspaceId, mode, restriction: null },
        everyMessage,
        everything,
        now,
      ),
      call("media.list", id, mode, null, everything),
      call("numberChecks.list", { workspaceId, mode, restriction: null }, everything),
      call("figures.hours", { workspaceId, mode, from: now - 100 * day, until: now + day }),
    ]),
  ]
}

const ofMessage = (message: Message, now: number): ReadonlyArray<Call> => [
  call("messages.timeline", {
    workspaceId: message.workspaceId,
    id: message.id,
    now,
    limit: 100,
    mostAhead: 100,
  }),
  call("messages.found", message.workspaceId, [message.id]),
  call("messages.byTransportId", message.from.id, message.transportId),
]

export const finalReads = (side: Side, now: number): ReadonlyArray<Call> => [
  call("workspaces.list", everything),
  ...idsOf(side, "workspace").flatMap((id) => ofWorkspace(id, now)),
  ...present(side).flatMap((workspaceId) => [
    call("news.changedMessages", {
      workspaceId,
      position: 0,
      notBefore: now - 100 * day,
      limit: 1000,
    }),
    ...(["live", "test"] as const).map((mode) =>
      call("figures.presentFigures", { workspaceId, mode, now, countAtMost: 1000 }),
    ),
  ]),
  ...idsOf(side, "number").flatMap((id) => [
    call("numbers.find", id),
    call("numbers.callbackUrl", id),
    call("numbers.settings", [id]),
    call("numbers.getLinking", id),
    call("sessions.credentials", id),
    call("sessions.keys", id, "session", ["1", "2", "3"]),
    call("sessions.keys", id, "pre-key", ["1", "2", "3"]),
    call("sessions.holderOf", shardOf(id as NumberId)),
  ]),
  call("messages.byIds", idsOf(side, "message")),
  ...(side.known("message") as ReadonlyArray<Message>).flatMap((one) => ofMessage(one, now)),
  ...idsOf(side, "webhook").flatMap((id) => [
    call("webhooks.made", id),
    call("webhooks.attempts", id, everyAttempt, everything),
  ]),
  ...idsOf(side, "media").map((id) => call("media.find", id)),
  call("media.missing", idsOf(side, "media")),
  ...idsOf(side, "check").map((id) => call("numberChecks.results", id, null, everything)),
  ...idsOf(side, "reminder").flatMap((id) => [
    call("reminders.made", id),
    call("reminders.runs", id, everything),
  ]),
  ...["first", "second", "third"].map((name) => call("webhooks.findSubscription", name)),
  ...["One", "Two", "Öne", "one"].map((name) => call("system.getSecret", name)),
  call("webhooks.readEvents", 0, 1000),
  call("messages.expired", now, 1000),
  call("messages.dueTest", now, 1000, 1000),
  call("messages.orphaned", 1000),
  call("numbers.lapsedLinkings", now, 1000),
  call("numbers.dueTestLinkings", now, 1000),
  call("reminders.due", now, 1000),
  call("queue.earliestDue"),
  call("queue.workload", now),
  call("sessions.list"),
  call("sessions.holders"),
  call("system.figures", now, 1000),
  call("system.processes", 100),
  call("system.clockOffset"),
  call("system.epoch"),
  call("system.heldCounts"),
  call("system.retainedWorkspaces", 0, 1000),
]
