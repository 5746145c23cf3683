/**
 * Base of every row: its own PostgreSQL, durable as in production, with a template that holds the
 * service's tables; and the amount of work in a run.
 */
import { layer as layerPostgres } from "@messaging-service/store-postgres"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { openDatabase } from "./database/BenchDatabase.ts"
import type { BenchDatabase } from "./database/BenchDatabase.ts"
import { findPgbench } from "./database/Script.ts"

/** Durable, and with room enough that no checkpoint falls into a run by chance. */
export const serverSettings: Readonly<Record<string, string>> = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "1GB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
  max_connections: "400",
}

/** The same without waiting for the disk: no figure of a smoke run is looked at. */
export const smokeSettings: Readonly<Record<string, string>> = {
  ...serverSettings,
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
}

export interface Sizes {
  /** Rounds that count. */
  readonly rounds: number
  /** How long one run sends, where a run is a time. */
  readonly seconds: number
  /** Workspaces, each with a number and a key, where there are many. */
  readonly workspaces: number
  /** Batches of one run. */
  readonly batches: number
  /** Messages that one run dispatches. */
  readonly dispatched: number
  /** Events that one run delivers. */
  readonly delivered: number
  /** Messages that wait while claims are made. */
  readonly waiting: number
  /** Messages of the long list. */
  readonly listed: number
  /** The page of the list that is compared with the first. */
  readonly deepPage: number
  /** Messages overdue on numbers that are logged out. */
  readonly stuck: number
  /** Calls of one run, where a run is a number of calls. */
  readonly calls: number
  /** Requests with a wrong key that an attacker pipelines on each of its connections. */
  readonly pipelined: number
  /** Live numbers that are connected by one process. */
  readonly sessions: number
  /** Telegram accounts that are connected by one process. */
  readonly telegramSessions: number
  /** Live numbers that send, and the messages of each in one run. */
  readonly liveNumbers: number
  readonly liveMessages: number
  /** Messages of one run that are sent one by one. */
  readonly liveCalls: number
}

export const fullSizes: Sizes = {
  rounds: 5,
  seconds: 2,
  workspaces: 2000,
  batches: 40,
  dispatched: 10_000,
  delivered: 20_000,
  waiting: 1_000_000,
  listed: 2_000_000,
  deepPage: 10_000,
  stuck: 100_000,
  calls: 60,
  pipelined: 5000,
  sessions: 500,
  telegramSessions: 200,
  liveNumbers: 200,
  liveMessages: 10,
  liveCalls: 40,
}

/** The same rows, small enough to end within half a minute in total: it shows that they work. */
export const smokeSizes: Sizes = {
  rounds: 1,
  seconds: 0.1,
  workspaces: 50,
  batches: 2,
  dispatched: 200,
  delivered: 200,
  waiting: 5000,
  listed: 5000,
  deepPage: 100,
  stuck: 500,
  calls: 10,
  pipelined: 100,
  sessions: 2,
  telegramSessions: 2,
  liveNumbers: 2,
  liveMessages: 3,
  liveCalls: 2,
}

export interface Setup {
  readonly sizes: Sizes
  /** Path of pgbench; null where it is not installed. */
  readonly pgbench: string | null
  /** A new database with the service's tables and nothing in them. */
  readonly database: Effect.Effect<BenchDatabase, never, Scope.Scope>
}

/** The store's layer on a database, with a pool of that size. */
export const storeOn = ({ database, path, username }: TestDatabase, maxConnections: number) =>
  layerPostgres({ database, path, username, maxConnections })

export const openSetup = Effect.fnUntraced(function* openSetup(sizes: Sizes) {
  const cluster = yield* EmbeddedPostgres
  const template = yield* cluster.createDatabase()
  // Building the store once brings the template's tables up to date.
  yield* Effect.scoped(Layer.build(storeOn(template, 4)))
  const pgbench = yield* findPgbench
  const setup: Setup = {
    sizes,
    pgbench,
    database: Effect.orDie(Effect.flatMap(cluster.createDatabase(template.database), openDatabase)),
  }
  return setup
})
