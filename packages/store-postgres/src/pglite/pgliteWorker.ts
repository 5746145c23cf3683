/**
 * The program of the thread that an embedded database runs in. In a thread of its own it never holds up the
 * timers and sockets of the host, and can always be ended.
 */
import { parentPort, workerData } from "node:worker_threads"
import { planning } from "../database/Connection.ts"
import { DurableNodeFS, openDurable, describe } from "./DurablePglite.ts"
import { PgliteHousekeeping } from "./PgliteHousekeeping.ts"
import { PgliteSession } from "./PgliteSession.ts"
import type { FromThread, ThreadOptions, ToThread } from "./PgliteThread.ts"
import { startCluster, packedCluster } from "./cluster.ts"

const { dataDir, housekeepingMillis } = workerData as ThreadOptions

const post = (message: FromThread, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort?.postMessage(message, transfer)

/** The last line in which PostgreSQL said why it ends. */
let lastWords: string | undefined

const onLog = (line: string) => {
  const [said] = /(?:PANIC|FATAL): .*/.exec(line) ?? []
  lastWords = said ?? lastWords
}

/** Ends this thread in the same turn: what is in the memory of a dead backend must not reach the disk. */
const die = (cause: unknown): never => {
  post({ kind: "died", reason: lastWords ?? describe(cause) })
  process.exit(1)
}

const opened = async () => {
  const made = dataDir === undefined ? undefined : await startCluster(dataDir)
  const files = dataDir === undefined ? undefined : new DurableNodeFS(dataDir)
  const packed = made === undefined ? undefined : await packedCluster()
  const database = await openDurable({ files, onDeath: die, onLog, packed })
  await made?.()
  const settings = Object.entries(planning).map(([name, value]) => `set ${name} = ${value}`)
  await database.exec([...settings, "set timezone = 'UTC'"].join(";"))
  return database
}

/** Once the session has been used since the last time. */
const keepHouse = (session: PgliteSession) => {
  const housekeeping = new PgliteHousekeeping((text) => session.exec(text), performance.now())
  let failure: string | undefined
  let exchanges = session.exchanges
  const round = async () => {
    if (session.exchanges > exchanges) {
      exchanges = session.exchanges
      try {
        await housekeeping.run(performance.now())
        failure = undefined
      } catch (cause) {
        // Said once: on a full disk it fails each time.
        if (failure !== String(cause)) post({ kind: "failed", reason: String(cause) })
        failure = String(cause)
      }
    }
    setTimeout(round, housekeepingMillis)
  }
  setTimeout(round, housekeepingMillis)
}

try {
  const database = await opened()
  const answer = (connection: number, bytes: Uint8Array<ArrayBuffer>) =>
    post({ kind: "answer", connection, bytes }, [bytes.buffer])
  const session = new PgliteSession(database, answer, dataDir !== undefined)
  await session.prepare()
  if (dataDir !== undefined) keepHouse(session)
  parentPort?.on("message", (message: ToThread) => {
    switch (message.kind) {
      case "turn":
        return session.enqueue(message.connection, message.bytes)
      case "release":
        return session.release(message.connection)
      case "close":
        // In good order: with a last checkpoint.
        return void database.close().then(() => process.exit(0), die)
    }
  })
  post({ kind: "open" })
} catch (cause) {
  die(cause)
}
