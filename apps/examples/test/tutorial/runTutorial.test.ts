/** The runner of tutorials finds every wrong line and names it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { tmpdir } from "node:os"
import { runTutorial } from "./runTutorial.ts"

const options = { folder: tmpdir(), ports: [8080] }

const follow = (page: ReadonlyArray<string>) =>
  runTutorial(page.join("\n"), options).pipe(Effect.scoped)

const complaint = (page: ReadonlyArray<string>) =>
  Effect.map(Effect.flip(follow(page)), ({ message }) => message)

const json = (printed: string, expected: string) => [
  "```sh",
  `echo '${printed}'`,
  "```",
  "```json",
  expected,
  "```",
]

describe("following a tutorial", () => {
  it.effect("keeps state from one command to the next, also across blocks", () =>
    follow([
      "```sh",
      "NAME=world",
      "greet() { echo Hello, $1; }",
      "```",
      "Prose, and",
      "```sh",
      "greet \\",
      "  $NAME",
      "echo $$ of $RANDOM",
      "```",
      "```text",
      "Hello, world",
      "… of …",
      "```",
    ]),
  )

  it.effect("reports wrong output at the line that promises it", () =>
    Effect.gen(function* () {
      const page = ["# Title", "```sh", "echo one", "echo two", "```", "```text", "one", "2", "```"]
      assert.strictEqual(yield* complaint(page), "line 8: printed: two")
    }),
  )

  it.effect("rejects more output than promised, and less", () =>
    Effect.gen(function* () {
      const more = ["```sh", "echo one", "echo two", "```", "```text", "one", "```"]
      assert.strictEqual(yield* complaint(more), "line 7: more was printed: two")
      const less = ["```sh", "echo one", "```", "```text", "one", "two", "```"]
      assert.strictEqual(yield* complaint(less), "line 6: nothing more was printed")
    }),
  )

  it.effect("matches `…` with something, not with nothing", () =>
    Effect.gen(function* () {
      const page = ["```sh", "echo key_", "```", "```text", "key_…", "```"]
      assert.strictEqual(yield* complaint(page), "line 5: printed: key_")
    }),
  )

  it.effect("reports a failing command at its line, and stops", () =>
    Effect.gen(function* () {
      const page = ["```sh", "true", "echo no >&2; (exit 3)", "exit 4", "```"]
      const message = yield* complaint(page)
      assert.strictEqual(message, "line 3: echo no >&2; (exit 3)\nended with 3: no\n")
    }),
  )

  it.effect("reports a shell that ends early at the line that ended it", () =>
    Effect.gen(function* () {
      const message = yield* complaint(["```sh", "exit 0", "```"])
      assert.strictEqual(message, "line 2: exit 0\nthe shell ended: ")
    }),
  )

  it.effect("compares JSON by value, in any layout", () =>
    follow(
      json(
        '{"b":[1,{"id":"evt_1"}],"a":null,"c":"x","d":7}',
        '{\n  "a": null,\n  "b": [1, { "id": "evt_…" }],\n  "c": "…",\n  "…": "what else"\n}',
      ),
    ),
  )

  for (const [printed, expected, where] of [
    ['{"a":1}', '{"a":2}', "$.a"],
    ['{"a":1}', '{"a":"1"}', "$.a"],
    ['{"a":1,"b":2}', '{"a":1}', "$.b"],
    ['{"a":1}', '{"a":1,"b":null}', "$.b"],
    ['{"a":[1,2]}', '{"a":[1]}', "$.a.1"],
    ['{"a":[]}', '{"a":{}}', "$.a"],
    ['{"a":{}}', '{"a":null}', "$.a"],
    ['{"a":"evt_"}', '{"a":"evt_…"}', "$.a"],
    ['{"b":1}', '{"a":1,"…":"the rest"}', "$.a"],
  ] as const) {
    it.effect(`${printed} is not ${expected}`, () =>
      Effect.gen(function* () {
        const message = yield* complaint(json(printed, expected))
        assert.strictEqual(message, `line 5: ${where} differs, printed: ${printed}`)
      }),
    )
  }

  it.effect("rejects output that is not JSON", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* complaint(json("oops", "{}")), "line 5: printed no JSON: oops\n")
    }),
  )

  it.effect("replaces the page's ports by free ones, in commands and in output", () =>
    Effect.gen(function* () {
      const page = ["```sh", "echo http://127.0.0.1:8080/ 18080", "```", "```text", "…", "```"]
      yield* follow([...page.slice(0, 4), "http://127.0.0.1:8080/ 18080", "```"])
      const wrong = [...page.slice(0, 4), "http://127.0.0.1:8080/ …1", "```"]
      assert.notInclude(yield* complaint(wrong), ":8080/")
    }),
  )

  it.effect("keeps a command that reads its input away from the page", () =>
    follow(["```sh", "cat", "echo after", "```", "```text", "after", "```"]),
  )

  it.effect("refuses a page that cannot be followed", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* complaint(["# Words"]), "line 1: there are no commands")
      const stray = ["```text", "one", "```"]
      assert.strictEqual(yield* complaint(stray), "line 2: the output belongs to no commands")
      const open = ["```sh", "echo one"]
      assert.strictEqual(yield* complaint(open), "line 2: the block has no end")
      const unfinished = ["```sh", "echo one \\", "```"]
      assert.strictEqual(yield* complaint(unfinished), "line 2: the command goes on nowhere")
    }),
  )
})
