/**
 * Live numbers and the bare library, linked at one remote server: the start of the rows about live
 * numbers. Each process continues where the previous one ended.
 */
import {
  NumberOwnership,
  layerStoredSecrets,
  SecretsKey,
  SessionVault,
  WakeUp,
} from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { layerCryptoIds } from "@messaging-service/node"
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Scope } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { loadWorkspaces } from "../database/fixture.ts"
import { CheckFailed } from "../measuring/checks.ts"
import { secretsKey } from "../serving/service.ts"
import { storeOn } from "../Setup.ts"
import { steadyMillis } from "./commands.ts"
import type { RemoteServerCommand, Linked, Memory, Processor, Timing, Started } from "./commands.ts"
import type { Platform } from "./platforms.ts"
import { startProgram } from "../measuring/programs.ts"
import type { Program } from "../measuring/programs.ts"

const workerProgram = import.meta.resolve("../../../worker/src/main.ts")

/** Phones count up from the first: those of the service's numbers, and those of the bare sockets. */
const firstPhone = { service: 15_550_000_001, bare: 15_560_000_001 }

/** How long connections of an ended process may stay open at the remote server. */
const offlineMillis = 20_000

/** The recipient of all messages. */
export const recipient = "15551234567"

/**
 * A process is quiet when it takes less than a twentieth of a processor for a quarter of a second.
 * Each connection may take a little more, for its keep-alive.
 */
const quiet = { millis: 250, micros: 12_500, microsOfEach: 50, longestMillis: 120_000 }

export interface Running {
  readonly program: Program
  /** From the first connection to the last. */
  readonly connected: Timing
}

/** The service's worker, or the bare library. */
export interface Side {
  readonly name: string
  /** Its process with this many devices, once all of them are connected. */
  start(devices: number): Effect.Effect<Running, CheckFailed, Scope.Scope>
}

export interface Stage {
  readonly database: BenchDatabase
  readonly service: Side
  readonly bare: Side
  /** Links this many of the service's numbers in its store, without a connection. */
  link(devices: number): Effect.Effect<void, CheckFailed>
  remoteServer<A>(command: RemoteServerCommand): Effect.Effect<A, CheckFailed>
}

const requested =
  <A>(command: object) =>
  (program: Program): Effect.Effect<A, CheckFailed> =>
    Effect.map(program.request(command), (reported) => reported as A)

export const getMemory = requested<Memory>({ kind: "memory" })
export const getProcessor = requested<Processor>({ kind: "processor" })

/** Waits until a process with this many devices is idle. */
export const untilIdle = Effect.fnUntraced(function* untilIdle(program: Program, devices: number) {
  const max = quiet.micros + quiet.microsOfEach * devices
  const until = steadyMillis() + quiet.longestMillis
  let used = Infinity
  while (steadyMillis() < until) {
    const before = yield* getProcessor(program)
    yield* Effect.sleep(quiet.millis)
    used = (yield* getProcessor(program)).micros - before.micros
    if (used < max) return
  }
  return yield* new CheckFailed({
    message: `a process with ${devices} devices is never quiet: ${used} µs in ${quiet.millis} ms`,
  })
})

/** Writes the credentials where the bare sockets read them. */
const keysFile = (directory: string, credentials: ReadonlyArray<string>) =>
  Effect.sync(() => {
    const path = join(directory, "keys.sqlite")
    const keys = new DatabaseSync(path)
    keys.exec(
      `create table keys (
        device integer, type text, id text, value text, primary key (device, type, id)
      ) without rowid`,
    )
    const insert = keys.prepare("insert into keys values (?, 'creds', '', ?)")
    credentials.forEach((text, device) => insert.run(device, text))
    keys.close()
    return path
  })

/** The remote server, with this many devices of the service and of bare sockets. */
const openRemote = Effect.fnUntraced(function* openRemote(
  platform: Platform,
  directory: string,
  devices: number,
) {
  const program = yield* startProgram(platform.remoteServer, { DIRECTORY: directory })
  const { settings } = (yield* program.next) as Started
  const request = <A>(command: RemoteServerCommand) => requested<A>(command)(program)
  yield* request({ kind: "person", number: recipient })
  const linkFrom = (first: number) => request<Linked>({ kind: "link", first, count: devices })
  const numbers = yield* linkFrom(firstPhone.service)
  const sockets = yield* linkFrom(firstPhone.bare)
  return { settings, request, numbers, sockets }
})

type RemoteProgram = Effect.Success<ReturnType<typeof openRemote>>

/** Stores sessions for the service's numbers, as if they had been linked. */
const openLinking = Effect.fnUntraced(function* openLinking(
  platform: Platform,
  database: BenchDatabase,
  { numbers }: RemoteProgram,
) {
  const vault = Context.get(
    yield* Layer.build(
      SessionVault.layer.pipe(
        Layer.provide([layerStoredSecrets, NumberOwnership.layerAll, WakeUp.layerLocal]),
        Layer.provide(SecretsKey.layerHex(secretsKey)),
        Layer.provide(layerCryptoIds),
        Layer.provide(storeOn(database, 2)),
      ),
    ).pipe(Effect.orDie),
    SessionVault,
  )
  let linked = 0
  return Effect.fnUntraced(
    function* link(upTo: number) {
      for (; linked < upTo; linked++) {
        const number = (linked + 1) as NumberId
        const phone = String(firstPhone.service + linked)
        const { credentials, keys } = platform.stored(phone, numbers.credentials[linked] ?? "")
        yield* vault.replace(number, credentials, keys)
      }
    },
    Effect.mapError((error) => new CheckFailed({ message: error.message })),
  )
})

/** Starts a process with its first devices, and waits until all of them are connected. */
const makeSide = (
  { request }: RemoteProgram,
  name: keyof typeof firstPhone,
  open: (count: number) => Effect.Effect<Program, CheckFailed, Scope.Scope>,
): Side => ({
  name,
  start: Effect.fnUntraced(function* start(count: number) {
    const which = { first: firstPhone[name], count }
    // Runs after the process's end: its finalizer is added later.
    yield* Effect.addFinalizer(() =>
      request({ kind: "offline", ...which }).pipe(
        Effect.interruptible,
        // After a failure the remote server may be waiting for messages that never come.
        Effect.timeout(offlineMillis),
        Effect.ignore,
      ),
    )
    const program = yield* open(count)
    return { program, connected: yield* request<Timing>({ kind: "online", ...which }) }
  }),
})

/** This many numbers, each in a workspace, and as many devices of bare sockets. */
export const openStage = Effect.fnUntraced(function* openStage(
  platform: Platform,
  database: BenchDatabase,
  devices: number,
) {
  yield* loadWorkspaces(database, devices)
  yield* database.query("update numbers set platform = $1", [platform.name])
  const directory = yield* processes.directoryOnDisk
  const remote = yield* openRemote(platform, directory, devices)
  const bareKeys = yield* keysFile(directory, remote.sockets.credentials)
  const link = yield* openLinking(platform, database, remote)
  const service = makeSide(remote, "service", (count) =>
    Effect.andThen(
      link(count),
      startProgram(
        workerProgram,
        {
          DATABASE_URL: Redacted.value(database.url),
          DATA_DIR: join(directory, "data"),
          SECRETS_KEY: secretsKey,
          MAX_NUMBERS: String(devices),
          TRANSPORT: "live",
          ...remote.settings,
          LOG_LEVEL: "error",
        },
        true,
      ),
    ),
  )
  const bare = makeSide(remote, "bare", (count) =>
    startProgram(
      platform.bare,
      { KEYS_FILE: bareKeys, SOCKETS: String(count), ...remote.settings },
      true,
    ),
  )
  const stage: Stage = { database, link, remoteServer: remote.request, service, bare }
  return stage
})
