/**
 * Connected live numbers: what each takes of memory, and how long it takes until all are connected,
 * in the worker's process and in one of bare sockets.
 */
import { Effect } from "effect"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { check } from "../measuring/checks.ts"
import { memoryOf, openStage, untilQuiet } from "../live/stage.ts"
import type { Side } from "../live/stage.ts"
import type { Setup } from "../Setup.ts"

const bytesOf = (side: Side, devices: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { program } = yield* side.start(devices)
      yield* untilQuiet(program)
      return (yield* memoryOf(program)).rss
    }),
  )

const stageOf = ({ database, sizes }: Setup) =>
  Effect.flatMap(database, (made) => openStage(made, sizes.sessions))

const sides = ["service", "bare"] as const

const notes = (sessions: number) => [
  `${sessions} numbers in one process, linked before and connected again by a new process`,
  "service: the worker as it is run, with its store on PostgreSQL; bare: sockets of the library alone, with keys in an SQLite file that waits for no disk",
]

export const sessionRow: Row = {
  id: "sessions",
  title: "memory of a connected session / of a bare socket",
  prepare: Effect.fnUntraced(function* (setup) {
    const { sessions } = setup.sizes
    const stage = yield* stageOf(setup)
    const candidates: Array<Candidate> = []
    for (const name of sides) {
      const one = yield* bytesOf(stage[name], 1)
      candidates.push({
        name,
        run: Effect.gen(function* () {
          const all = yield* bytesOf(stage[name], sessions)
          yield* check(
            "complaints",
            (yield* stage.farSide<Array<string>>({ ask: "complaints" })).length,
            0,
          )
          // The few sessions of a smoke run drown in what a process takes by itself.
          return Math.max(1, (all - one) / (sessions - 1) / 1024)
        }),
      })
    }
    return {
      unit: "kB",
      candidates,
      ratios: [{ name: "service / bare", of: "service", by: "bare", limit: { atMost: 1.3 } }],
      notes: [
        ...notes(sessions),
        "resident memory once the process is quiet and its garbage is collected, less that of a process with one session",
      ],
    }
  }),
}

export const connectRow: Row = {
  id: "connect",
  title: "until all live numbers are connected",
  prepare: Effect.fnUntraced(function* (setup) {
    const { sessions } = setup.sizes
    const stage = yield* stageOf(setup)
    return {
      unit: "ms",
      candidates: sides.map((name) => ({
        name,
        run: Effect.scoped(
          Effect.map(stage[name].start(sessions), ({ connected }) => connected.millis),
        ),
      })),
      ratios: [{ name: "service / bare", of: "service", by: "bare", limit: null }],
      notes: [
        ...notes(sessions),
        "from the first login to the last; the service opens a few at a time, the bare sockets all at once",
      ],
    }
  }),
}
