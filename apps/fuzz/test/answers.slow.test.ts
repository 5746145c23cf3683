/**
 * The answers to a fixed run of the fuzzer, in a golden file: status, code, names of headers and of
 * fields for each request. It contains no wording, which may improve. CONTRIBUTING, "Golden files",
 * has the command that writes it. A second run, next to a workspace with conversations, must get the same
 * answers and calls byte for byte.
 */
import { assert, expect, layer } from "@effect/vitest"
import { headersOfHttp, isJson } from "@messaging-service/testkit/openapi"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { join } from "node:path"
import type { Shot } from "../src/request/Shot.ts"
import type { Watcher } from "../src/run.ts"
import type { WireAnswer } from "../src/wire/AnswerReader.ts"
import { fixedRun } from "./FixedRun.ts"
import { makeNeighbour } from "./Neighbour.ts"
import { makeRecorder } from "./Recording.ts"

const golden = join(import.meta.dirname, "golden/answers.txt")

/** The names of all fields, as paths; those of a list's entries once. */
const toFields = (value: unknown, at = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return [...new Set(value.flatMap((each) => toFields(each, `${at}[]`)))]
  if (!isJson(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = at === "" ? name : `${at}.${name}`
    return [path, ...toFields(inner, path)]
  })
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The code of a refusal: a message that failed has one too. */
const getCode = (status: number, body: unknown): string => {
  const error = status >= 400 && isJson(body) ? body["error"] : undefined
  return isJson(error) ? ` ${String(error["code"])}` : ""
}

/** Names each set of headers and fields by its digest, and lists the sets after the answers. */
const makeShapes = () => {
  const shapes = new Map<string, string>()
  return {
    toName: (shape: string): string => {
      const name = createHash("sha256").update(shape).digest("hex").slice(0, 8)
      shapes.set(name, shape)
      return name
    },
    list: (): ReadonlyArray<string> =>
      [...shapes].map(([name, shape]) => `${name} ${shape}`).toSorted(),
  }
}

const toShape = (shot: Shot, { headers }: WireAnswer, body: unknown): string => {
  const names = [...new Set(headers.map(([name]) => name))]
    .filter((name) => !headersOfHttp.has(name))
    .toSorted()
  // Public documents have their own golden files.
  const fields = shot.aim.part === "open" ? [] : toFields(body).toSorted()
  return `[${names.join(" ")}] {${fields.join(" ")}}`
}

/** One line: the request, and the parts of the answer. */
const getLine = (
  toName: (shape: string) => string,
  [index, shot, outcome]: Parameters<Watcher["onOutcome"]>,
): string => {
  const query = `${index} ${shot.method.slice(0, 20)} ${shot.aim.id}`
  if (outcome?.kind !== "answer") return `${query}: ${outcome?.kind ?? "hung up"}`
  const { answer } = outcome
  const body = parsed(answer.body.toString())
  return `${query}: ${answer.status}${getCode(answer.status, body)} ${toName(toShape(shot, answer, body))}`
}

const requests = 3200

/** A run next to a workspace that has conversations, or has none. */
const record = Effect.fnUntraced(function* (listens: boolean) {
  const lines: Array<string> = []
  const shapes = makeShapes()
  const recorder = makeRecorder()
  let received = () => 0
  yield* Effect.scoped(
    fixedRun({
      requests,
      neighbour: (operator, url) =>
        Effect.map(makeNeighbour(operator, url, listens), ({ act, received: count }) => {
          received = count
          return act
        }),
      onCall: recorder.onCall,
      onOutcome: (...outcome) => {
        lines.push(getLine(shapes.toName, outcome))
        recorder.onOutcome(...outcome)
      },
    }),
  )
  const text = [...lines, "", ...shapes.list(), ""].join("\n")
  return { ...recorder.end(), received: received(), text }
})

class Run extends Context.Service<Run, Effect.Success<ReturnType<typeof record>>>()("test/Run") {
  static readonly layer = Layer.effect(Run, record(false))
}

/** Pairs that differ, from shortly before where they do; the first few. */
const differing = (before: ReadonlyArray<string>, after: ReadonlyArray<string>) =>
  Array.from({ length: Math.max(before.length, after.length) }, (_, index) => index)
    .filter((index) => before[index] !== after[index])
    .slice(0, 10)
    .map((index) => {
      const [one = "", other = ""] = [before[index], after[index]]
      const at = [...one].findIndex((each, place) => each !== other[place])
      const start = Math.max(0, at - 200)
      return [one.slice(0, 40), one.slice(start, start + 400), other.slice(start, start + 400)]
    })

layer(Run.layer)("a fixed run of the fuzzer", (it) => {
  it.effect("gets the golden file's answers", () =>
    Effect.gen(function* () {
      const { text } = yield* Run
      yield* Effect.promise(() => expect(text).toMatchFileSnapshot(golden))
    }),
  )

  it.effect("gets the same answers and calls while another workspace has conversations", () =>
    Effect.gen(function* () {
      const before = yield* Run
      assert.strictEqual(before.received, 0)
      assert.isAbove(before.calls.length, 100)
      const after = yield* record(true)
      assert.isAbove(after.received, requests / 5)
      assert.deepStrictEqual(differing(before.answers, after.answers), [])
      assert.deepStrictEqual(differing(before.calls, after.calls), [])
    }),
  )
})
