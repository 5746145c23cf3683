/** The clock of a server (`CLOCK`; contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { aServer } from "./aServer.ts"

const day = 86_400

/** That many seconds after a moment, in an answer's format. */
const after = (instant: string, seconds: number) =>
  new Date(Date.parse(instant) + seconds * 1000).toISOString()

/** The variables in the start line of the page about tests. */
const ofThePage = Effect.promise(async () => {
  const page = await readFile(resolve(import.meta.dirname, "../../../docs/testing.md"), "utf8")
  const [, line = ""] = /```bash\n((?:\w+=\S+\s+(?:\\\n\s*)?)+)pnpm start\n```/.exec(page) ?? []
  return Object.fromEntries(
    Array.from(line.matchAll(/(\w+)=(\S+)/g), ([, name, value]) => [name, value]),
  )
})

describe("an adjustable clock", () => {
  it.effect("moves on from due moment to due moment, started as the page about tests says", () =>
    Effect.gen(function* () {
      const settings: Readonly<Record<string, string>> = yield* ofThePage
      const { OPERATOR_TOKEN: token = "" } = settings
      const { operator, url } = yield* aServer(settings)
      const { key: issued, workspace } = yield* operator.aSender()
      // The page's token is the operator's, and only a test creates records.
      assert.deepStrictEqual([workspace.id, token.length > 0], [1, true])
      const { key } = issued
      const caller = processes.aCaller(url, key)
      // A test's receiver on this machine; this one refuses every call.
      const hook = { token: key, body: { url: `${url}/hook` } }
      assert.strictEqual(
        (yield* processes.call("POST", `${url}/api/v2/webhooks`, hook)).status,
        201,
      )
      const now = yield* operator.now
      const soon = (yield* caller.send("soon", { send_at: after(now, day) })).body
      const late = (yield* caller.send("late", { send_at: after(now, 3 * day) })).body
      assert.deepStrictEqual([soon.status, late.status], ["scheduled", "scheduled"])

      const moved = yield* operator.advance(2 * day)
      assert.isAtLeast(Date.parse(moved.body.now), Date.parse(after(now, 2 * day)))
      assert.strictEqual((yield* caller.read(soon.id)).body.status, "sent")
      assert.strictEqual((yield* caller.read(late.id)).body.status, "scheduled")
      yield* operator.advance(2 * day)
      assert.deepStrictEqual(yield* operator.sent, ["late", "soon"])
    }),
  )
})

describe("the system's clock", () => {
  it.effect("is fixed", () =>
    Effect.gen(function* () {
      const { operator } = yield* aServer()
      const { body, status } = yield* operator.request<{
        readonly error: { readonly code: string }
      }>("POST", "/simulator/clock/advance", { seconds: 1 })
      assert.deepStrictEqual([status, body.error.code], [409, "clock_not_adjustable"])
    }),
  )
})
