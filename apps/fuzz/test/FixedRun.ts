/** A fixed run of the fuzzer against its own server, with a clock that only the run moves. */
import { isConversationEvent } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import { isJson, makeChecker, readDocument } from "@messaging-service/testkit/openapi"
import type { DocumentObject } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import type { Scope } from "effect"
import { join, resolve } from "node:path"
import type { ReceivedCall } from "../src/oracle/calls.ts"
import { emptyReport } from "../src/report.ts"
import { run } from "../src/run.ts"
import type { Watcher } from "../src/run.ts"
import { receiver } from "../src/world/Receiver.ts"

const program = resolve(import.meta.dirname, "../../server/src/main.ts")
const operatorToken = "operator-token-of-the-fuzzer-0123456789"

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

export type Operator = ReturnType<typeof processes.anOperator>

export interface FixedRun {
  readonly requests: number
  /** Runs before the first request; what it returns runs before each. */
  readonly neighbour?: (
    operator: Operator,
    url: string,
  ) => Effect.Effect<
    Effect.Effect<unknown, processes.ProcessError>,
    processes.ProcessError,
    Scope.Scope
  >
  readonly onOutcome: Watcher["onOutcome"]
  /** Each call of the service: an event or a callback. */
  readonly onCall?: (call: ReceivedCall) => void
}

/** Starts a server, runs, and ends the server with the scope. */
export const fixedRun = Effect.fnUntraced(function* ({
  neighbour = () => Effect.succeed(Effect.void),
  onCall = () => undefined,
  onOutcome,
  requests,
}: FixedRun) {
  const origin = yield* receiver(onCall)
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
  const target = {
    host: new URL(server.url).host,
    operatorToken,
    receiver: origin,
    document: readDocument(withoutConversations(source)),
    checker: makeChecker(source),
  }
  const options = {
    seed: 1,
    requests,
    store: "memory",
    cells: 1,
    only: undefined,
    wholeCell: false,
    seconds: 600,
    privateTargets: true,
    verbose: false,
  }
  const operator = processes.anOperator(server.url, operatorToken)
  // The worker ends what is due before time moves, so each answer finds the same work done.
  const step = yield* neighbour(operator, server.url)
  const ready = Effect.andThen(step, operator.advance(momentSeconds))
  yield* Effect.promise(() =>
    run(target, options, emptyReport(), {
      ready: () => Effect.runPromise(ready),
      found: () => undefined,
      onOutcome,
      cellDone: () => Promise.resolve(),
    }),
  )
})
