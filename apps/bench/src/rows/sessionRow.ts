/**
 * Connected live numbers of one platform: what each takes of memory and, to be connected, of the processor,
 * and how long it takes until all are connected; in the worker's process and in one of the bare library.
 */
import { Effect } from "effect"
import type { Candidate, RatioClaim, Row, Unit } from "../measuring/Comparison.ts"
import { check } from "../measuring/checks.ts"
import { toFigures } from "../measuring/rounds.ts"
import { telegram, whatsApp } from "../live/platforms.ts"
import type { Platform } from "../live/platforms.ts"
import { getMemory, openStage, getProcessor, untilIdle } from "../live/stage.ts"
import type { Side, Stage } from "../live/stage.ts"
import type { Sizes } from "../Setup.ts"

/** A new process with so many devices, once it has nothing left to do. */
const started = (side: Side, devices: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { connected, program } = yield* side.start(devices)
      yield* untilIdle(program, devices)
      const { micros } = yield* getProcessor(program)
      const { held, resident } = yield* getMemory(program)
      return { held, resident, micros, millis: connected.millis }
    }),
  )

type Started = Effect.Success<ReturnType<typeof started>>

/** What each of the sessions takes, above a process with one. */
const figures: ReadonlyArray<{
  readonly name: string
  readonly unit: Unit
  readonly limit: RatioClaim["limit"]
  readonly of: (all: Started, one: Started, sessions: number) => number
}> = [
  {
    name: "memory held",
    unit: "kB",
    limit: { atMost: 1.3 },
    of: (all, one, sessions) => (all.held - one.held) / (sessions - 1) / 1024,
  },
  {
    name: "memory resident",
    unit: "kB",
    limit: { atMost: 1.3 },
    of: (all, one, sessions) => (all.resident - one.resident) / (sessions - 1) / 1024,
  },
  {
    name: "processor time to connect",
    unit: "ms",
    limit: null,
    of: (all, one, sessions) => (all.micros - one.micros) / (sessions - 1) / 1000,
  },
  { name: "until all are connected", unit: "ms", limit: null, of: ({ millis }) => millis },
]

const getCandidates = (stage: Stage, side: Side, sessions: number) => {
  let one: Started | undefined
  const run = toFigures(
    Effect.gen(function* () {
      // The first round, which does not count, is that of one session, before the others are linked.
      const all = yield* started(side, one === undefined ? 1 : sessions)
      one ??= all
      const complaints = yield* stage.remoteServer<Array<string>>({ kind: "complaints" })
      yield* check("complaints", complaints.length, 0)
      return { all, one }
    }),
  )
  return figures.map(({ name, of, unit }): Candidate => ({
    name: `${side.name}: ${name}`,
    unit,
    // The few sessions of a smoke run drown in what a process takes by itself.
    run: run((reported) => Math.max(1, of(reported.all, reported.one, sessions))),
  }))
}

const makeSessionRow = (
  platform: Platform,
  { id, noun }: { readonly id: string; readonly noun: string },
  getCount: (sizes: Sizes) => number,
  notes: ReadonlyArray<string>,
): Row => ({
  id,
  title: `a connected ${noun} / one of ${platform.bareName}`,
  prepare: Effect.fnUntraced(function* prepare({ database, sizes }) {
    const sessions = getCount(sizes)
    const stage = yield* openStage(platform, yield* database, sessions)
    return {
      unit: "kB",
      candidates: [
        ...getCandidates(stage, stage.service, sessions),
        ...getCandidates(stage, stage.bare, sessions),
      ],
      ratios: figures.map(({ limit, name }) => ({
        name,
        numerator: `service: ${name}`,
        denominator: `bare: ${name}`,
        limit,
      })),
      notes: [
        `${sessions} numbers in one process, linked before and connected again by a new process for each round; what each of them takes above a process with one`,
        ...notes,
        "held: objects and buffers; resident: what the system gave to the process; both once it is quiet and its garbage is collected",
        "connected: from the first to the last; both open eight at a time, the service no more than 40 a second",
      ],
    }
  }),
})

export const sessionRow = makeSessionRow(
  whatsApp,
  { id: "sessions", noun: "live number" },
  ({ sessions }) => sessions,
  [
    "service: the worker as it is run, with its store on PostgreSQL; bare: sockets of the library alone, with keys in an SQLite file that waits for no disk",
  ],
)

export const telegramSessionRow = makeSessionRow(
  telegram,
  { id: "telegram-sessions", noun: "Telegram account" },
  ({ telegramSessions }) => telegramSessions,
  [
    "service: the worker as it is run, with its store on PostgreSQL; bare: clients of the library alone, which keep everything in memory",
  ],
)
