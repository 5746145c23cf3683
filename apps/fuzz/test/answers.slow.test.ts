/**
 * The answers to a fixed run of the fuzzer, in a golden file: status, code, names of headers and of
 * fields for each request. It contains no wording, which may improve. CONTRIBUTING, "Golden files",
 * has the command that writes it.
 */
import { expect, it } from "@effect/vitest"
import { isConversationEvent } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import {
  headersOfHttp,
  isJson,
  makeChecker,
  readDocument,
} from "@messaging-service/testkit/openapi"
import type { DocumentObject } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { join, resolve } from "node:path"
import { emptyReport } from "../src/report.ts"
import type { Shot } from "../src/request/Shot.ts"
import { run } from "../src/run.ts"
import type { Watcher } from "../src/run.ts"
import type { WireAnswer } from "../src/wire/AnswerReader.ts"
import { receiver } from "../src/world/Receiver.ts"

const program = resolve(import.meta.dirname, "../../server/src/main.ts")
const golden = join(import.meta.dirname, "golden/answers.txt")
const operatorToken = "operator-token-of-the-fuzzer-0123456789"

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

/**
 * Stops the service's clock before any of its code runs: only the run moves it. Otherwise a rate limit would
 * end wherever a minute of the machine does.
 */
const stoppedClock = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    `Date.now = () => ${Date.parse("2026-01-15T12:00:00Z")}`,
  )}`,
}

/** A moment of service time. */
const momentSeconds = 0.001

/**
 * The document as workspaces without conversations know it, and without the emulator's receivers and the page
 * of operations: the run asks them the same as before there were any, and so finds a change that they would see.
 */
const withoutConversations = ({ paths = {}, ...source }: DocumentObject): DocumentObject => {
  const isOwn = (name: unknown) =>
    isConversationEvent(name) || (typeof name === "string" && name.startsWith("chats:"))
  const ownFields = ["chat_id", "reply_to"]
  const isOwnRecipient = (schema: unknown) =>
    isJson(schema) && isJson(schema["properties"]) && "chat_id" in schema["properties"]
  const others = Object.entries(paths).filter(
    ([path]) =>
      path !== "/docs/operations" &&
      !/\/(?:conversations|received-messages|chats|read-marks|react|away|gap|restrictions|receivers)(?:\/|$)/.test(
        path,
      ),
  )
  const known = JSON.stringify({ ...source, paths: Object.fromEntries(others) }, (key, value) => {
    if (Array.isArray(value)) return value.filter((each) => !isOwn(each) && !isOwnRecipient(each))
    return key === "properties" && isJson(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => !ownFields.includes(name)))
      : value
  })
  return JSON.parse(known)
}

const answers = Effect.gen(function* () {
  const origin = yield* receiver(() => undefined)
  const server = yield* processes.startServer(program, {
    PORT: "0",
    DATA_DIR: join(yield* processes.temporaryDirectory, "data"),
    OPERATOR_TOKEN: operatorToken,
    SEED_EXAMPLE: "false",
    CLOCK: "adjustable",
    ...stoppedClock,
    // Whether its pages are built differs from clone to clone.
    DASHBOARD: "false",
    ALLOW_PRIVATE_TARGETS: "true",
    LOG_LEVEL: "error",
    DATABASE_URL: "memory:",
  })
  const { body: source } = yield* processes.call<DocumentObject>(
    "GET",
    `${server.url}/openapi.json`,
  )
  // Compressing the page takes longer than the fuzzer waits; it happens once for each coding.
  for (const coding of ["br", "gzip"]) {
    yield* Effect.promise(async () => {
      const page = await fetch(`${server.url}/docs`, { headers: { "accept-encoding": coding } })
      await page.arrayBuffer()
    })
  }
  const lines: Array<string> = []
  const shapes = makeShapes()
  const target = {
    host: new URL(server.url).host,
    operatorToken,
    receiver: origin,
    document: readDocument(withoutConversations(source)),
    checker: makeChecker(source),
  }
  const options = {
    seed: 1,
    requests: 3200,
    store: "memory",
    cells: 1,
    only: undefined,
    wholeCell: false,
    seconds: 600,
    privateTargets: true,
    verbose: false,
  }
  const operator = processes.anOperator(server.url, operatorToken)
  yield* Effect.promise(() =>
    run(target, options, emptyReport(), {
      // The worker ends what is due before time moves, so each answer finds the same work done.
      ready: () => Effect.runPromise(operator.advance(momentSeconds)),
      found: () => undefined,
      onOutcome: (...received) => void lines.push(getLine(shapes.toName, received)),
      cellDone: () => Promise.resolve(),
    }),
  )
  return [...lines, "", ...shapes.list(), ""].join("\n")
})

it.effect("a fixed run of the fuzzer gets the golden file's answers", () =>
  Effect.gen(function* () {
    const text = yield* Effect.scoped(answers)
    yield* Effect.promise(() => expect(text).toMatchFileSnapshot(golden))
  }),
)
