/**
 * Connections that the remote server ends, for every possible reason, and operators who repair the damage.
 */
import { NumberOperations, SessionVault } from "@messaging-service/core"
import type { NumberId, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import type { LineEnd, Switchboard } from "../faults/lines.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000

const ends: ReadonlyArray<LineEnd> = [
  "connection_lost",
  "connection_lost",
  "restart",
  "logged_out",
  "replaced",
  "restricted",
  "banned",
  "client_outdated",
]

/** Ends a number's connection. */
const end = (number: number, reason: LineEnd) => (stage: Stage) =>
  Effect.sync(() => {
    const id = stage.tenant.numbers[number]
    if (id !== undefined) stage.board?.end(id, reason)
  })

/**
 * Readmits the account, relinks the number where it has no session, and resumes it, as an operator
 * does. Fails where a process does not answer.
 */
const mend = Effect.fnUntraced(function* (
  workspace: WorkspaceId,
  id: NumberId,
  board: Switchboard,
) {
  board.letIn(id)
  const vault = yield* SessionVault
  if ((yield* vault.credentials(id)) === null) {
    yield* vault.exchange(id, null, board.link(id), [], { phone: board.toPhone(id) })
  }
  yield* NumberOperations.use((numbers) => numbers.resume("owner", workspace, id))
})

/** An operator repairs that number of the workspace, which ends its pauses too. */
export const mendOne = (number: number) => (stage: Stage) => {
  const { board, tenant } = stage
  const id = tenant.numbers[number]
  if (id === undefined || board === null) return Effect.void
  stage.mended(id)
  const call = stage.recordRequest({
    _tag: "Control",
    key: `pause ${id}`,
    numbers: [id],
    value: { _tag: "Open" },
    isProbe: false,
  })
  return stage.callProcess(mend(tenant.workspace, id, board)).pipe(
    Effect.tap(() => Effect.sync(() => stage.answered(call, { _tag: "Done" }))),
    Effect.ignore,
  )
}

export const lineEnds: Feature = {
  name: "lines",
  plan: ({ chance, count, instant, numbers }) => {
    const commands: Array<Command> = []
    for (let index = 0; index < count / 12; index++) {
      const number = chance.below(numbers)
      const reason = ends[chance.below(ends.length)] ?? "connection_lost"
      const at = instant()
      const back = at + chance.below(60 * second)
      commands.push(
        { at, name: `end ${number} ${reason}`, perform: end(number, reason) },
        { at: back, name: `mend ${number}`, perform: mendOne(number) },
      )
    }
    return commands
  },
}
