import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { makeCursor, makeCursors, readCursor } from "../../src/model/Page.ts"
import type { CursorBinding } from "../../src/model/Page.ts"
import { aSecretsKey, layerSecrets } from "../secret/layerSecrets.ts"

const secret = "0123456789abcdef".repeat(4)

const Id = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))
const Scalar = Schema.Union([
  Schema.String,
  Schema.Int,
  Schema.Null,
  Schema.Array(Schema.Union([Schema.String, Schema.Int])),
])
const Binding = Schema.Array(Scalar)

describe("a cursor", () => {
  it.effect.prop("continues after its record, in its own list", [Id, Binding], ([id, binding]) =>
    Effect.sync(() =>
      assert.strictEqual(readCursor(secret, makeCursor(secret, id, binding), binding), id),
    ),
  )

  it.effect.prop(
    "is refused after any alteration",
    [
      Id,
      Binding,
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 127 })),
    ],
    ([id, binding, index, code]) =>
      Effect.sync(() => {
        const cursor = makeCursor(secret, id, binding)
        const at = index % cursor.length
        const other = String.fromCharCode(code)
        const altered = [
          cursor.slice(0, at) + cursor.slice(at + 1),
          cursor.slice(0, at) + other + cursor.slice(at),
          ...(cursor[at] === other ? [] : [cursor.slice(0, at) + other + cursor.slice(at + 1)]),
        ]
        for (const text of altered) {
          if (text !== cursor) assert.isUndefined(readCursor(secret, text, binding), text)
        }
      }),
    { arbitrary: { runs: 300 } },
  )

  it.effect.prop("of another list is refused", [Id, Binding, Binding], ([id, binding, another]) =>
    Effect.sync(() => {
      if (JSON.stringify(binding) === JSON.stringify(another)) return
      assert.isUndefined(readCursor(secret, makeCursor(secret, id, binding), another))
    }),
  )

  it.effect("does not confuse the parts that it is bound to", () =>
    Effect.sync(() => {
      const bindings: ReadonlyArray<CursorBinding> = [
        [],
        [null],
        ["null"],
        [1],
        ["1"],
        [[1]],
        [1, null],
        [null, 1],
        ["1,2"],
        ["1", "2"],
        [["1", "2"]],
        [1, 2],
      ]
      const cursors = bindings.map((binding) => makeCursor(secret, 7, binding))
      assert.strictEqual(new Set(cursors).size, bindings.length)
    }),
  )

  it.effect("of another service is refused", () =>
    Effect.sync(() => {
      const foreign = makeCursor("f".repeat(64), 7, ["messages"])
      assert.isUndefined(readCursor(secret, foreign, ["messages"]))
    }),
  )

  it.effect.each(["", ".", "a", "1.", ".abc", "1.2.3", "null", " ", "-1", "1e9", "\u{1F680}"])(
    "of the text %j is refused",
    (text) => Effect.sync(() => assert.isUndefined(readCursor(secret, text, ["messages"]))),
  )

  it.effect("in capitals is a different text, and refused", () =>
    Effect.sync(() => {
      const cursor = makeCursor(secret, 123_456, ["messages"])
      assert.notStrictEqual(cursor.toUpperCase(), cursor)
      assert.isUndefined(readCursor(secret, cursor.toUpperCase(), ["messages"]))
    }),
  )
})

describe("pages", () => {
  const cursors = (key: string) => Effect.provide(makeCursors, layerSecrets(new Map(), key))

  /** What the page of a cursor continues after, and the cursor of the page after record 7. */
  const page = (
    created: Effect.Success<typeof makeCursors>,
    cursor: string | null,
    binding: CursorBinding,
    next: number | null = 7,
  ) => created.page({ cursor }, binding, ({ before }) => Effect.succeed({ items: [before], next }))

  it.effect("no cursor is the first page, and the last page has none", () =>
    Effect.gen(function* () {
      const created = yield* cursors(aSecretsKey("01"))
      const only = yield* page(created, null, ["messages"], null)
      assert.deepStrictEqual(only, { items: [null], next: null })
    }),
  )

  it.effect("a malformed cursor, or one made for other filters, is invalid_cursor", () =>
    Effect.gen(function* () {
      const created = yield* cursors(aSecretsKey("01"))
      const { next } = yield* page(created, null, ["messages", 1])
      assert.deepStrictEqual((yield* page(created, next, ["messages", 1])).items, [7])
      for (const [text, binding] of [
        ["", ["messages", 1]],
        [`${next}x`, ["messages", 1]],
        [next, ["messages", 2]],
      ] as const) {
        const { code, field, status } = yield* Effect.flip(page(created, text, binding))
        assert.deepStrictEqual([code, status, field], ["invalid_cursor", 400, "cursor"])
      }
    }),
  )

  it.effect("processes with one key read each other's cursors, those with two keys do not", () =>
    Effect.gen(function* () {
      const first = yield* cursors(aSecretsKey("01"))
      const second = yield* cursors(aSecretsKey("01"))
      const elsewhere = yield* cursors(aSecretsKey("02"))
      const { next } = yield* page(first, null, ["messages"])
      assert.deepStrictEqual((yield* page(second, next, ["messages"])).items, [7])
      const refused = yield* Effect.flip(page(elsewhere, next, ["messages"]))
      assert.strictEqual(refused.code, "invalid_cursor")
    }),
  )
})
