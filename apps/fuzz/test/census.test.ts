/** The count of messages agrees with the answers, and finds unreported messages. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { takeCensus } from "../src/oracle/census.ts"
import { harvest, nothingCreated } from "../src/oracle/harvest.ts"
import type { Connection } from "../src/wire/Connection.ts"
import { aShot, anInventory, anAnswer, operation } from "./aDocument.ts"

/** A service that lists these messages, and no reminders. */
const listing = (messages: ReadonlyArray<{ readonly id: number; readonly text: string }>) => {
  const connection: Connection = {
    request: ({ bytes }) => {
      const data = bytes.includes("/messages?") && bytes.includes("live") ? messages : []
      return Promise.resolve(anAnswer(200, { data, next_cursor: null }).outcome)
    },
    hangUp: () => Promise.resolve(),
    close: () => undefined,
  }
  return connection
}

describe("the count of messages", () => {
  const cell = () => ({
    inventory: anInventory(),
    witnesses: ["live", "test"] as const,
    messages: [1, 2, 3],
  })
  const first = [1, 2, 3].map((id) => ({ id, text: "first" }))
  const count = (listed: Parameters<typeof listing>[0], answered: ReadonlyArray<number>) =>
    Effect.promise(() => {
      const created = nothingCreated()
      for (const id of answered) {
        harvest(
          anInventory(),
          created,
          operation("sendMessage"),
          aShot(),
          anAnswer(202, { id, text: "" }),
        )
      }
      return takeCensus(listing(listed), cell(), created)
    })

  it.effect("agrees when the service lists what its answers reported", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* count([...first, { id: 9, text: "x" }], [9]), [])
    }),
  )

  it.effect("finds a message that a refused send left behind", () =>
    Effect.gen(function* () {
      const found = yield* count([...first, { id: 9, text: "x" }], [])
      assert.deepStrictEqual(
        found?.map(({ kind }) => kind),
        ["census: a message that no answer reported"],
      )
    }),
  )

  it.effect("finds that an accepted message is gone", () =>
    Effect.gen(function* () {
      const found = yield* count(first, [9])
      assert.deepStrictEqual(
        found?.map(({ kind }) => kind),
        ["census: an accepted message is not listed"],
      )
    }),
  )

  it.effect("is skipped after a send whose answer was lost", () =>
    Effect.gen(function* () {
      const created = { ...nothingCreated(), isUncertain: true }
      assert.isNull(yield* Effect.promise(() => takeCensus(listing([]), cell(), created)))
    }),
  )
})
