/** How long an accepted message waits on an idle service until the transport has it. */
import { Messages, WakeUp, makeDispatcher } from "@messaging-service/core"
import { Context, Effect, Layer, Latch } from "effect"
import { emptyOut, loadWorkspaces } from "../database/fixture.ts"
import { checkSent } from "../measuring/checks.ts"
import { CheckFailed } from "../measuring/checks.ts"
import type { Row } from "../measuring/Comparison.ts"
import { median } from "../measuring/rounds.ts"
import { layerService, noticingAcceptance } from "../serving/service.ts"
import { storeOn } from "../Setup.ts"
import { toCaller } from "./toCaller.ts"
import { waitUntilSettled } from "./waitUntilSettled.ts"

/** Between two messages, so that the service has gone to sleep. Milliseconds. */
const idleMillis = 20

export const handoverRow: Row = {
  id: "handover",
  title: "from acceptance to hand-over, idle service",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, 1)
    let handedOver = 0
    let copies = 0
    const arrived = yield* Latch.make(false)
    const observed = () => {
      handedOver = performance.now()
      copies++
      arrived.openUnsafe()
    }
    let accepted = 0
    const wakeUp = noticingAcceptance(WakeUp.layerLocal, () => {
      if (accepted === 0) accepted = performance.now()
    })
    const service = yield* Layer.build(
      layerService(observed).pipe(Layer.provideMerge(Layer.merge(storeOn(database, 10), wakeUp))),
    ).pipe(Effect.orDie)
    yield* Effect.forkScoped((yield* Effect.provide(makeDispatcher, service)).run)
    const messages = Context.get(service, Messages)
    const caller = toCaller({ id: 1 })

    const send = Effect.gen(function* send() {
      yield* Effect.sleep(idleMillis)
      yield* Latch.close(arrived)
      accepted = 0
      const called = performance.now()
      yield* messages.send(caller, { to: { phone: "+15551234567" }, text: "Hello" }, null)
      yield* Latch.await(arrived)
      return { fromCall: handedOver - called, fromAcceptance: handedOver - accepted }
    })
    const run = (figure: "fromCall" | "fromAcceptance") =>
      Effect.gen(function* () {
        yield* waitUntilSettled(database)
        yield* emptyOut(database)
        copies = 0
        const times = yield* Effect.all(Array.from({ length: sizes.calls }, () => send))
        yield* waitUntilSettled(database)
        yield* checkSent(database, sizes.calls, copies)
        return median(times.map((time) => time[figure]))
      }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))
    return {
      unit: "ms",
      candidates: [
        { name: "from acceptance", run: run("fromAcceptance") },
        { name: "from the call of send", run: run("fromCall") },
      ],
      ratios: [],
      figures: [
        {
          name: "from acceptance to hand-over",
          of: "from acceptance",
          limit: { atMost: 5 },
        },
      ],
      notes: [
        "the median message of each run; one process with its own wake-up, store on PostgreSQL",
        "acceptance: the commit of the accepting statement",
      ],
    }
  }),
}
