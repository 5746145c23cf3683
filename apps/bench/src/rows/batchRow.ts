/** A batch of 1,000 recipients: the core against the same statements with prepared parameters. */
import { Messages, WakeUp, dailyQuota } from "@messaging-service/core"
import type { Caller } from "@messaging-service/core"
import { acceptStatement, loadStatement, planning } from "@messaging-service/store-postgres"
import { Context, Effect, Layer } from "effect"
import { openPool } from "../database/BenchDatabase.ts"
import { emptyOut, loadWorkspace } from "../database/fixture.ts"
import { qualify } from "../database/Script.ts"
import { checkAccepted } from "../measuring/checks.ts"
import { CheckFailed } from "../measuring/checks.ts"
import type { Row } from "../measuring/Comparison.ts"
import { layerService } from "../serving/service.ts"
import { batchParameters } from "./batchParameters.ts"
import { toCaller } from "./toCaller.ts"
import type { Setup } from "../Setup.ts"
import { storeOn } from "../Setup.ts"

const size = 1000

const phones = Array.from({ length: size }, (_, index) => `+1555${String(index).padStart(7, "0")}`)

/** The candidates' numbers: one takes 1,000 messages a day, so each batch has its own. */
const openBatches = Effect.fnUntraced(function* openBatches({
  database: makeDatabase,
  sizes,
}: Setup) {
  const database = yield* makeDatabase
  const { firstNumber, id } = yield* loadWorkspace(database, { numbers: sizes.batches, keys: 1 })
  const numbers = Array.from({ length: sizes.batches }, (_, index) => firstNumber + index)
  /** Recipients a second. */
  const rate = Effect.fnUntraced(function* rate(work: Effect.Effect<unknown, CheckFailed>) {
    yield* emptyOut(database)
    const started = performance.now()
    yield* work
    const seconds = (performance.now() - started) / 1000
    yield* checkAccepted(database, sizes.batches * size)
    return (sizes.batches * size) / seconds
  })
  return { database, id, numbers, rate }
})

type Batches = Effect.Success<ReturnType<typeof openBatches>>

const openService = Effect.fnUntraced(function* openService({
  database,
  id,
  numbers,
  rate,
}: Batches) {
  const service = yield* Layer.build(
    layerService().pipe(Layer.provideMerge(Layer.merge(storeOn(database, 10), WakeUp.layerLocal))),
  ).pipe(Effect.orDie)
  const messages = Context.get(service, Messages)
  const caller: Caller = toCaller({ id })
  const to = phones.map((phone) => ({ phone }))
  return rate(
    Effect.forEach(
      numbers,
      (from) => messages.sendBatch(caller, { from, to, text: "Hello" }, null),
      { discard: true },
    ).pipe(Effect.mapError(({ message }) => new CheckFailed({ message }))),
  )
})

const openStatements = Effect.fnUntraced(function* openStatements({
  database,
  id,
  numbers,
  rate,
}: Batches) {
  const options = Object.entries(planning).map(([name, value]) => `-c ${name}=${value}`)
  const pool = yield* openPool(database, { max: 1, options: options.join(" ") })
  return Effect.suspend(() => {
    const prepared = numbers.map((number) => batchParameters(id, number, phones, dailyQuota))
    return rate(
      Effect.promise(async () => {
        for (const { accept, load } of prepared) {
          await pool.query({
            name: "load",
            text: qualify(loadStatement.text),
            values: [...load],
          })
          const values = acceptStatement.names.map(
            (name) => accept[name] ?? (name === "lockTimeout" ? "250" : "{}"),
          )
          await pool.query({ name: "accept", text: qualify(acceptStatement.text), values })
        }
      }),
    )
  })
})

export const batchRow: Row = {
  id: "batch",
  title: "batch of 1,000 recipients",
  prepare: Effect.fnUntraced(function* prepare(setup) {
    const batches = yield* openBatches(setup)
    const service = yield* openService(batches)
    const statements = yield* openStatements(batches)
    return {
      unit: "per second",
      candidates: [
        { name: "database alone", run: statements },
        { name: "service", run: service },
      ],
      ratios: [
        {
          name: "time of the service / time of the database alone",
          numerator: "database alone",
          denominator: "service",
          limit: { atMost: 1.5 },
        },
      ],
      figures: [
        { name: "recipients through the service", of: "service", limit: { atLeast: 40_000 } },
      ],
      notes: [
        "recipients a second, one batch after the other",
        "service: from the parsed body to the answer's messages, in process",
        "database alone: the two statements of it (load, accept) by node-postgres, parameters ready",
      ],
    }
  }),
}
