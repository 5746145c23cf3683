/** When the names of groups are requested again. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { changesNames } from "../src/recipients.ts"

it.effect("a new name invalidates the cached names, and a new member does not", () =>
  Effect.sync(() => {
    const said = (...changes: ReadonlyArray<string>) =>
      changesNames({
        tag: "notification",
        attrs: { type: "w:gp2", from: "1@g.us" },
        content: changes.map((tag) => ({ tag, attrs: {} })),
      })
    for (const change of ["subject", "create", "delete"]) assert.isTrue(said(change), change)
    assert.isTrue(said("add", "subject"))
    assert.isFalse(said("add"))
    assert.isFalse(said())
  }),
)
