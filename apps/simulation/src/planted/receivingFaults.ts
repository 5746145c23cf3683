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
        "if (before !== undefined) return { id: before.id, isNew: false }",
        "",
      ),
    ],
  },
  {
    name: "received: a write under an old term is acknowledged",
    within: 1000,
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
        "receive(tables, findLane(tables, numberId), received, now)",
        "receive(tables, findLane(tables, numberId), received.slice(0, 1), now)",
      ),
    ],
  },
  {
    name: "received: the event is not in the commit",
    within: 1000,
    edits: [edit("store-memory/src/chats.ts", "  fanOut(tables, owner, event)\n", "")],
  },
  {
    name: "received: the sequence counts repeats",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/chats.ts",
        "if (before !== undefined) return { id: before.id, isNew: false }",
        "if (before !== undefined) return (lane.receivedSequence++, { id: before.id, isNew: false })",
      ),
    ],
  },
  {
    name: "received: a person's two chats stay two",
    within: 1000,
    edits: [
      edit(
        "store-memory/src/chats.ts",
        "for (const other of others) mergeChat(other, first)",
        "for (const other of others) void other",
      ),
    ],
  },
]
