/** What a full disk of the database is for callers: no fault, but no room for a while. */
import { assert, describe, it } from "@effect/vitest"
import { refusalOfStore } from "@messaging-service/core"
import { NotOpen, toSqlError, unavailable } from "../src/database/HostPool.ts"

const panic = 'PANIC: could not write to file "pg_wal/xlogtemp.1": No space left on device'

describe("a failure for want of room", () => {
  it.each([
    ["a server's", Object.assign(new Error("could not extend file"), { code: "53100" }), 60],
    ["that of an embedded database in the middle of a statement", new Error(panic), 60],
    ["that of an embedded database that opens again", new NotOpen({ because: panic }), 5],
  ] as const)("is a refusal that says when to come back: %s", (_, cause, seconds) => {
    const failure = unavailable("accept", toSqlError(cause))
    assert.strictEqual(failure.isDiskFull, true)
    const { code, retryAfter, status } = refusalOfStore(failure)
    assert.deepStrictEqual([code, status, retryAfter], ["service_unavailable", 503, seconds])
  })

  it("is not taken for another failure", () => {
    const failure = unavailable("accept", toSqlError(new Error("connection refused")))
    assert.isUndefined(failure.isDiskFull)
    assert.strictEqual(refusalOfStore(failure).code, "internal_error")
  })
})
