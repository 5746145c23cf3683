/** Faults planted in answers, the bodies of events, and the rights of keys. */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

const messages = "core/src/service/Messages.ts"
const dispatcher = "core/src/worker/Dispatcher.ts"

export const answerFaults: ReadonlyArray<PlantedFault> = [
  {
    name: "idempotency: a refusal keeps its key",
    within: 5,
    edits: [
      edit(
        messages,
        "Effect.onError(() => Effect.ignore(sending.store.releaseClaim(claim)))",
        "Effect.onError(() => Effect.void)",
      ),
    ],
  },
  {
    name: "kept: a refusal does not name what it left",
    within: 10,
    edits: [
      edit(
        messages,
        "detailed(refusal, { messageId: stored.message.id })",
        "detailed(refusal, {})",
      ),
    ],
  },
  {
    name: "kept: whatever the caller wants",
    within: 10,
    edits: [edit(messages, "terms.keepRefused && !request.batch", "!request.batch")],
  },
  {
    name: "kept: the first message of a batch too",
    within: 60,
    edits: [edit(messages, "terms.keepRefused && !request.batch", "terms.keepRefused")],
  },
  {
    name: "kept: what is left has no event",
    within: 10,
    edits: [
      edit(
        "store-memory/src/messages.ts",
        "row.eventPosition = tell(tables, lane.workspace, change)\n  return change",
        "return change",
      ),
    ],
  },
  {
    name: "links: a cancelled message leads to a deleted file",
    within: 5,
    edits: [edit(messages, "yield* marked(sending, message),", "message,")],
  },
  {
    name: "links: an expired or removed message leads to a deleted file",
    within: 5,
    edits: [
      edit(
        "core/src/service/makeEndings.ts",
        "Effect.map(markMissing(messages)",
        "Effect.map(Effect.succeed(messages)",
      ),
    ],
  },
  {
    name: "links: a failed message leads to a deleted file",
    within: 5,
    edits: [edit(dispatcher, 'trigger === "send_succeeded"\n', "trigger !== undefined\n")],
  },
  {
    name: "links: an answer leads to a deleted file",
    within: 5,
    edits: [edit(messages, "return yield* marked(sending, message)", "return message")],
  },
  {
    name: "links: no event leads to a file",
    within: 5,
    edits: [
      edit(
        "core/src/model/MessageChange.ts",
        "  url,\n  type,\n  file_name: fileName,",
        "  url: mediaId === null ? url : null,\n  type,\n  file_name: fileName,",
      ),
    ],
  },
  {
    name: "signatures: a retry has the secret of the first attempt",
    within: 5,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        ": lane.endpoint.secretSalt,",
        ": ((delivery as { salt?: string }).salt ??= lane.endpoint.secretSalt),",
      ),
    ],
  },
  {
    name: "keys: a limited one sends from every number",
    within: 30,
    edits: [
      edit("core/src/model/accept.ts", "if (!mayUse(sender, facts.named.number.id))", "if (false)"),
    ],
  },
  {
    name: "reminders: a paused one runs on",
    within: 40,
    edits: [
      edit(
        "core/src/model/Reminder.ts",
        "current.active &&\n    content.active &&",
        "current.active &&",
      ),
    ],
  },
  {
    name: "plans: a change keeps what was left",
    within: 5,
    edits: [
      edit(
        "core/src/service/Workspaces.ts",
        "...(input.plan === undefined ? {} : { plan: input.plan }),",
        "...(input.plan === undefined ? {} : { plan: current.plan }),",
      ),
    ],
  },
  {
    name: "deliveries: a recovery queues nothing",
    within: 60,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "queue(tables, row, { id: eventId, type, body, url: null }, now)\n      count++",
        "count++",
      ),
    ],
  },
  {
    name: "reminders: another schedule keeps the next time",
    within: 60,
    edits: [
      edit(
        "core/src/model/Reminder.ts",
        "content.cron === current.cron &&",
        "content.cron !== null &&",
      ),
    ],
  },
  {
    name: "a batch to a deleted contact is accepted",
    within: 100,
    edits: [
      edit(
        "core/src/model/accept.ts",
        "if (contact === undefined) {",
        'if (contact === undefined && request.batch) {\n          resolved.push({ kind: "phone", phone: "+15550001008" as never, contactId: null })\n          break\n        }\n        if (contact === undefined) {',
      ),
    ],
  },
]
