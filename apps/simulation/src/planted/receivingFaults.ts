/** Faults planted in what stores people's messages. */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

export const receivingFaults: ReadonlyArray<PlantedFault> = [
  {
    name: "received: a repeat is stored again",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/chats.ts",
        "if (before !== undefined) return takeCopy(tables, before.id, { eventId, incoming, link }, now)",
        "",
      ),
    ],
  },
  {
    name: "received: the key is stored before its message",
    within: 300,
    edits: [
      edit(
        "core/src/service/Sessions.ts",
        "return store.receive(...write, all).pipe(",
        "return Effect.andThen(store.write(...write), store.receive(numberId, null, [], now, fence, all)).pipe(",
      ),
    ],
  },
  {
    name: "received: the message is stored before its key",
    within: 300,
    edits: [
      edit(
        "core/src/service/Sessions.ts",
        "return store.receive(...write, all).pipe(",
        "return store.receive(numberId, null, [], now, fence, all).pipe(Effect.tap(() => store.write(...write)),",
      ),
    ],
  },
  {
    name: "received: the receipt comes before the commit",
    within: 100,
    edits: [
      edit(
        "core/src/service/Sessions.ts",
        "return Effect.map(timeStoring(numberId, counted), () => outcomes)",
        "return Effect.as(Effect.forkDetach(timeStoring(numberId, counted)), outcomes)",
      ),
    ],
  },
  {
    name: "received: a write under an old term is acknowledged",
    within: 300,
    edits: [
      edit(
        "core/src/service/Sessions.ts",
        "if (!isWritten) return yield* new NumberMoved({ numberId })",
        "",
      ),
    ],
  },
  {
    name: "received: of several in a write the first alone is stored",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/sessions.ts",
        "outcomes = receive(tables, findLane(tables, numberId), received, now)",
        "outcomes = receive(tables, findLane(tables, numberId), received.slice(0, 1), now)",
      ),
    ],
  },
  {
    name: "received: the event is not in the commit",
    within: 1000,
    edits: [edit("store-memory/src/chats.ts", "  fanOut(tables, row.lane.workspace, event)\n", "")],
  },
  {
    name: "received: the sequence counts repeats",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/chats.ts",
        "if (before !== undefined) return takeCopy(tables, before.id, { eventId, incoming, link }, now)",
        'if (before !== undefined) return (lane.receivedSequence++, { id: before.id, became: "repeat" })',
      ),
    ],
  },
  {
    name: "received: a person's two chats stay two",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/chats.ts",
        "for (const other of others) mergeChat(tables, other, first)",
        "for (const other of others) void other",
      ),
    ],
  },
  {
    name: "received: a stranger edits",
    within: 1000,
    edits: [edit("store-memory/src/receive.ts", "|| isVerified || isAuthor(row)", "|| true")],
  },
  {
    name: "received: a repeated edit undoes a later one",
    within: 1000,
    edits: [edit("core/src/model/Received.ts", "if (isOld || message.kind", "if (message.kind")],
  },
  {
    name: "received: a wait for a copy is not kept",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/receive.ts",
        "lane.copyWaits.add({ message, toldAt: timeOfReceipt(lane, now) })",
        "",
      ),
    ],
  },
  {
    name: "received: a copy that comes late is a repeat",
    within: 1000,
    edits: [
      edit(
        "core/src/model/Received.ts",
        'message.kind === "unreadable" && message.revokedAt',
        "message.revokedAt !== null && message.revokedAt",
      ),
    ],
  },
]
