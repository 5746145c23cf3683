/** Codes of numbers being connected: the store sees only sealed ones. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, Stream } from "effect"
import { StoreUnavailable } from "../../src/index.ts"
import type { LinkingEvent } from "../../src/index.ts"
import { emptyLinkingView, openedAttempt, sealedView } from "../../src/model/Linking.ts"
import { Secrets } from "../../src/model/Secrets.ts"
import { findAttempt, aKeyToConnect, connect, linkingBy, qrText, read } from "./Linking.ts"
import { aKey, aWorkspace, hour, inAService, noon, second, settled } from "./Service.ts"
import { storeWithin } from "./Watched.ts"
import { TestClock } from "effect/testing"

/** Everything that a store received. */
const noting = () => {
  const seen: Array<string> = []
  const store = storeWithin((operation, effect, args) => {
    if (operation.startsWith("numbers.")) seen.push(JSON.stringify(args))
    return effect
  })
  return { store, seen }
}

describe("the codes of an attempt at linking", () => {
  it.effect("reach the store sealed, and people readable", () =>
    Effect.gen(function* () {
      const { seen, store } = noting()
      yield* inAService(
        Effect.gen(function* () {
          const workspace = yield* aWorkspace()
          const shown: Array<string> = []
          for (const mode of ["live", "test"]) {
            const key = yield* aKey(workspace, { mode })
            const byQr = yield* connect(key)
            yield* settled
            const attempt = (yield* findAttempt(byQr))!
            shown.push(yield* qrText(key, byQr))
            assert.notInclude(attempt.qrText, shown.at(-1)!)
            const byCode = yield* connect(key, {
              loginMethod: "phone_code",
              phone: "+15550003333",
            })
            yield* settled
            const { connect: view } = yield* read(key, byCode)
            assert.match(view?.pairingCode?.code ?? "", /^[A-Z0-9]{8}$/)
            shown.push(view?.pairingCode?.code ?? "")
            assert.notInclude((yield* findAttempt(byCode))!.pairingCode!.code, shown.at(-1)!)
          }
          assert.lengthOf(shown, 4)
          for (const code of shown) assert.notInclude(seen.join(), code)
        }),
        { store },
      )
    }),
  )

  it.effect("of another attempt, or in plain text, count as missing", () =>
    inAService(
      Effect.gen(function* () {
        const secrets = yield* Secrets
        const number = yield* connect(yield* aKeyToConnect)
        const attempt = (yield* findAttempt(number))!
        const pairingCode = { code: "ABCD1234", expiresAt: noon + hour }
        const view = { ...emptyLinkingView, qrText: "2@abc", pairingCode }
        const sealed = { ...attempt, ...sealedView(secrets, attempt.id, view) }
        assert.deepStrictEqual(openedAttempt(secrets, sealed), { ...attempt, ...view })
        const nothing = { ...attempt, ...emptyLinkingView }
        assert.deepStrictEqual(openedAttempt(secrets, { ...attempt, ...view }), nothing)
        const other = { ...sealed, id: "another" as typeof attempt.id }
        assert.deepStrictEqual(openedAttempt(secrets, other), { ...nothing, id: other.id })
      }),
      { worker: false },
    ),
  )

  it.effect("are the same to the store when stored again", () =>
    Effect.gen(function* () {
      const said = yield* Queue.unbounded<LinkingEvent>()
      const args: Array<unknown> = []
      const store = storeWithin((operation, effect, [, , view]) =>
        operation === "numbers.showLinking"
          ? Effect.flatMap(effect, (shown) => {
              args.push(view)
              // Its answer is lost.
              return args.length === 1
                ? Effect.fail(new StoreUnavailable({ operation, cause: "lost" }))
                : Effect.succeed(shown)
            })
          : effect,
      )
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const number = yield* connect(key)
          yield* settled
          yield* Queue.offer(said, { _tag: "QrShown", text: "2@abc", expiresAt: 0 })
          yield* TestClock.adjust(second)
          yield* settled
          assert.lengthOf(args, 2)
          assert.deepStrictEqual(args[1], args[0])
          assert.strictEqual(yield* qrText(key, number), "2@abc")
        }),
        { store, linking: linkingBy(() => Stream.fromQueue(said)) },
      )
    }),
  )
})
