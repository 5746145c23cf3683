import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import {
  NumberOperations,
  Numbers,
  ProxyProbe,
  proxyCheckMillis,
  sharedLimits,
  Store,
} from "../../src/index.ts"
import type { NumberId, ProxyProbePort, WorkspaceId } from "../../src/index.ts"
import { aNumber, aWorkspace, inAService, pass } from "./Service.ts"

const url = "socks5://number:secret@192.0.2.7:1080"

const aProxiedNumber = Effect.fnUntraced(function* aProxiedNumber(workspace: WorkspaceId) {
  const id = yield* aNumber(workspace)
  yield* Numbers.use((all) => all.update("owner", workspace, id, { proxyUrl: url }))
  return id
})

const check = (workspace: WorkspaceId, id: NumberId) =>
  NumberOperations.use((all) => all.checkProxy("owner", workspace, id))

const getCode = <A, E extends object, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => ("code" in error ? error.code : error))

const probing = (connect: ProxyProbePort["connect"]) =>
  Effect.provideService(ProxyProbe, { connect })

const hanging = probing(() => Effect.never)

describe("the check of a number's proxy", () => {
  it.effect("opens one connection through the stored URL", () => {
    const tried: Array<unknown> = []
    return inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const id = yield* aProxiedNumber(workspace)
        assert.deepStrictEqual(yield* check(workspace, id), { error: null, durationMillis: 0 })
        assert.deepStrictEqual(tried, [["whatsapp", url]])
      }),
    ).pipe(
      probing((platform, input) =>
        Effect.sync(() => {
          tried.push([platform, Redacted.value(input)])
          return null
        }),
      ),
    )
  })

  it.effect("of a proxy that hangs ends after ten seconds", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const id = yield* aProxiedNumber(workspace)
        const checking = yield* Effect.forkChild(check(workspace, id))
        yield* pass(proxyCheckMillis - 1)
        assert.isUndefined(checking.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(checking), {
          error: "timeout",
          durationMillis: 10_000,
        })
      }),
    ).pipe(hanging),
  )

  it.effect("has a workspace's share, which frees with each end", () =>
    inAService(
      Effect.gen(function* () {
        const { most } = sharedLimits.proxyChecks.share
        const workspace = yield* aWorkspace()
        const id = yield* aProxiedNumber(workspace)
        const running = yield* Effect.forEach(Array.from({ length: most }), () =>
          Effect.forkChild(check(workspace, id), { startImmediately: true }),
        )
        yield* pass(1)
        assert.strictEqual(yield* getCode(check(workspace, id)), "rate_limited")
        const other = yield* aWorkspace()
        const elsewhere = yield* Effect.forkChild(check(other, yield* aProxiedNumber(other)))
        yield* pass(1)
        assert.isUndefined(elsewhere.pollUnsafe())
        yield* Fiber.interruptAll([...running, elsewhere])
        const again = yield* Effect.forkChild(check(workspace, id))
        yield* pass(1)
        assert.isUndefined(again.pollUnsafe())
      }),
    ).pipe(hanging),
  )

  it.effect("refuses above the bound of the process", () =>
    inAService(
      Effect.gen(function* () {
        const { share, whole } = sharedLimits.proxyChecks
        for (let started = 0; started < whole; started += share.most) {
          const workspace = yield* aWorkspace()
          const id = yield* aProxiedNumber(workspace)
          for (let at = 0; at < share.most; at++) {
            yield* Effect.forkChild(check(workspace, id))
          }
        }
        yield* pass(1)
        const workspace = yield* aWorkspace()
        const id = yield* aProxiedNumber(workspace)
        assert.strictEqual(yield* getCode(check(workspace, id)), "service_unavailable")
      }),
    ).pipe(hanging),
  )

  it.effect(
    "connects nothing without a proxy, for simulated phones and with an unreadable URL",
    () =>
      inAService(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const direct = yield* aNumber(workspace)
          assert.strictEqual(yield* getCode(check(workspace, direct)), "validation_failed")
          const other = yield* aWorkspace()
          assert.strictEqual(yield* getCode(check(other, direct)), "number_not_found")
          const id = yield* aProxiedNumber(workspace)
          assert.deepStrictEqual(yield* check(workspace, id), {
            error: "no_remote",
            durationMillis: 0,
          })
          const proxy = { host: "192.0.2.7", port: 1080, url: "sealed by another key" }
          const { numbers } = yield* Store
          yield* numbers.change(workspace, id, { proxy }, 0)
          assert.deepStrictEqual(yield* check(workspace, id), {
            error: "proxy_unreadable",
            durationMillis: 0,
          })
        }),
      ),
  )
})
