/** The fuzzer: starts a server, runs, reports; ends with 1 if it found anything. */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { processes } from "@messaging-service/testkit"
import { makeChecker, readDocument } from "@messaging-service/testkit/openapi"
import type { DocumentObject } from "@messaging-service/testkit/openapi"
import { Console, Effect } from "effect"
import type { Scope } from "effect"
import { join, resolve } from "node:path"
import { readOptions } from "./options.ts"
import type { Options } from "./options.ts"
import { makeCallJudge } from "./oracle/calls.ts"
import type { ReceivedCall } from "./oracle/calls.ts"
import { isIdle, judgeUsage, lookAt } from "./oracle/usage.ts"
import type { ResourceUsage, Usage } from "./oracle/usage.ts"
import { addFinding, emptyReport, reportText } from "./report.ts"
import type { Report } from "./report.ts"
import type { Finding } from "./oracle/Finding.ts"
import { run } from "./run.ts"
import type { Watcher } from "./run.ts"
import { receiver } from "./world/Receiver.ts"

const program = resolve(import.meta.dirname, "../../server/src/main.ts")
/** Longer than all attempts of a message together when its phone hangs. */
const hangingSeconds = 600

/** Moving the clock so far takes much less, unless due work is stuck. */
const movingMillis = 120_000

const operatorToken = "operator-token-of-the-fuzzer-0123456789"

const storeVariables = (store: string): Readonly<Record<string, string>> => {
  if (store === "pglite") return {}
  return { DATABASE_URL: store === "memory" ? "memory:" : store }
}

interface Server extends processes.ServerProcess {
  readonly dataDirectory: string
}

const startServer = Effect.fnUntraced(function* startServer({
  privateTargets,
  store,
}: Options): Effect.fn.Return<Server, processes.ProcessError, Scope.Scope> {
  const directory = join(yield* processes.temporaryDirectory, "data")
  const server = yield* processes.startServer(program, {
    PORT: "0",
    DATA_DIR: directory,
    OPERATOR_TOKEN: operatorToken,
    SEED_EXAMPLE: "false",
    CLOCK: "adjustable",
    // Links lead to the fuzzer's own listener on the loopback interface, and nowhere else.
    ALLOW_PRIVATE_TARGETS: String(privateTargets),
    LOG_LEVEL: "error",
    ...storeVariables(store),
  })
  return { ...server, dataDirectory: directory }
})

/** Watches the process's resources from cell to cell. */
const makeUsageWatch = (server: Server) => {
  let first: ResourceUsage | undefined
  let peak = 0
  let cells = 0
  let files = 0
  const check = async (): Promise<ResourceUsage> => {
    const usage = await lookAt(server.pid, server.dataDirectory)
    peak = Math.max(peak, usage.memory)
    return usage
  }
  return {
    files: () => files,
    cellDone: async (filesOfCell: number) => {
      cells++
      files += filesOfCell
      // By then everything that loads late has loaded.
      if (cells === 10) first = await check()
      else if (cells % 10 === 0) await check()
    },
    /** After all connections are closed: waits for the process to become idle. */
    end: async (): Promise<Usage | null> => {
      if (first === undefined) return null
      let last = await check()
      for (let tries = 0; tries < 100 && !isIdle(first, last); tries++) {
        await new Promise((done) => setTimeout(done, 200))
        last = await check()
      }
      return { first, last, peak }
    },
  }
}

const lastWords = (text: string): string => text.slice(-3000)

/** Prints each request, and the one named by `only` in full. */
const getWatcher = (options: Options, usage: ReturnType<typeof makeUsageWatch>): Watcher => ({
  found: (text) => console.log(text),
  cellDone: usage.cellDone,
  onOutcome: (index, shot, outcome) => {
    if (!options.verbose && options.only === undefined) return
    const text = outcome?.kind === "answer" ? String(outcome.answer.status) : (outcome?.kind ?? "")
    console.log(
      `${index} ${shot.method} ${shot.target.slice(0, 120)} (${shot.about.slice(0, 80)}): ${text} ${outcome?.kind === "answer" ? outcome.answer.body.toString().slice(0, 160) : ""}`,
    )
    if (options.only !== index || outcome?.kind !== "answer") return
    console.log(shot.headers, (shot.raw ?? shot.body)?.toString("latin1").slice(0, 3000))
    console.log(outcome.answer.headers, outcome.answer.body.toString().slice(0, 3000))
  },
})

/** Ends the server, and checks the whole run: a stopped clock, leaks, a failed end. */
const endRun = Effect.fnUntraced(function* endRun(
  server: Server,
  usage: ReturnType<typeof makeUsageWatch>,
  { seed }: Options,
  report: Report,
) {
  const found = (what: Finding, about = "the whole run") =>
    addFinding(report, what, `--seed ${seed} --requests ${report.requests}`, about)
  // Phones that hang hold files and connections until their attempts run out.
  const operator = processes.anOperator(server.url, operatorToken)
  const moved = yield* processes.within(movingMillis, operator.advance(hangingSeconds))
  if (moved === undefined) found({ kind: "the clock cannot be moved on", detail: "" }, "the end")
  const used = yield* Effect.promise(usage.end)
  const left = used === null ? [] : judgeUsage(used, report.requests, usage.files())
  for (const each of left) found(each)
  const ending = yield* server.stop
  if (ending.code !== 0) {
    found({ kind: "the server did not end cleanly", detail: lastWords(ending.stderr) })
  }
  return used
})

const fuzz = Effect.gen(function* fuzz() {
  const options = yield* readOptions(process.argv.slice(2))
  // The document is read before the first request, so before the first call.
  let hear: (call: ReceivedCall) => void = () => undefined
  const origin = yield* receiver((call) => hear(call))
  const server = yield* startServer(options)
  const { body: source } = yield* processes.call<DocumentObject>(
    "GET",
    `${server.url}/openapi.json`,
  )
  const report = emptyReport()
  const checker = makeChecker(source)
  const judgeCall = makeCallJudge(checker)
  hear = (call) => {
    report.calls++
    const repeat = `--seed ${options.seed} --requests ${options.requests}`
    for (const each of judgeCall(call)) addFinding(report, each, repeat, "a call of the service")
  }
  const usage = makeUsageWatch(server)
  const started = performance.now()
  const target = {
    host: new URL(server.url).host,
    operatorToken,
    receiver: origin,
    document: readDocument(source),
    checker,
  }
  yield* Effect.promise(() => run(target, options, report, getWatcher(options, usage)))
  const seconds = (performance.now() - started) / 1000
  const used = yield* endRun(server, usage, options, report)
  yield* Console.log(reportText(report, used, seconds))
  if (report.failures.size > 0) {
    yield* Effect.sync(() => {
      process.exitCode = 1
    })
  }
})

runMain(Effect.scoped(fuzz))
