/** What a service is composed of: the choices that the apps and the front door leave to those who start it. */
import type { SecretsKeys } from "@messaging-service/core"
import type { DatabaseOptions } from "@messaging-service/store-postgres"
import type { Redacted } from "effect"
import { totalmem } from "node:os"
import { getHeapStatistics } from "node:v8"
import type { TransportChoice } from "./transports.ts"

/** Where everything is kept. */
export type StoreChoice =
  /** In this process, and gone with it. */
  | { readonly kind: "memory" }
  /** PostgreSQL inside this process, in the data directory. */
  | { readonly kind: "embedded" }
  /** A PostgreSQL that other processes may share; null for the schema that is used by default. */
  | {
      readonly kind: "postgres"
      readonly url: Redacted.Redacted
      readonly schema: string | null
    }
  /** The same, over a pool of the host's. */
  | {
      readonly kind: "pool"
      readonly pool: NonNullable<DatabaseOptions["pool"]>
      readonly schema: string | null
    }

export interface ComposedSettings {
  /** What links begin with; null for the address that the server listens on. */
  readonly publicUrl: string | null
  readonly store: StoreChoice
  /**
   * Absolute. Null beside a store in memory: then files and a secrets key are kept in memory too, and
   * nothing is written to a disk. Null beside a PostgreSQL where there is no disk: then no file can be
   * uploaded, and the secrets key must be given.
   */
  readonly dataDirectory: string | null
  /** Null for the one that is kept in the data directory. */
  readonly secretsKeys: SecretsKeys | null
  readonly transport: TransportChoice
  /** Without a worker from the start nothing is sent: what is drained later is looked at then. */
  readonly startsNoWorker?: boolean
  /**
   * Live numbers that this process takes at most, where it shares them with others; null for as many
   * as its memory has room for.
   */
  readonly maxNumbers: number | null
  readonly clock: "system" | "adjustable"
  readonly allowPrivateTargets: boolean
  /** Calls go by the host's own `fetch`, where a program opens no connections for them itself. */
  readonly callsByFetch?: boolean
  /** Bytes that the attachments of one workspace's version 1 sends may take together. */
  readonly attachmentBytes: number
  /** Bytes that media leave free on the disk; null for 1 GiB or 5 % of it, the smaller of both. */
  readonly diskReserve: number | null
  /** Days after their end that messages are erased, in every workspace; null to keep them. */
  readonly retentionDays: number | null
  /**
   * How long a stopping worker waits for what transports and receivers have in their hands, in real
   * milliseconds; the core's own bound when left out.
   */
  readonly stopMillis?: number
}

/** What the session of a busy live number takes, measured and rounded up. */
const bytesOfNumber = 6 * 1024 * 1024

/** As many live numbers as half of the memory that the process may use has room for. */
export const numbersInMemory = (): number => {
  const constrained = process.constrainedMemory()
  const memory = Math.min(
    totalmem(),
    constrained > 0 ? constrained : Infinity,
    getHeapStatistics().heap_size_limit,
  )
  return Math.max(1, Math.floor(memory / 2 / bytesOfNumber))
}
