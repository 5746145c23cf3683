/**
 * Messages of live numbers: how many a second, the processor time of each, and how long one message
 * takes in an idle service.
 */
import { Messages } from "@messaging-service/core"
import { layerWakeUp } from "@messaging-service/store-postgres"
import { Context, Effect, Fiber, Layer } from "effect"
import { emptyOut, loadWaiting } from "../database/fixture.ts"
import { steadyMillis } from "../live/commands.ts"
import type { Sent, SendCommand, Timing } from "../live/commands.ts"
import { telegram, whatsApp } from "../live/platforms.ts"
import type { Platform } from "../live/platforms.ts"
import type { Program } from "../measuring/programs.ts"
import { openStage, getProcessor, recipient, untilIdle } from "../live/stage.ts"
import type { Stage } from "../live/stage.ts"
import { CheckFailed } from "../measuring/checks.ts"
import { check, checkSent } from "../measuring/checks.ts"
import type { Candidate, RatioClaim, Row, Unit } from "../measuring/Comparison.ts"
import { toFigures, median } from "../measuring/rounds.ts"
import { layerService, noticingAcceptance } from "../serving/service.ts"
import type { Setup, Sizes } from "../Setup.ts"
import { storeOn } from "../Setup.ts"
import { toCaller } from "./toCaller.ts"
import { waitUntilSettled } from "./waitUntilSettled.ts"

/** Between two single messages: a process reports work no more often than this. */
const idleMillis = 120

/** The times of a single message; steady clock. */
interface Way {
  readonly began: number
  readonly visible: number
  readonly acknowledged: number
}

/** Accepts messages in this process, which has no worker. PostgreSQL wakes the workers. */
const openAcceptance = Effect.fnUntraced(function* openAcceptance({ database }: Stage) {
  let accepted = 0
  const { path, username } = database
  const options = { database: database.database, path, username }
  const wakeUp = noticingAcceptance(layerWakeUp(options), () => {
    accepted = steadyMillis()
  })
  const service = yield* Layer.build(
    layerService().pipe(Layer.provideMerge(Layer.merge(storeOn(database, 2), wakeUp))),
  ).pipe(Effect.orDie)
  const messages = Context.get(service, Messages)
  /** Sends from the number of the workspace. Gives the message's id and when it was accepted. */
  return Effect.fnUntraced(
    function* accept(workspace: number) {
      const command = {
        from: workspace,
        to: { phone: `+${recipient}` },
        text: "Hello from the benchmark",
      }
      const sent = yield* messages.send(toCaller({ id: workspace }), command, null)
      return { id: sent.messages[0]?.id ?? 0, began: accepted }
    },
    Effect.mapError(({ message }) => new CheckFailed({ message })),
  )
})

/** Both processes with their numbers connected. */
interface Connected {
  readonly stage: Stage
  readonly worker: Program
  /** The bare library. */
  readonly sockets: Program
  readonly accept: Effect.Success<ReturnType<typeof openAcceptance>>
  /** Single messages, one after the other. */
  readonly calls: number
  /** Messages of each number. */
  readonly each: number
  readonly numbers: number
  /** Messages of all numbers. */
  readonly count: number
}

const copies = ({ stage }: Connected) =>
  stage.remoteServer<number>({ kind: "copies", number: recipient })

const requestSends = (
  { sockets }: Connected,
  texts: Pick<SendCommand, "first" | "sockets" | "each">,
) =>
  Effect.map(
    sockets.request({ kind: "send", to: recipient, ...texts }),
    (reported) => (reported as Sent).texts,
  )

/** Sends, and waits until the recipient was shown this many more messages. */
const untilVisible = <A, E>(both: Connected, more: number, send: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const visible = yield* copies(both)
    const arrived = yield* Effect.forkChild(
      both.stage.remoteServer<Timing>({ kind: "awaitArrivals", number: recipient, visible, more }),
      { startImmediately: true },
    )
    const result = yield* send
    const timing = yield* Fiber.join(arrived)
    yield* check("messages shown", (yield* copies(both)) - visible, more)
    return { result, timing }
  })

/** All numbers send at once. */
const crowd = <E>(both: Connected, program: Program, send: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    yield* untilIdle(program, both.numbers)
    const before = yield* getProcessor(program)
    const { timing } = yield* untilVisible(both, both.count, send)
    yield* untilIdle(program, both.numbers)
    const { micros } = yield* getProcessor(program)
    return {
      perSecond: (both.count - 1) / (timing.millis / 1000),
      micros: (micros - before.micros) / both.count,
    }
  })

/** The numbers send in turn, one message at a time, with a pause before each. */
const alone = Effect.fnUntraced(function* alone(
  { calls, numbers }: Connected,
  one: (index: number) => Effect.Effect<Way, CheckFailed>,
) {
  const ways: Array<Way> = []
  for (let call = 0; call < calls; call++) {
    yield* Effect.sleep(idleMillis)
    ways.push(yield* one(call % numbers))
  }
  return {
    visible: median(ways.map(({ began, visible }) => visible - began)),
    acknowledged: median(ways.map(({ acknowledged, began }) => acknowledged - began)),
  }
})

const isSent = ({ stage }: Connected, id: number) =>
  stage.database.count(
    "select count(*) from messages where id = $1 and state in ('sent', 'delivered', 'read')",
    [id],
  )

const untilSent = Effect.fnUntraced(function* untilSent(both: Connected, id: number) {
  while ((yield* isSent(both, id)) === 0) yield* Effect.sleep(1)
  return steadyMillis()
})

const runService = Effect.fnUntraced(function* runService(both: Connected) {
  const { accept, calls, count, numbers, stage, worker } = both
  yield* emptyOut(stage.database)
  const figures = yield* crowd(
    both,
    worker,
    loadWaiting(stage.database, count, { from: 1, to: numbers }),
  )
  yield* waitUntilSettled(stage.database)
  const ways = yield* alone(both, (index) =>
    Effect.gen(function* () {
      const { result, timing } = yield* untilVisible(
        both,
        1,
        Effect.gen(function* () {
          const { began, id } = yield* accept(index + 1)
          return { began, acknowledged: yield* untilSent(both, id) }
        }),
      )
      return { ...result, visible: timing.ended }
    }),
  )
  yield* waitUntilSettled(stage.database)
  yield* checkSent(stage.database, count + calls, count + calls)
  return { ...figures, ...ways }
})

const runBare = Effect.fnUntraced(function* runBare(both: Connected) {
  const { count, each, numbers, sockets } = both
  const figures = yield* crowd(
    both,
    sockets,
    Effect.flatMap(requestSends(both, { first: 0, sockets: numbers, each: each }), ({ length }) =>
      check("messages acknowledged", length, count),
    ),
  )
  const ways = yield* alone(both, (index) =>
    Effect.gen(function* () {
      const { result, timing } = yield* untilVisible(
        both,
        1,
        requestSends(both, { first: index, sockets: 1, each: 1 }),
      )
      const [text = { began: 0, acknowledged: 0 }] = result
      return { ...text, visible: timing.ended }
    }),
  )
  return { ...figures, ...ways }
})

/** Connects the numbers of both processes. Gives a run of each. */
const openSenders = Effect.fnUntraced(function* openSenders(
  platform: Platform,
  { database, sizes }: Setup,
) {
  const { liveCalls: calls, liveMessages: each, liveNumbers: numbers } = sizes
  const stage = yield* openStage(platform, yield* database, numbers)
  const { program: worker } = yield* stage.service.start(numbers)
  const { program: sockets } = yield* stage.bare.start(numbers)
  const accept = yield* openAcceptance(stage)
  const count = numbers * each
  const both: Connected = { stage, worker, sockets, accept, calls, each, numbers, count }
  return { service: toFigures(runService(both)), bare: toFigures(runBare(both)) }
})

type Senders = Effect.Success<ReturnType<typeof openSenders>>

/** Report of each run. */
interface Figures {
  readonly perSecond: number
  readonly micros: number
  readonly visible: number
  readonly acknowledged: number
}

const figures: ReadonlyArray<{
  readonly name: string
  readonly unit: Unit
  readonly limit: RatioClaim["limit"]
  readonly of: (run: Figures) => number
}> = [
  {
    name: "processor time of a message",
    unit: "µs",
    limit: { atMost: 1.3 },
    of: ({ micros }) => micros,
  },
  { name: "messages", unit: "per second", limit: null, of: ({ perSecond }) => perSecond },
  { name: "until the recipient has it", unit: "ms", limit: null, of: ({ visible }) => visible },
  {
    name: "until it is acknowledged",
    unit: "ms",
    limit: null,
    of: ({ acknowledged }) => acknowledged,
  },
]

const getCandidates = (senders: Senders, name: keyof Senders) =>
  figures.map((figure): Candidate => ({
    name: `${name}: ${figure.name}`,
    unit: figure.unit,
    run: senders[name](figure.of),
  }))

const getNotes = ({ liveCalls, liveMessages, liveNumbers }: Sizes, bare: string) => [
  `rate and processor time: ${liveMessages} texts of each of ${liveNumbers} numbers to a person; the next once the one before it is acknowledged`,
  `service: the worker as it is run, from messages that wait in PostgreSQL to what became of them; bare: ${bare}`,
  `times: ${liveCalls} texts one after the other; of the service, from the commit of the acceptance in another process, and acknowledged means that PostgreSQL has it as sent; of the bare library, from its call`,
  "the remote server, which decrypts every message, shares the processors",
]

const makeLiveRow = (platform: Platform, id: string, noun: string, bare: string): Row => ({
  id,
  title: `messages of ${noun} / of ${platform.bareName}`,
  prepare: Effect.fnUntraced(function* prepare(setup) {
    const senders = yield* openSenders(platform, setup)
    return {
      unit: "ms",
      candidates: [...getCandidates(senders, "service"), ...getCandidates(senders, "bare")],
      ratios: figures.map(({ limit, name }) => ({
        name,
        numerator: `service: ${name}`,
        denominator: `bare: ${name}`,
        limit,
      })),
      notes: getNotes(setup.sizes, bare),
    }
  }),
})

export const liveRow = makeLiveRow(
  whatsApp,
  "live",
  "live numbers",
  "sockets of the library alone, a loop over each, with keys in an SQLite file that waits for no disk",
)

export const telegramLiveRow = makeLiveRow(
  telegram,
  "telegram-live",
  "Telegram accounts",
  "clients of the library alone, a loop over each, which keep everything in memory",
)
