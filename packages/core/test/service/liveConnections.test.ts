import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConnectedFromTheStart, NumberOperations, Numbers } from "../../src/index.ts"
import type { ConnectionReport } from "../../src/index.ts"
import {
  aNumber,
  aWorkspace,
  inAService,
  minute,
  noon,
  pass,
  second,
  layerTransports,
} from "./Service.ts"

describe("the connection of a live number", () => {
  it.effect("is what its worker reports, until the worker falls silent", () =>
    Effect.gen(function* () {
      let reports: ReadonlyArray<ConnectionReport> = []
      const transport = layerTransports({
        dropsCopies: true,
        send: () => Effect.never,
        listen: () => Effect.never,
        connections: Effect.sync(() => reports),
      })
      yield* inAService(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const numberId = yield* aNumber(workspace, {
            phone: "+15550000100",
            status: "disconnected",
          })
          const shown = NumberOperations.use((all) => all.connection("owner", workspace, numberId))
          assert.deepInclude(yield* shown, { state: "disconnected", reason: "not_linked" })
          yield* Numbers.use((all) => all.connectionChanged(numberId, "connected", "15550000100"))
          assert.deepInclude(yield* shown, { state: "waiting", reason: "connection_lost" })
          const report: ConnectionReport = {
            numberId,
            state: "connected",
            reason: null,
            since: noon,
            lastSeenAt: noon + second,
            reconnects: 1,
          }
          reports = [report]
          yield* pass(second)
          const connected = {
            state: "connected",
            reason: null,
            since: noon,
            reconnects: 1,
          } as const
          assert.deepInclude(yield* shown, {
            ...connected,
            lastSeenAt: noon + second,
            worker: "worker",
          })
          // It sends heartbeats even when nothing changes.
          yield* pass(10 * minute)
          assert.deepInclude(yield* shown, connected)
          reports = []
          yield* pass(minute)
          assert.deepInclude(yield* shown, { state: "waiting", reason: "connection_lost" })
        }),
        { transport },
      )
    }).pipe(Effect.provideService(ConnectedFromTheStart, false)),
  )
})
