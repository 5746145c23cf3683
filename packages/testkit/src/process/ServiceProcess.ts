/**
 * The service as real processes, for tests that start, stop, kill and freeze them. A process runs on the
 * test's own Node, in an environment with only the test's variables, and never outlives the test's scope.
 *
 * Waits are for output or actions of a process, in real time and bounded: nothing sleeps and hopes.
 */
import { Clock, Data, Deferred, Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { readFile } from "node:fs/promises"
import { getTemporaryDirectory } from "../temporary.ts"

/**
 * Machines are noisy: only a hang waits so long. A little less than the limit of a hook, which would not say what
 * was awaited. Milliseconds.
 */
const patienceMillis = 280_000

export class ProcessError extends Data.TaggedError("ProcessError")<{ readonly message: string }> {}

/** A process's exit and all of its output. */
export interface Ending {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface ServiceProcess {
  readonly pid: number
  /** Its standard output so far. */
  readonly stdout: Effect.Effect<string>
  /** Waits until standard output matches; fails when the process ends before it does. */
  awaitOutput(pattern: RegExp): Effect.Effect<RegExpExecArray, ProcessError>
  /** Waits until it ends by itself. */
  readonly ended: Effect.Effect<Ending, ProcessError>
  /** SIGTERM, and waits for the end. */
  readonly stop: Effect.Effect<Ending, ProcessError>
  /** SIGKILL, and waits for the end. */
  readonly kill: Effect.Effect<Ending, ProcessError>
  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): Effect.Effect<void>
  /** Stops its clockwork without ending it, like a machine under overload. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

/** A secrets key that processes on one database must share; an empty one leaves it to the process. */
export const secretsKey = "5ec2e7".padEnd(64, "0")

/**
 * Of the test's own environment. Programs that end by themselves leave compiled code in Node's
 * compile cache, where the test has one, and later ones start in half the time.
 */
const inherited = Object.fromEntries(
  ["PATH", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

/**
 * The embedded database is WebAssembly: in the few seconds of a test's process, optimized
 * compilation costs more than it saves. Without that database the flag is absent: with one of V8's,
 * Node recompiles its own modules, which takes a tenth of a start.
 */
const flagsFor = ({ DATABASE_URL = "" }: Readonly<Record<string, string>>) =>
  DATABASE_URL === "" ? ["--liftoff-only"] : []

/** Calls once the process has ended and its last output is read, which the next turn of the loop does. */
const afterExit = (
  child: ChildProcess,
  ended: (code: Ending["code"], signal: Ending["signal"]) => void,
): void => {
  // Not "close": it waits for a child of the process that still holds its output.
  child.once("exit", (code, signal) => setImmediate(() => setImmediate(ended, code, signal)))
}

/** Starts a program, the path of a source file; it is killed when the scope closes. */
export const start = Effect.fnUntraced(function* (
  program: string,
  environment: Readonly<Record<string, string>>,
  parameters: ReadonlyArray<string> = [],
): Effect.fn.Return<ServiceProcess, never, Scope.Scope> {
  const ending = yield* Deferred.make<Ending>()
  const output = { stdout: "", stderr: "" }
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of listeners) listener()
  }

  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const spawned = spawn(process.execPath, [...flagsFor(environment), program, ...parameters], {
        env: { ...inherited, SECRETS_KEY: secretsKey, ...environment },
        stdio: ["ignore", "pipe", "pipe"],
      })
      for (const name of ["stdout", "stderr"] as const) {
        spawned[name].setEncoding("utf8").on("data", (chunk: string) => {
          output[name] += chunk
          notify()
        })
      }
      afterExit(spawned, (code, signal) => {
        Deferred.doneUnsafe(ending, Effect.succeed({ code, signal, ...output }))
        notify()
      })
      return spawned
    }),
    (spawned) =>
      Effect.andThen(
        Effect.sync(() => spawned.kill("SIGKILL")),
        Deferred.await(ending),
      ),
  )

  const name = `${program} (${child.pid})`
  const ended = inTime(Deferred.await(ending), `${name} did not end`)
  const signal = (which: NodeJS.Signals) => Effect.sync(() => void child.kill(which))

  const awaitOutput = (pattern: RegExp) =>
    Effect.callback<RegExpExecArray, ProcessError>((resume) => {
      const check = () => {
        const match = pattern.exec(output.stdout)
        if (match !== null) resume(Effect.succeed(match))
        else if (Deferred.isDoneUnsafe(ending)) {
          resume(
            Effect.fail(new ProcessError({ message: `${name} ended before ${pattern.source}` })),
          )
        }
      }
      listeners.add(check)
      check()
      return Effect.sync(() => listeners.delete(check))
    })

  return {
    pid: child.pid ?? 0,
    stdout: Effect.sync(() => output.stdout),
    awaitOutput: (pattern) =>
      Effect.mapError(
        inTime(awaitOutput(pattern), `${name} never said ${pattern.source}`),
        ({ message }) =>
          new ProcessError({ message: `${message}\n${output.stdout}\n${output.stderr}` }),
      ),
    ended,
    stop: Effect.andThen(signal("SIGTERM"), ended),
    kill: Effect.andThen(signal("SIGKILL"), ended),
    signal,
    freeze: signal("SIGSTOP"),
    thaw: signal("SIGCONT"),
  }
})

/**
 * Variables for a program that says so on standard error when it still runs that long after a signal to stop. Its
 * own timers tell: a busy machine delays them as it delays the stop.
 */
export const tellsLateStop = (millis: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    `const tell = () => process.stderr.write("still running after ${millis} ms\\n")
    for (const signal of ["SIGTERM", "SIGINT"])
      process.once(signal, () => setTimeout(tell, ${millis}).unref())`,
  )}`,
})

/** A server that is ready. */
export interface ServerProcess extends ServiceProcess {
  /** `http://HOST:PORT`, as it reports. */
  readonly url: string
}

/** Starts the HTTP app and waits until it is ready. */
export const startServer = Effect.fnUntraced(function* (
  program: string,
  environment: Readonly<Record<string, string>>,
): Effect.fn.Return<ServerProcess, ProcessError, Scope.Scope> {
  const process = yield* start(program, environment)
  const [, url = ""] = yield* process.awaitOutput(/listening on (http:\/\/[^\s"]+)/)
  return { ...process, url }
})

/** The lines of a first start with a secret, or the file that holds it. */
const tellings = {
  operatorToken: /Operator token, stored in ([^\s\\]+)/,
  liveKey: /live key +([^\s\\]+)/,
  testKey: /test key +([^\s\\]+)/,
  keyV1: /version 1 key +([^\s\\]+)/,
}

/** The secrets in the files of a first start. */
export const storedSecrets = (stdout: string) =>
  Effect.promise(async () => {
    const secrets: { -readonly [name in keyof typeof tellings]?: string } = {}
    for (const name of ["operatorToken", "liveKey", "testKey", "keyV1"] as const) {
      const file = tellings[name].exec(stdout)?.[1]
      if (file !== undefined) secrets[name] = (await readFile(file, "utf8")).trim()
    }
    return secrets
  })

/** Most polls ask another process, which has its own work to do on the same cores. */
const growing = Schedule.min([Schedule.exponential(10, 1.3), Schedule.spaced(250)])

/** Polls until `check` finds something; `what` is the failure's text. */
export const waitUntil = <A, E, R>(
  what: string,
  check: Effect.Effect<A | undefined, E, R>,
  pauses: Schedule.Schedule<unknown> = growing,
): Effect.Effect<A, E | ProcessError, R> =>
  inTime(
    check.pipe(
      Effect.repeat({ schedule: pauses, until: (found) => found !== undefined }),
      Effect.map((found) => found as A),
    ),
    `waited in vain until ${what}`,
  )

/** Pauses that grow to a second: a key has 60 requests a minute, and a faster test would exceed them. */
export const ofOneKey = Schedule.min([Schedule.exponential(20, 1.3), Schedule.spaced(1000)])

/** Undefined when the effect takes longer, in real milliseconds. */
export const within = <A, E, R>(
  millis: number,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A | undefined, E, R> =>
  Effect.timeoutOrElse(effect, { duration: millis, orElse: () => Effect.undefined }).pipe(
    Effect.provideService(Clock.Clock, realClock),
  )

const realClock = Clock.Clock.defaultValue()

/** Bounds a wait in real time; a test's clock does not govern it. */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>, complaint: string) =>
  effect.pipe(
    Effect.timeoutOrElse({
      duration: patienceMillis,
      orElse: () => Effect.fail(new ProcessError({ message: complaint })),
    }),
    Effect.provideService(Clock.Clock, realClock),
  )

/** An empty directory that goes with the scope. */
export const temporaryDirectory = getTemporaryDirectory()

/** The same on a disk, for measurements. */
export const directoryOnDisk = getTemporaryDirectory({ onDisk: true })
