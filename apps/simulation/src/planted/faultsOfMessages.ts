/**
 * Faults of acceptance, lanes, attempts, ends, test mode and the loops, against the promises about
 * single messages.
 */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

const lane = "store-memory/src/lanes.ts"
const laneQueue = "store-memory/src/laneQueue.ts"
const messageStore = "store-memory/src/messages.ts"
const acceptance = "store-memory/src/messages.ts"
const callersTransactions = "store-memory/src/testControls.ts"
const reminderStore = "store-memory/src/reminders.ts"
const attemptOutcome = "core/src/worker/Dispatcher.ts"
const messageRules = "core/src/model/Message.ts"
const idempotency = "core/src/model/Idempotency.ts"
const loop = "core/src/worker/LeaseLoop.ts"

export const faultsOfMessages: ReadonlyArray<PlantedFault> = [
  {
    name: "a scheduled message leaves a second early",
    within: 30,
    edits: [
      edit(
        "core/src/model/Lane.ts",
        "Math.min(nextDue ?? change.dueAt, change.dueAt), rests",
        "Math.min(nextDue ?? change.dueAt, change.dueAt) - 1000, rests",
      ),
      edit(
        laneQueue,
        "row !== lane.inDoubt && row.message.dueAt > now",
        "row !== lane.inDoubt && row.message.dueAt - 1000 > now",
      ),
    ],
  },
  {
    name: "a lane forgets the order of due times",
    within: 20,
    edits: [
      edit(
        "store-memory/src/tables.ts",
        "a.message.dueAt - b.message.dueAt || a.message.id - b.message.id",
        "b.message.id - a.message.id",
      ),
    ],
  },
  {
    name: "quota: one too few",
    within: 10,
    edits: [
      edit(
        "core/src/model/Message.ts",
        "exact.planned + count <= limit.messages",
        "exact.planned + count < limit.messages",
      ),
      edit(
        "core/src/model/Message.ts",
        "bound + count <= limit.messages",
        "bound + count < limit.messages",
      ),
    ],
  },
  {
    name: "quota: what is cancelled goes on filling it",
    within: 10,
    edits: [
      edit(
        lane,
        "    lane.counting.delete(row)\n    lane.fullUntil = null",
        "    lane.fullUntil = null",
      ),
    ],
  },
  {
    name: "quota: a number that was full stays full",
    within: 10,
    edits: [
      edit(
        lane,
        "    lane.counting.delete(row)\n    lane.fullUntil = null",
        "    lane.counting.delete(row)",
      ),
    ],
  },
  {
    name: "allowance: one too few",
    within: 10,
    edits: [
      edit(
        acceptance,
        "!coversMessages(lane.workspace.workspace.plan, allowance)",
        "!coversMessages(lane.workspace.workspace.plan, allowance + 1)",
      ),
    ],
  },
  {
    name: "a disabled workspace's test messages leave",
    within: 10,
    edits: [
      edit(
        lane,
        'row.message.mode === "test" && !isDisabled(row.lane)',
        'row.message.mode === "test"',
      ),
    ],
  },
  {
    name: "enabling a workspace wakes no test messages",
    within: 10,
    edits: [
      edit(
        "core/src/service/Workspaces.ts",
        'Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("test_messages"))',
        'wakeUp.wake("lanes")',
      ),
    ],
  },
  {
    name: "a reminder that is held between its look and its run runs",
    within: 10,
    edits: [
      edit(
        "store-memory/src/workspaces.ts",
        "nextRunAt: null, revision: revision + 1",
        "nextRunAt: null, revision",
      ),
    ],
  },
  {
    name: "a cancel in a caller's transaction announces its end before the commit",
    within: 200,
    edits: [
      edit(
        callersTransactions,
        "import { finish, isLeased, plannedAfter }",
        "import { finish, isLeased, plannedAfter, tell }",
      ),
      edit(
        callersTransactions,
        "    transaction.staged.push({ change, lane })",
        "    if (lane !== null) tell(tables, lane.workspace, change)\n    transaction.staged.push({ change, lane })",
      ),
    ],
  },
  {
    name: "a cancel in a caller's transaction does not refuse what is in flight",
    within: 200,
    edits: [
      edit(
        "core/src/service/Messages.ts",
        'if (inFlight && message.state === "waiting") {',
        'if (inFlight && message.state === "waiting" && !isJoined) {',
      ),
      edit(callersTransactions, " && !isLeased(row)\n", "\n"),
    ],
  },
  {
    name: "a batch is written in part",
    within: 10,
    edits: [
      edit(
        acceptance,
        "const message of acceptance.messages)",
        "const message of acceptance.messages.slice(0, 2))",
      ),
    ],
  },
  {
    name: "a test message is sent",
    within: 10,
    edits: [
      edit(
        lane,
        'if (message.mode === "test") {\n    lane.waitingTest.add(row)',
        'if (message.mode === "test" && message.id < 0) {\n    lane.waitingTest.add(row)',
      ),
    ],
  },
  {
    name: "a test message takes from the allowance",
    within: 10,
    edits: [
      edit(
        "core/src/model/accept.ts",
        'allowance: mode === "test" ? 0 : planned.count',
        "allowance: planned.count",
      ),
    ],
  },
  {
    name: "cancelling gives nothing back",
    within: 10,
    edits: [
      edit(
        messageRules,
        'event: "message.cancelled", refunds: true',
        'event: "message.cancelled", refunds: false',
      ),
    ],
  },
  {
    name: "what failed is given back",
    within: 10,
    edits: [
      edit(
        messageRules,
        'event: "message.failed", refunds: false',
        'event: "message.failed", refunds: true',
      ),
    ],
  },
  {
    name: "the allowance is given back twice",
    within: 10,
    edits: [
      edit(lane, "withMessages(owner.workspace.plan, 1)", "withMessages(owner.workspace.plan, 2)"),
    ],
  },
  {
    name: "a cancelled message has no event",
    within: 10,
    edits: [
      edit(
        lane,
        "tell(tables, lane.workspace, change)\n  row.campaign",
        'if (change.message.state !== "cancelled") tell(tables, lane.workspace, change)\n  row.campaign',
      ),
    ],
  },
  {
    name: "the event is written before the lease is checked",
    within: 10,
    edits: [
      edit(
        laneQueue,
        "  if (lane === undefined || inFlight === null) return undefined\n",
        `  if (lane === undefined || inFlight === null) {
    const owner = tables.lanes.get(numberId)?.workspace
    if (owner !== undefined && settlement._tag === "Ended") tell(tables, owner, settlement.change)
    return undefined
  }
`,
      ),
    ],
  },
  {
    name: "an attempt is repeated although copies are shown",
    within: 10,
    edits: [edit(attemptOutcome, "const abandoned = !dropsCopies || ", "const abandoned = ")],
  },
  {
    name: "what may have left is taken for what never did",
    within: 10,
    edits: [edit(attemptOutcome, "if (!isOutcomeUnknown(claimed)) {", "if (claimed !== null) {")],
  },
  {
    name: "what may have left is reported as expired",
    within: 10,
    edits: [
      edit(
        attemptOutcome,
        "return removed || over || abandoned\n    ?",
        'if (over) return { trigger: "expire" }\n  return removed || abandoned ?',
      ),
    ],
  },
  {
    name: "an interruption is not counted",
    within: 60,
    edits: [edit(lane, 'if (attempt.unfinished !== "interrupted") return', "return")],
  },
  {
    name: "the end of a message is not guarded at the commit",
    within: 10,
    edits: [edit(messageStore, ' || row.message.state !== "waiting" || isLeased(row)', "")],
  },
  {
    name: "cancel does not ask again what is in flight at the commit",
    within: 547,
    edits: [edit(messageStore, " || isLeased(row)) continue", ") continue")],
  },
  {
    name: "a tick moves a state back",
    within: 45,
    edits: [
      edit(
        messageStore,
        "movedByTick[state].includes(row.message.state)",
        "row.message.sentAt !== null",
      ),
    ],
  },
  {
    name: "a tick moves what waits",
    within: 10,
    edits: [edit(messageStore, "movedByTick[state].includes(row.message.state)", "row !== null")],
  },
  {
    name: "idempotency: a finished record is kept for a second",
    within: 10,
    edits: [
      edit(
        idempotency,
        "answerRetentionMillis = 24 * 60 * 60 * 1000",
        "answerRetentionMillis = 1000",
      ),
    ],
  },
  {
    name: "idempotency: another request is answered with the first one's",
    within: 10,
    edits: [
      edit(
        idempotency,
        "outcome.record.fingerprint === requested.fingerprint",
        "outcome.record.fingerprint !== null",
      ),
    ],
  },
  {
    name: "a reminder's next run is the one that ran",
    within: 10,
    edits: [
      edit(
        "core/src/model/Reminder.ts",
        "nextRunAfter(schedule, now)",
        "nextRunAfter(schedule, now - 60_000)",
      ),
    ],
  },
  {
    name: "a reminder's run does not advance it in its commit",
    within: 20,
    edits: [
      edit(
        reminderStore,
        'advance(tables, row, run, { outcome: "accepted", messageId, code: null })',
        "void messageId",
      ),
    ],
  },
  {
    name: "a reminder's creation is not guarded",
    within: 50,
    edits: [
      edit(
        reminderStore,
        'if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }',
        "",
      ),
      edit(
        idempotency,
        "claim !== null && claim.token !== token && !isClaimVoid(claim.claimedAt, now)",
        "false",
      ),
    ],
  },
  {
    name: "a loop does not wait for what falls due",
    within: 10,
    edits: [
      edit(
        loop,
        "due === null ? Effect.never : Effect.raceFirst(Effect.sleep(due - now), clockJumped)",
        "Effect.never",
      ),
    ],
  },
  {
    name: "a loop closes its latch after it has looked",
    within: 150,
    unfound: "the loop asks what is due next after closing it, and so sees what came meanwhile",
    edits: [
      edit(loop, "yield* latch.close\n        const isNothing", "const isNothing"),
      edit(
        loop,
        "if (!found) yield* untilNext(options, latch, isNothing)",
        "yield* latch.close\n        if (!found) yield* untilNext(options, latch, isNothing)",
      ),
    ],
  },
]
