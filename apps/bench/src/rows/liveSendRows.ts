/** Messages of live numbers: how many a second, and what each takes of the processor. */
import { Effect, Fiber } from "effect"
import { emptyOut, loadWaiting } from "../database/fixture.ts"
import { check, checkSent } from "../measuring/checks.ts"
import type { Comparison, Row } from "../measuring/Comparison.ts"
import { openStage, processorOf, recipient, untilQuiet } from "../live/stage.ts"
import type { Sent, SendOrder, Spell } from "../live/orders.ts"
import type { Program } from "../live/programs.ts"
import type { Setup } from "../Setup.ts"
import { waitUntilSettled } from "./waitUntilSettled.ts"

/** Both processes with their numbers connected, and a run of each that sends from all of them. */
const openSenders = Effect.fnUntraced(function* ({ database, sizes }: Setup) {
  const { liveMessages: each, liveNumbers: numbers } = sizes
  const count = numbers * each
  const stage = yield* openStage(yield* database, numbers)
  const service = yield* stage.service.start(numbers)
  const bare = yield* stage.bare.start(numbers)
  const copies = stage.farSide<number>({ ask: "copies", number: recipient })

  /** Sends, and says what the process took while all messages came. */
  const measured = <E>(program: Program, send: Effect.Effect<unknown, E>) =>
    Effect.gen(function* () {
      yield* untilQuiet(program)
      const shown = yield* copies
      const before = yield* processorOf(program)
      const arrived = yield* Effect.forkChild(
        stage.farSide<Spell>({ ask: "arrivals", number: recipient, shown, more: count }),
        { startImmediately: true },
      )
      yield* send
      const { millis } = yield* Fiber.join(arrived)
      yield* untilQuiet(program)
      const { micros } = yield* processorOf(program)
      yield* check("messages shown", (yield* copies) - shown, count)
      return { perSecond: (count - 1) / (millis / 1000), micros: (micros - before.micros) / count }
    })
  const order: SendOrder = {
    ask: "send",
    sockets: numbers,
    each,
    to: `${recipient}@s.whatsapp.net`,
  }
  return {
    service: Effect.gen(function* () {
      yield* emptyOut(stage.database)
      const figures = yield* measured(
        service.program,
        loadWaiting(stage.database, count, { from: 1, to: numbers }),
      )
      yield* waitUntilSettled(stage.database)
      yield* checkSent(stage.database, count, count)
      return figures
    }),
    bare: measured(
      bare.program,
      Effect.flatMap(bare.program.ask(order), (told) =>
        check("messages acknowledged", (told as Sent).times.length, count),
      ),
    ),
  }
})

type Senders = Effect.Success<ReturnType<typeof openSenders>>
type Figure = Effect.Success<Senders["bare"]>

const rowOf = (
  head: Pick<Row, "id" | "title">,
  figure: keyof Figure,
  comparison: Pick<Comparison, "unit" | "ratios">,
): Row => ({
  ...head,
  prepare: Effect.fnUntraced(function* (setup) {
    const senders = yield* openSenders(setup)
    const { liveMessages, liveNumbers } = setup.sizes
    return {
      ...comparison,
      candidates: (["service", "bare"] as const).map((name) => ({
        name,
        run: Effect.map(senders[name], (figures) => figures[figure]),
      })),
      notes: [
        `${liveMessages} texts of each of ${liveNumbers} numbers to a person; the next once the one before it is acknowledged`,
        "service: the worker as it is run, from messages that wait in PostgreSQL to what became of them; bare: sockets of the library alone, a loop over each, with keys in an SQLite file that waits for no disk",
        "the far side, which decrypts every message, shares the processors",
      ],
    }
  }),
})

const over = (limit: Comparison["ratios"][number]["limit"]): Comparison["ratios"] => [
  { name: "service / bare", of: "service", by: "bare", limit },
]

export const liveRateRow = rowOf(
  { id: "live", title: "messages a second over live numbers" },
  "perSecond",
  { unit: "per second", ratios: over(null) },
)

export const liveProcessorRow = rowOf(
  { id: "live-processor", title: "processor time of a live message / of a bare socket's" },
  "micros",
  { unit: "µs", ratios: over({ atMost: 1.3 }) },
)
