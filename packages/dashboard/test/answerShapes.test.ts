/** What an answer has to be before a page trusts it. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { answerShapes, shapesModule } from "../generate.ts"
import { hasShape } from "../pages/api/shape.ts"

const types = `
export interface paths {
  readonly "/admin/v1/things": {
    readonly get: operations["listThings"];
    readonly put?: never;
  };
  readonly "/api/v2/things": { readonly get: operations["listThings"] };
}
export interface components {
  schemas: { readonly Thing: NamedThing; readonly Other: Other };
}
export interface operations {
  readonly listThings: {
    readonly responses: {
      readonly 200: {
        content: {
          readonly "application/json": {
            readonly data: readonly components["schemas"]["Thing"][];
            readonly next_cursor: string | null;
            readonly until?: string | null;
          };
        };
      };
    };
  };
}
export interface NamedThing {
  readonly id: number;
  readonly kind: "a" | "b";
  readonly part: components["schemas"]["Thing"] | null;
}
export interface Other { readonly id: number }
`
const shapes = answerShapes(types)
const list = "GET /admin/v1/things"

it("answerShapes.generated.ts holds the shapes of today (after a change: run `pnpm generate`)", () => {
  const file = join(import.meta.dirname, "../pages/api/answerShapes.generated.ts")
  assert.strictEqual(readFileSync(file, "utf8"), shapesModule())
})

describe("the shape of an answer", () => {
  it("is made from the types of the operator API's answers, with the schemas that they name", () =>
    assert.deepStrictEqual(shapes, {
      [list]: {
        data: ["Thing"],
        next_cursor: ["string", "null"],
        "until?": ["string", "null"],
      },
      Thing: { id: "number", kind: "string", part: ["Thing", "null"] },
    }))

  const thing = { id: 1, kind: "c", part: { id: 2, kind: "a", part: null }, more: true }
  const whole = { data: [thing], next_cursor: null }

  it.each([
    ["whole", whole],
    ["empty", { data: [], next_cursor: "c" }],
    ["with a field that may be missing", { ...whole, until: null }],
  ])("fits an answer that is %s", (_, answer) => assert.isTrue(hasShape(answer, list, shapes)))

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["a list", [whole]],
    ["without its list", { next_cursor: null }],
    ["with something else for its list", { ...whole, data: { 0: thing } }],
    ["with an item that lacks a field", { ...whole, data: [{ id: 1, part: null }] }],
    ["with a field of another type", { ...whole, data: [{ ...thing, id: "1" }] }],
    ["wrong further down", { ...whole, data: [{ ...thing, part: {} }] }],
    ["wrong in a field that may be missing", { ...whole, until: 1 }],
  ])("does not fit an answer that is %s", (_, answer) =>
    assert.isFalse(hasShape(answer, list, shapes)),
  )
})
