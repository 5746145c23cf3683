/** Faults planted in answers, the bodies of events, and the rights of keys. */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

const messages = "core/src/message/Messages.ts"
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
    name: "links: an expired or tested message leads to a deleted file",
    within: 5,
    edits: [
      edit(dispatcher, "yield* markMissing(yield* due(store, now))", "yield* due(store, now)"),
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
        "core/src/event/MessageChange.ts",
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
]
