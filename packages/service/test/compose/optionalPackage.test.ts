/** A start names a missing optional package in one line, and reports any other fault unchanged. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { optionalPackage } from "../../src/compose/startFaults.ts"
import { toError } from "../../src/facade/Calls.ts"

const load = (fault: Error) => optionalPackage("@scope/birds", "live", () => Promise.reject(fault))

/** As Node says it. */
const missing = (name: string) =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /srv/shop/main.js`), {
    code: "ERR_MODULE_NOT_FOUND",
  })

it.effect("says what to install", () =>
  Effect.gen(function* () {
    const { message } = yield* Effect.flip(load(missing("@scope/birds")))
    assert.strictEqual(
      message,
      "TRANSPORT=live needs the package @scope/birds, which is not installed: npm install @scope/birds",
    )
  }),
)

it.effect("names the version to install, if only one will do", () =>
  Effect.gen(function* () {
    const loading = optionalPackage("@scope/birds@1.2.0", "live", () =>
      Promise.reject(missing("@scope/birds")),
    )
    const { message } = yield* Effect.flip(loading)
    assert.match(message, /, which is not installed: npm install @scope\/birds@1\.2\.0$/)
  }),
)

it.effect("names the option of `open` that chose the embedded database", () =>
  Effect.gen(function* () {
    const name = "@electric-sql/pglite"
    const loading = optionalPackage(name, "embedded", () => Promise.reject(missing(name)))
    const { code, field, message } = toError(Cause.fail(yield* Effect.flip(loading)))
    assert.deepStrictEqual([code, field], ["cannot_start", "store.embedded"])
    assert.match(message, /^store\.embedded needs the package @electric-sql\/pglite,/)
  }),
)

it.effect("names the options of `open` that chose live numbers", () =>
  Effect.gen(function* () {
    for (const [setting, field, starts] of [
      ["live", "transport", 'transport: "live" needs the package birds,'],
      ["telegram", "transport.live.telegram", "transport.live.telegram needs the package birds,"],
    ] as const) {
      const loading = optionalPackage("birds", setting, () => Promise.reject(missing("birds")))
      const error = toError(Cause.fail(yield* Effect.flip(loading)))
      assert.strictEqual(error.field, field)
      assert.include(error.message, starts)
    }
  }),
)

it.effect("does not take another fault for it", () =>
  Effect.gen(function* () {
    for (const fault of [missing("another"), new Error("@scope/birds broke")]) {
      const exit = yield* Effect.exit(load(fault))
      assert(Exit.isFailure(exit))
      assert.strictEqual(Cause.squash(exit.cause), fault)
    }
  }),
)
