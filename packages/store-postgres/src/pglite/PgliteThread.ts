/** An embedded database in a thread of its own, as the host sees it: connections into it, and its end. */
import type { Duplex } from "node:stream"
import { Worker } from "node:worker_threads"
import { PgliteConnection } from "./PgliteConnection.ts"

export interface ThreadOptions {
  /** Where the cluster lies; in memory without one. */
  readonly dataDir: string | undefined
  /** How often it looks whether there is something to clean up. */
  readonly housekeepingMillis: number
}

export type ToThread =
  | {
      readonly kind: "turn"
      readonly connection: number
      readonly bytes: Uint8Array<ArrayBuffer>
    }
  | { readonly kind: "release"; readonly connection: number }
  | { readonly kind: "close" }

export type FromThread =
  | { readonly kind: "open" }
  | {
      readonly kind: "answer"
      readonly connection: number
      readonly bytes: Uint8Array<ArrayBuffer>
    }
  | { readonly kind: "died"; readonly reason: string }
  /** Its housekeeping failed, and is tried again. */
  | { readonly kind: "failed"; readonly reason: string }

/** As source it is TypeScript like this module, as built or bundled JavaScript. */
const program = new URL(
  `./pgliteWorker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
)

/**
 * How long the database may answer nothing at all while it is asked: a migration may rewrite a table, and
 * takes less. Beyond that it hangs, and is ended.
 */
const longestSilenceMillis = 15 * 60_000

const looksMillis = 10_000

/** A last checkpoint takes less; a thread that is still at work then is ended. */
const longestCloseMillis = 5_000

export class PgliteThread {
  readonly #worker: Worker
  readonly #connections = new Map<number, PgliteConnection>()
  #lastConnection = 0
  /** Since when it has been asked without any answer. */
  #requestedAt: number | undefined
  /** Why it ended, once it has. */
  #reason: string | undefined
  /** Learns of housekeeping that failed. */
  onFailure: ((reason: string) => void) | undefined
  /** When it ended, with the reason. */
  readonly ended: Promise<string>
  /** When it is open; fails when it ends before. */
  readonly opened: Promise<void>
  #isOpen = false

  constructor(options: ThreadOptions) {
    // Arguments of Node that the host was started with, such as `--eval`, are not for this program.
    this.#worker = new Worker(program, { workerData: options, execArgv: [] })
    const watch = setInterval(() => this.#endWhenSilent(), looksMillis).unref()
    let saidReason: string | undefined
    this.#worker.on("error", (cause) => {
      saidReason ??= String(cause)
    })
    this.ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        clearInterval(watch)
        this.#reason = saidReason ?? `its thread ended with ${code}`
        for (const connection of this.#connections.values()) connection.destroy(this.#closedError())
        resolve(this.#reason)
      })
    })
    this.opened = new Promise((resolve, reject) => {
      this.#worker.on("message", (message: FromThread) => {
        this.#requestedAt = undefined
        switch (message.kind) {
          case "open":
            this.#isOpen = true
            return resolve()
          case "answer":
            return void this.#connections.get(message.connection)?.push(message.bytes)
          case "failed":
            return this.onFailure?.(message.reason)
          case "died":
            saidReason = message.reason
        }
      })
      void this.ended.then((reason) => reject(new Error(reason)))
    })
  }

  /** Why it ended, once it has. */
  get reason(): string | undefined {
    return this.#reason
  }

  get isOpen(): boolean {
    return this.#isOpen && this.#reason === undefined
  }

  /** A new connection; one that fails when the thread has ended. */
  readonly connect = (): Duplex => {
    const id = ++this.#lastConnection
    const connection = new PgliteConnection({
      turn: (bytes) => {
        this.#requestedAt ??= performance.now()
        this.#send({ kind: "turn", connection: id, bytes }, [bytes.buffer])
      },
      released: () => {
        this.#connections.delete(id)
        this.#send({ kind: "release", connection: id })
      },
    })
    this.#connections.set(id, connection)
    if (!this.isOpen) connection.destroy(this.#closedError())
    return connection
  }

  /** Ends it in good order, or after a while whatever it does. */
  async close(): Promise<void> {
    this.#send({ kind: "close" })
    const impatience = setTimeout(() => void this.#worker.terminate(), longestCloseMillis)
    await this.ended
    clearTimeout(impatience)
  }

  #send(message: ToThread, transfer: ReadonlyArray<ArrayBuffer> = []): void {
    if (this.#reason === undefined) this.#worker.postMessage(message, transfer)
  }

  #closedError(): Error {
    return new Error(`the embedded database is not open: ${this.#reason ?? "it is about to be"}`)
  }

  /** Where it spins, no timer of its own fires. */
  #endWhenSilent(): void {
    if (this.#requestedAt === undefined) return
    if (performance.now() - this.#requestedAt > longestSilenceMillis) void this.#worker.terminate()
  }
}
