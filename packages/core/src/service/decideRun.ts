/**
 * What a run of a reminder sends: what POST /messages would accept now, or the code of its refusal
 * (contract: Reminder runs). The loop asks when a run is due, an operator asks to run it at once.
 */
import { Effect, Result } from "effect"
import type { Code } from "../model/Refusal.ts"
import type { NumberId } from "../model/Ids.ts"
import type { Sender } from "../model/Auth.ts"
import type { makeAcceptor } from "./Messages.ts"
import { roomiest, runRequest, withoutReminders } from "../model/Reminder.ts"
import type { ReminderToRun } from "../model/Reminder.ts"
import { sendRefusal } from "../model/Workspace.ts"

type Acceptor = Effect.Success<typeof makeAcceptor>

/** The request with the number to send from, and its facts. */
const load = Effect.fnUntraced(function* load(
  acceptor: Acceptor,
  { previousNumberId, reminder }: ReminderToRun,
  sender: Sender,
  now: number,
  recount: boolean,
) {
  const request = runRequest(reminder)
  const loadFrom = (from: NumberId | null) =>
    Effect.map(acceptor.load(sender, { ...request, from }, now, null, recount), (facts) => ({
      request: { ...request, from },
      facts,
    }))
  if (reminder.from !== null) return yield* loadFrom(reminder.from)
  const facts = yield* acceptor.loadConnected(sender, request, now)
  const named = roomiest(reminder.to, facts)
  if (named !== null) {
    return {
      request: { ...request, from: named.number.id },
      facts: { ...facts, named, connected: [] },
    }
  }
  // None is connected: the message waits for the previous run's number.
  const previous = previousNumberId === null ? null : yield* loadFrom(previousNumberId)
  return previous === null || previous.facts.named === null ? { request, facts } : previous
})

/** `recount` counts the quota exactly: the previous commit found the facts wrong. */
export const decideRun = Effect.fnUntraced(function* decideRun(
  acceptor: Acceptor,
  toRun: ReminderToRun,
  now: number,
  recount: boolean,
) {
  const { reminder, workspace } = toRun
  const refused = (code: Code) => Result.fail(code)
  const barred = sendRefusal(workspace)
  if (barred !== undefined) return refused(barred)
  const sender: Sender = {
    workspaceId: reminder.workspaceId,
    mode: reminder.mode,
    numberIds: null,
  }
  const { facts, request } = yield* load(acceptor, toRun, sender, now, recount)
  const notInPlan = withoutReminders(facts.plan)
  if (notInPlan !== undefined) return refused(notInPlan.code)
  const decided = yield* Effect.result(acceptor.decide(sender, request, facts, now, null))
  return Result.isFailure(decided) ? refused(decided.failure.code) : Result.succeed(decided.success)
})
