/**
 * What an attacker on this machine makes the server hold: counts and memory, no times. Each attack
 * runs once in a round. Its figures are candidates.
 */
import { sharedLimits } from "@messaging-service/core"
import { Effect } from "effect"
import { Client } from "undici"
import { check } from "../measuring/checks.ts"
import { CheckFailed } from "../measuring/checks.ts"
import type { Candidate, FigureClaim, Row } from "../measuring/Comparison.ts"
import { countsPath } from "../serving/AttackCounts.ts"
import type { AttackCounts } from "../serving/AttackCounts.ts"
import { connectionFlood, pipelineWrongKey, slowReadAttack } from "../serving/attacks.ts"
import { serveAttacked } from "../serving/processes.ts"
import type { Sizes } from "../Setup.ts"

const { connections, pipelinedRequests } = sharedLimits

/** The usual size of a pool. A growth of memory below the least counts as the least. */
const usualPool = 10
const minMebibytes = 0.1

type Attack = Effect.Effect<Readonly<Record<string, number>>, CheckFailed>

/** One candidate for each figure of an attack. A second read of a figure runs the attack again. */
const getFigures = (attack: Attack, names: ReadonlyArray<string>): ReadonlyArray<Candidate> => {
  const unread = new Map<string, number>()
  return names.map((name) => ({
    name,
    run: Effect.gen(function* run() {
      if (!unread.has(name)) {
        for (const [each, figure] of Object.entries(yield* attack)) unread.set(each, figure)
      }
      const figure = unread.get(name) ?? Number.NaN
      unread.delete(name)
      return figure
    }),
  }))
}

const atMost = (of: string, max: number): FigureClaim => ({
  name: of,
  of,
  limit: { atMost: max },
})

/** The attacked server. */
interface Target {
  readonly client: Client
  readonly port: number
  readonly sizes: Sizes
  /** Wrong keys that were tried. */
  keys: number
}

const attempt = <A>(work: () => Promise<A>) =>
  Effect.tryPromise({
    try: work,
    catch: (cause) => new CheckFailed({ message: String(cause) }),
  })

/** What the server counted since the last reading. */
const counts = ({ client }: Target) =>
  attempt(async () => {
    const { body } = await client.request({ path: countsPath, method: "GET" })
    const { peakMemoryGrowthMiB: mebibytes, ...others } = (await body.json()) as AttackCounts
    return { ...others, mebibytes: Math.max(minMebibytes, mebibytes) }
  })

const tryWrongKeys = Effect.fnUntraced(function* tryWrongKeys(target: Target) {
  yield* counts(target)
  const key = `svc_live_${String(++target.keys).padStart(38, "0")}`
  const statuses = yield* attempt(() => pipelineWrongKey(target.port, target.sizes.pipelined, key))
  const refused = (statuses["401"] ?? 0) + (statuses["429"] ?? 0)
  yield* check(`refusals of ${JSON.stringify(statuses)}`, refused, 20 * target.sizes.pipelined)
  const { peakConcurrentHandlers: handlers, lookUps, mebibytes } = yield* counts(target)
  return {
    "wrong keys: handlers under way": handlers,
    "wrong keys: look-ups": lookUps,
    "wrong keys: MiB": mebibytes,
  }
})

const readNoAnswers = Effect.fnUntraced(function* readNoAnswers(target: Target) {
  yield* counts(target)
  const { leave } = yield* attempt(() => slowReadAttack(target.port))
  // Each connection gets as far as it can: no answer starts between two readings.
  let { started, mebibytes } = yield* counts(target)
  for (let total = 0; started > total || started === 0;) {
    total = started
    yield* Effect.sleep("50 millis")
    const more = yield* counts(target)
    started += more.started
    mebibytes += more.mebibytes
  }
  leave()
  return { "slow readers: answers begun": started, "slow readers: MiB": mebibytes }
})

const connectMany = Effect.fnUntraced(function* connectMany(target: Target) {
  yield* counts(target)
  const accepted = yield* attempt(() => connectionFlood(target.port))
  const { mebibytes } = yield* counts(target)
  return { "many connections: held": accepted, "many connections: MiB": mebibytes }
})

export const attackRow: Row = {
  id: "attack",
  title: "what attackers make the server hold",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const url = yield* serveAttacked(yield* makeDatabase, usualPool)
    const port = Number(new URL(url).port)
    // Its connection opens before the attackers take all that their address may have.
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new Client(url)),
      (opened) => Effect.promise(() => opened.destroy()),
    )
    const target: Target = { client, port, sizes, keys: 0 }

    return {
      unit: "counted",
      candidates: [
        ...getFigures(tryWrongKeys(target), [
          "wrong keys: handlers under way",
          "wrong keys: look-ups",
          "wrong keys: MiB",
        ]),
        ...getFigures(readNoAnswers(target), ["slow readers: answers begun", "slow readers: MiB"]),
        ...getFigures(connectMany(target), ["many connections: held", "many connections: MiB"]),
      ],
      ratios: [],
      figures: [
        atMost("wrong keys: handlers under way", 20 * pipelinedRequests.whole),
        atMost("wrong keys: look-ups", 20 * pipelinedRequests.whole),
        atMost("many connections: held", connections.share.most),
      ],
      notes: [
        `wrong keys: one key, pipelined ${sizes.pipelined} times on each of 20 connections`,
        "slow readers: 100 connections that ask for the documentation 16 times each and read nothing",
        `many connections: ${connections.share.most + 50} from one address`,
        "MiB: growth of the process while it lasts, what Node has not given back included",
      ],
    }
  }),
}
