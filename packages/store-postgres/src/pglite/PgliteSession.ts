/**
 * The one session of a PGlite, shared by connections. The one that opens a transaction owns it until the transaction is
 * over, while the others wait; and since all share the session, they must not name their prepared statements, and
 * settings made by one hold for all.
 *
 * Commits are synced together: PostgreSQL commits without waiting for the disk, and what is answered outside of a
 * transaction is withheld until one sync has covered it. So the commits of all connections that wait share a sync,
 * and no answer shows what a power cut could take back.
 */
import type { PGlite } from "@electric-sql/pglite"

/** Hands a connection what was answered to it. */
export type Answer = (connection: number, bytes: Uint8Array<ArrayBuffer>) => void

/** How a message of the protocol begins: its kind, and room for its length. */
const message = (kind: string, ...parts: ReadonlyArray<string | number>): Buffer => {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(`${part}\0`)
      const number = Buffer.alloc(2)
      number.writeInt16BE(part)
      return number
    }),
  )
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Writes a record of its own and syncs up to it, where something is not synced yet; also inside a transaction. */
const flushText = `select pg_logical_emit_message(false, '', '', true)
where pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()`

const flushName = "flush"

const sync = message("S")
const prepareFlush = Buffer.concat([message("P", flushName, flushText, 0), sync])
/** Bind without parameters, and execute: the limit of rows is an integer of four bytes. */
const runFlush = Buffer.concat([message("B", "", flushName, 0, 0, 0), message("E", "", 0, 0), sync])

const errorResponse = 0x45
const readyForQuery = 0x5a
/** Status of a transaction that failed, in which nothing runs but its end. */
const failedTransaction = 0x45

/** The session's status, which ends the answer to a whole turn. */
const getStatus = (answer: Uint8Array): number | undefined =>
  answer.at(-6) === readyForQuery ? answer.at(-1) : undefined

interface Withheld {
  readonly connection: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** What other connections have sent meanwhile comes first. */
const othersCame = () => new Promise<void>((come) => setImmediate(come))

export class PgliteSession {
  readonly #database: PGlite
  readonly #answer: Answer
  readonly #withholds: boolean
  /** Turns, those of one connection as one. */
  readonly #waiting = new Map<number, Uint8Array>()
  #withheld: Array<Withheld> = []
  /** Work of our own between turns, outside of transactions. */
  readonly #errands: Array<() => Promise<void>> = []
  /** The connection with the open transaction. */
  #owner: number | undefined
  #isFailed = false
  /** The owner went away in the middle of its transaction. */
  #isAbandoned = false
  #isWorking = false
  /** How many turns there have been. */
  exchanges = 0

  /** Withholds answers until they are synced, unless the database lies in memory. */
  constructor(database: PGlite, answer: Answer, withholds: boolean) {
    this.#database = database
    this.#answer = answer
    this.#withholds = withholds
  }

  async prepare(): Promise<void> {
    if (!this.#withholds) return
    await this.#database.exec("set synchronous_commit = off")
    await this.#run(prepareFlush)
  }

  enqueue(connection: number, bytes: Uint8Array): void {
    const before = this.#waiting.get(connection)
    const turn = before === undefined ? bytes : Buffer.concat([before, bytes])
    this.#waiting.set(connection, turn)
    this.#work()
  }

  /** The connection is closed. */
  release(connection: number): void {
    this.#waiting.delete(connection)
    this.#withheld = this.#withheld.filter((each) => each.connection !== connection)
    if (this.#owner === connection) {
      this.#isAbandoned = true
      this.#work()
    }
  }

  /** Runs statements of our own once no transaction is open; the rows of the last one. */
  exec(text: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> {
    return new Promise((resolve) => {
      const errand = async () => {
        const done = this.#database.exec(text)
        resolve(done.then((results) => results.at(-1)?.rows ?? []))
        await done.catch(() => undefined)
      }
      this.#errands.push(errand)
      this.#work()
    })
  }

  #work(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    void this.#turns()
  }

  /**
   * One turn after the other: of the owner, if there is one, else of the client that has waited
   * longest. Once there is none, what was withheld is synced and answered.
   */
  async #turns(): Promise<void> {
    for (;;) {
      if (this.#isAbandoned) await this.#rollBack()
      const next = this.#next()
      if (next !== undefined) {
        await this.#turn(...next)
        continue
      }
      if (this.#withheld.length > 0 && !this.#isFailed) {
        await othersCame()
        if (this.#next() === undefined) await this.#flush()
        continue
      }
      const errand = this.#owner === undefined ? this.#errands.shift() : undefined
      if (errand === undefined) {
        // In the same turn as the look: a client that comes next must find that no turn is running.
        this.#isWorking = false
        return
      }
      await errand()
    }
  }

  #next(): readonly [number, Uint8Array] | undefined {
    const connection = this.#owner ?? this.#waiting.keys().next().value
    const bytes = connection === undefined ? undefined : this.#waiting.get(connection)
    return connection === undefined || bytes === undefined ? undefined : [connection, bytes]
  }

  async #turn(connection: number, bytes: Uint8Array): Promise<void> {
    this.exchanges++
    this.#waiting.delete(connection)
    // Should this turn begin a transaction, its answer must not overtake that one.
    if (this.#withheld.some((each) => each.connection === connection)) await this.#flush()
    const answer = await this.#run(bytes)
    this.#owner = this.#database.isInTransaction() ? connection : undefined
    this.#isFailed = this.#owner !== undefined && getStatus(answer) === failedTransaction
    // Inside a transaction the client has to go on; what it sees there it answers for only at the end.
    if (this.#owner === undefined && this.#withholds) {
      this.#withheld.push({ connection, bytes: answer })
    } else {
      this.#answer(connection, answer)
    }
  }

  async #run(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Array<Uint8Array> = []
    // Not execProtocolRaw: that parses each answer too, and never frees what it has parsed.
    await this.#database.execProtocolRawStream(bytes, {
      // The bytes are PGlite's own memory, which it writes over.
      onRawData: (part) => void parts.push(part.slice()),
    })
    const [only] = parts
    return only !== undefined && parts.length === 1
      ? (only as Uint8Array<ArrayBuffer>)
      : new Uint8Array(Buffer.concat(parts))
  }

  async #flush(): Promise<void> {
    const flushed = this.#withheld
    this.#withheld = []
    const answer = await this.#run(runFlush)
    if (answer[0] === errorResponse || getStatus(answer) === undefined) {
      throw new Error(`a sync of the embedded database failed: ${Buffer.from(answer).toString()}`)
    }
    for (const { bytes, connection } of flushed) this.#answer(connection, bytes)
  }

  /** What its owner left open. */
  async #rollBack(): Promise<void> {
    if (this.#database.isInTransaction()) await this.#database.exec("rollback")
    this.#isAbandoned = false
    this.#isFailed = false
    this.#owner = undefined
  }
}
