/** What the palette finds. */
import { assert, describe, it } from "vitest"
import { findByLabels } from "../pages/ui/find.ts"

describe("the palette", () => {
  const items = [
    { name: "Overview" },
    { name: "Toggle light and dark theme", also: ["Theme"] },
    { name: "Webhooks", also: ["Add webhook"] },
    { name: "New message" },
    { name: "New reminder" },
    { name: "Renewals" },
    { name: "Upload a file" },
  ]
  const found = (letters: string) => findByLabels(items, letters).map(({ name }) => name)

  it.each([
    ["new", ["New message", "New reminder", "Renewals"]],
    ["mess new", ["New message"]],
    ["a file", ["Upload a file"]],
    ["theme", ["Toggle light and dark theme"]],
    ["add web", ["Webhooks"]],
    ["hook", ["Webhooks"]],
    ["nm", []],
  ])("finds by words: %s", (letters, names) => assert.deepStrictEqual(found(letters), names))

  it("offers all before anything is typed", () =>
    assert.deepStrictEqual(
      found(" "),
      items.map(({ name }) => name),
    ))
})
