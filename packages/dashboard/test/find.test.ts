/** What the palette finds. */
import { assert, describe, it } from "vitest"
import { findByLabels } from "../pages/ui/find.ts"

describe("the palette", () => {
  const items = [
    { name: "Overview" },
    { name: "Change between light and dark", also: ["Theme"] },
    { name: "Webhooks", also: ["Add a webhook"] },
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
    ["theme", ["Change between light and dark"]],
    ["add a web", ["Webhooks"]],
    ["hook", ["Webhooks"]],
    ["nm", []],
  ])("finds by words: %s", (letters, names) => assert.deepStrictEqual(found(letters), names))

  it("offers all before anything is typed", () =>
    assert.deepStrictEqual(
      found(" "),
      items.map(({ name }) => name),
    ))
})
