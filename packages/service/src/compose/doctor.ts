/**
 * The command `doctor` of both apps: looks at what a start needs, with the variables of the start,
 * and says what to do about each fault. It changes no data, and a running service may go on meanwhile.
 */
import { clockSkewOf, clockVerdict, version } from "@messaging-service/core"
import type { ClockReading } from "@messaging-service/core"
import { briefly, CannotStart, examineDisk } from "@messaging-service/node"
import { Console, Effect } from "effect"
import { lookup } from "node:dns/promises"
import { constants } from "node:fs"
import { access, stat } from "node:fs/promises"
import { connect, createServer, isIP } from "node:net"
import { dirname } from "node:path"
import { databaseHosts, examineStore } from "./examine.ts"
import type { Matches } from "./examine.ts"
import type { ServiceSettings } from "./Settings.ts"
import { remoteServers } from "./transports.ts"
import type { RemoteServer } from "./transports.ts"

/** What a start would use. */
export interface Start {
  readonly service: ServiceSettings
  /** Ports that it listens on, by their variables; null for none. */
  readonly ports: Readonly<Record<string, number | null>>
}

/** `note`: worth knowing, and no fault. */
interface Finding {
  readonly state: "ok" | "note" | "fault"
  readonly check: string
  readonly found: string
  /** What to do; of faults and notes. */
  readonly mend?: string
}

const ok = (check: string, found: string): Finding => ({ state: "ok", check, found })

const fault = (check: string, found: string, mend: string): Finding => ({
  state: "fault",
  check,
  found,
  mend,
})

/** Longest wait for a name, a connection or a port. */
const longestWaitMillis = 5000

const inMebibytes = (bytes: number): string => `${Math.floor(bytes / 1024 ** 2)} MiB`

const versions = (program: string): Finding =>
  ok("versions", `${program} ${version} on Node ${process.versions.node}`)

/** The data directory, or the folder that a start would make it in. */
const existing = async (directory: string): Promise<string> => {
  const found = await stat(directory).catch(() => undefined)
  const parent = dirname(directory)
  if (found !== undefined || parent === directory) return directory
  return existing(parent)
}

const unusable = (directory: string, error: unknown): Finding =>
  fault(
    "disk",
    `${directory} cannot be used: ${briefly(error)}`,
    "give the service's user write access, or set another DATA_DIR",
  )

const disk = ({ service }: Start): Effect.Effect<Finding> => {
  const { dataDirectory, diskReserve } = service
  const inspect = Effect.gen(function* () {
    const directory = yield* Effect.tryPromise(async () => {
      const found = await existing(dataDirectory)
      await access(found, constants.R_OK | constants.W_OK | constants.X_OK)
      return found
    })
    const room = yield* examineDisk(directory, diskReserve)
    if (room === null)
      return ok("disk", `${dataDirectory} is on a disk that does not report its size`)
    const { free, reserve } = room
    const where =
      directory === dataDirectory
        ? `for ${dataDirectory}`
        : `in ${directory}; ${dataDirectory} does not exist yet, created at the first start`
    const found = `${inMebibytes(free)} free ${where}, reserve ${inMebibytes(reserve)}`
    return free < reserve
      ? fault(
          "disk",
          found,
          "free some space, or lower DISK_RESERVE; uploads are rejected until then",
        )
      : ok("disk", found)
  })
  return inspect.pipe(Effect.catch(({ cause }) => Effect.succeed(unusable(dataDirectory, cause))))
}

const clock = (reading: ClockReading): Finding => {
  const apart = `${(clockSkewOf(reading) / 1000).toFixed(1)} s ahead of the database's`
  return clockVerdict(reading, "in_step") === "in_step"
    ? ok("clock", apart)
    : fault("clock", apart, "check NTP on this machine and on PostgreSQL's")
}

const secretsKey = ({ service }: Start, isRight: boolean | null): ReadonlyArray<Finding> => {
  if (isRight === null) return []
  if (isRight) return [ok("secrets key", "it is the key of this database")]
  return [
    fault(
      "secrets key",
      service.secretsKeys === null
        ? `SECRETS_KEY is unset, and ${service.dataDirectory} has no key of this database`
        : "SECRETS_KEY is not the key of this database",
      "set the key this database was created with",
    ),
  ]
}

const mediaFiles = (
  { service: { dataDirectory } }: Start,
  hasNewest: boolean | null,
): ReadonlyArray<Finding> => {
  if (hasNewest === null) return []
  if (hasNewest) return [ok("media files", `${dataDirectory} holds those of the database`)]
  return [
    fault(
      "media files",
      `DATA_DIR does not hold the files that the database names: the newest is not in ${dataDirectory}`,
      "give every process the DATA_DIR that holds them; messages with files wait or fail until then",
    ),
  ]
}

const matchFindings = (settings: Start, matches: Matches): ReadonlyArray<Finding> => [
  ...secretsKey(settings, matches.secretsKey),
  ...mediaFiles(settings, matches.newestFile),
]

/** The database, and what only it can tell: the clock, the secrets key, the media files. */
const database = (settings: Start): Effect.Effect<ReadonlyArray<Finding>> =>
  examineStore(settings.service).pipe(
    Effect.map((found): ReadonlyArray<Finding> => {
      const sameClock = ok("clock", "the database uses this machine's; keep it right with NTP")
      switch (found.kind) {
        case "memory":
          return [
            {
              state: "note",
              check: "database",
              found: "messages are stored in memory only",
              mend: "to keep them, unset DATABASE_URL or set a PostgreSQL URL",
            },
            sameClock,
          ]
        case "embedded":
          return [embeddedStates[found.state], ...matchFindings(settings, found.matches), sameClock]
        default:
          return [
            ok(
              "database",
              `PostgreSQL ${found.version}, ${found.hasTables ? "with the service's tables" : "without tables, created at the first start"}`,
            ),
            ...matchFindings(settings, found.matches),
            clock(found.clock),
          ]
      }
    }),
    Effect.catch(({ message }) =>
      Effect.succeed([fault("database", message, "see docs/postgresql.md")]),
    ),
  )

const embeddedStates: Readonly<Record<"none_yet" | "in_use" | "free", Finding>> = {
  none_yet: ok("database", "embedded, created at the first start"),
  in_use: {
    state: "note",
    check: "database",
    found: "embedded; DATA_DIR is in use by another process",
    mend: "by this service, if it runs; otherwise stop that process, or set another DATA_DIR",
  },
  free: ok("database", "embedded; no service runs on it"),
}

/** Names that the settings need, each once. */
const dns = async (
  settings: Start,
  remotes: ReadonlyArray<RemoteServer>,
): Promise<ReadonlyArray<Finding>> => {
  const { publicUrl } = settings.service
  const names = new Set([
    ...(await databaseHosts(settings.service.store)),
    ...(publicUrl === null ? [] : [new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, "$1")]),
    ...remotes.map(({ host }) => host),
  ])
  return Promise.all(
    [...names]
      .filter((name) => isIP(name) === 0)
      .map((name) =>
        inTime(lookup(name)).then(
          ({ address }) => ok("DNS", `${name} is ${address}`),
          (error: unknown) =>
            fault(
              "DNS",
              `cannot resolve ${name}: ${briefly(error)}`,
              "check the name, and this machine's resolver",
            ),
        ),
      ),
  )
}

const inTime = <A>(work: Promise<A>): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`no response within ${longestWaitMillis / 1000} s`)),
    longestWaitMillis,
  )
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

/** Opens a connection and closes it. */
const reach = async ({ host, name, port }: RemoteServer): Promise<Finding> => {
  const socket = connect({ host, port })
  const opened = Promise.withResolvers<void>()
  socket.once("connect", () => opened.resolve()).once("error", opened.reject)
  const address = `${name} at ${host}:${port}`
  try {
    await inTime(opened.promise)
    return ok("transports", `${address} responds`)
  } catch (error) {
    return fault(
      "transports",
      `${address} does not respond: ${briefly(error)}`,
      "allow outbound connections, or set a proxy",
    )
  } finally {
    socket.on("error", () => undefined).destroy()
  }
}

/** Whether the port can be listened on now. */
const port = async (host: string, name: string, requested: number): Promise<Finding> => {
  const server = createServer()
  const listening = Promise.withResolvers<void>()
  server.once("error", listening.reject)
  server.listen({ host, port: requested, exclusive: true }, () => listening.resolve())
  try {
    await inTime(listening.promise)
    server.close()
    return ok("ports", `${name} ${requested} of ${host} is free`)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") {
      return {
        state: "note",
        check: "ports",
        found: `${name} ${requested} of ${host} is in use`,
        mend: "by this service, if it runs; otherwise choose another port",
      }
    }
    return fault(
      "ports",
      `cannot listen on ${name} ${requested} of ${host}: ${briefly(error)}`,
      "choose another HOST or port",
    )
  }
}

const ports = ({ ports: all, service }: Start) =>
  Promise.all(
    Object.entries(all).flatMap(([name, requested]) =>
      requested === null || requested === 0 ? [] : [port(service.host, name, requested)],
    ),
  )

const transports = (program: string, settings: Start) =>
  remoteServers(settings.service.transport).pipe(
    Effect.map((remotes) => ({ remotes, findings: new Array<Finding>() })),
    Effect.catch(({ message }) =>
      Effect.succeed({
        remotes: [],
        findings: [fault("transports", message, `install it where ${program} is`)],
      }),
    ),
  )

const examine = (program: string, settings: Start): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const { findings, remotes } = yield* transports(program, settings)
    const isSimulated = settings.service.transport.kind === "simulated"
    return [
      yield* disk(settings),
      ...(yield* database(settings)),
      ...(yield* Effect.promise(() => dns(settings, remotes))),
      ...(isSimulated ? [ok("transports", "simulated phones: nothing is sent")] : findings),
      ...(yield* Effect.promise(() => Promise.all(remotes.map(reach)))),
      ...(yield* Effect.promise(() => ports(settings))),
    ]
  })

const formatFindings = (findings: ReadonlyArray<Finding>): string => {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return findings
    .map(({ check, found, mend, state }) => {
      const line = `${state.padEnd(5)}  ${check.padEnd(width)}  ${found}`
      return mend === undefined ? line : `${line}\n${" ".repeat(width + 9)}-> ${mend}`
    })
    .join("\n")
}

export const doctorSummary = "Checks what a start needs, and says what to fix."

/** Prints what it found; fails when something is a fault. */
export const runDoctor = (
  program: string,
  start: Effect.Effect<Start, CannotStart>,
  [extra]: ReadonlyArray<string>,
): Effect.Effect<void, CannotStart> =>
  Effect.gen(function* () {
    if (extra !== undefined) {
      return yield* new CannotStart({ message: `unexpected argument "${extra}"` })
    }
    const found = yield* start.pipe(
      Effect.flatMap((settings) => examine(program, settings)),
      Effect.catch(({ message }) =>
        Effect.succeed([fault("settings", message, "see docs/configuration.md")]),
      ),
    )
    yield* Console.log(formatFindings([versions(program), ...found]))
    const faults = found.filter(({ state }) => state === "fault").length
    if (faults > 0) {
      return yield* new CannotStart({
        message: `${faults} ${faults === 1 ? "fault" : "faults"} found`,
      })
    }
  })
