/** The embedded database on a disk that is full at every moment of its work, or fails otherwise. */
import { assert, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { join } from "node:path"
import { anEmbeddedDatabase } from "./databases.ts"

const program = join(import.meta.dirname, "embedded/filling.ts")

/** As long as it begins statements it does not hang, however slow the machine is. */
const endedUnlessSilent = (
  program: processes.ServiceProcess,
  length = 0,
): processes.ServiceProcess["ended"] =>
  program.ended.pipe(
    Effect.catch((silent) =>
      Effect.flatMap(program.stdout, (said) =>
        said.length > length ? endedUnlessSilent(program, said.length) : Effect.fail(silent),
      ),
    ),
  )

it.live(
  "a disk that is full at whichever write loses nothing acknowledged, hangs nothing and says so; with room again it goes on",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* anEmbeddedDatabase
      const control = join(yield* processes.temporaryDirectory, "fault")
      const { variables } = processes.faultyDisk(dataDir, control)
      const rounds = 40
      // Each round has room for one write more than the one before.
      const args = [dataDir, control, String(rounds), "1"]
      const filling = yield* processes.start(program, variables, args)
      const { code, stderr, stdout } = yield* endedUnlessSilent(filling)
      assert.strictEqual(code, 0, stderr)
      const last = stdout.trim().split("\n").at(-1) ?? ""
      const { acknowledged, faults, lost, refusals } = JSON.parse(last)
      assert.deepStrictEqual([lost, faults], [[], []])
      assert.isAtLeast(refusals, rounds / 2)
      assert.isAtLeast(acknowledged, rounds)
    }),
)

it.live("a database that opens again on a disk that never answers does not hold up a close", () =>
  Effect.gen(function* () {
    const dataDir = yield* anEmbeddedDatabase
    const control = join(yield* processes.temporaryDirectory, "fault")
    const { variables } = processes.faultyDisk(dataDir, control)
    const closing = join(import.meta.dirname, "embedded/closing.ts")
    const started = yield* processes.start(closing, variables, [dataDir, control])
    const { code, stderr } = yield* started.ended
    assert.strictEqual(code, 0, stderr)
  }),
)
