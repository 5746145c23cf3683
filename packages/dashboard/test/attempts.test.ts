/** How attempts at an event are counted. */
import { assert, describe, it } from "vitest"
import { attemptNumbers } from "../pages/webhooks/attempts.ts"

describe("the number of an attempt", () => {
  const attempt = (event_id: string, number: number, webhook_id = 1) => ({
    event_id,
    attempt: number,
    webhook_id,
  })

  it("counts on over redeliveries, for each event and endpoint", () =>
    assert.deepStrictEqual(
      attemptNumbers([
        attempt("a", 1),
        attempt("b", 1),
        attempt("a", 2),
        attempt("a", 1),
        attempt("a", 2),
        attempt("a", 1, 2),
        attempt("b", 1),
      ]),
      [1, 1, 2, 3, 4, 1, 2],
    ))

  it("is no less than the service says where earlier ones are not listed", () =>
    assert.deepStrictEqual(attemptNumbers([attempt("a", 4), attempt("a", 1)]), [4, 5]))
})
