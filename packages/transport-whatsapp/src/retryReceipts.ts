/**
 * Serves retry receipts until a resend is acknowledged. The library serves each receipt once and
 * acknowledges it at once, whatever becomes of the copy; a lost copy would never be read. So a request
 * stays open across connections, and WhatsApp gets its acknowledgement only at the end, so that the
 * next process receives what this one leaves open.
 */
import { readdir, stat, unlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sleepInRealTime } from "@messaging-service/core"
import { getBinaryNodeChild } from "baileys"
import type { BinaryNode, CacheStore } from "baileys"
import { Effect } from "effect"
import { afterNack } from "./outcomes.ts"

/** Open retry requests, by message and recipient. */
export type RetryRequests = Map<string, BinaryNode>

/** Above this a request gets one copy only, as in the library. */
const maxRequests = 1000

const maxTries = 4

/** Bounds the library's own counts of resends. */
const maxCounts = 10_000

type Word = string | null

interface Resender {
  /**
   * Hands copies over until one is acknowledged, refused for good, or the tries end. True when the
   * receipt may be acknowledged: with a later one that replaced it, if any, and not when another
   * connection has to answer it.
   */
  serve(request: BinaryNode, handOver: () => Promise<void>): Promise<boolean>
  /** The answer to the message's first copy is pending; it comes before the answers to resends. */
  expectsFirst(id: string): void
  /** WhatsApp's answer to a message: its error code, null for an acknowledgement. */
  heard(id: string, word: Word): void
  /** The connection is over; open requests wait for the next one. */
  over(): void
  readonly counts: CacheStore
}

/** The number of this retry, if the receipt has one. */
const countIn = (request: BinaryNode) => getBinaryNodeChild(request, "retry")?.attrs["count"]

/** The same request for the library; without a readable tag the library cannot acknowledge it. */
export const unacknowledged = ({ attrs, content }: BinaryNode): BinaryNode => ({
  attrs,
  ...(content === undefined ? {} : { content }),
  get tag(): string {
    throw new Error("a request that is not answered yet is not acknowledged")
  },
})

/** Undefined when the time or `end` comes first. */
const within = async <A>(
  millis: number,
  promise: Promise<A>,
  end: Promise<undefined>,
): Promise<A | undefined> => {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, millis, undefined)
  try {
    return await Promise.race([promise, tooLate, end])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs work of the same id one after the other. */
const makeTurns = () => {
  const queues = new Map<string, Promise<unknown>>()
  return async <A>(id: string, work: () => Promise<A>): Promise<A> => {
    const before = queues.get(id)
    const own = before === undefined ? work() : before.then(work, work)
    queues.set(id, own)
    try {
      return await own
    } finally {
      if (queues.get(id) === own) queues.delete(id)
    }
  }
}

const makeCounts = (): CacheStore => {
  const counted = new Map<string, unknown>()
  return {
    get: <A>(key: string) => counted.get(key) as A | undefined,
    set: (key, value) => {
      if (counted.size >= maxCounts) counted.clear()
      counted.set(key, value)
    },
    del: (key) => void counted.delete(key),
    flushAll: () => counted.clear(),
  }
}

/** Hands copies over and takes WhatsApp's answers to them. */
const makeCopies = (answerMillis: number, end: Promise<undefined>) => {
  const firstsOut = new Set<string>()
  /** By message. An answer names no recipient, so one message has one copy under way at a time. */
  const underWay = new Map<string, { readonly hear: (word: Word) => void }>()

  /** Whether WhatsApp took the copy, or refused it for good. */
  const isAnswered = async (id: string, handOver: () => Promise<void>): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<Word>()
    underWay.set(id, { hear: resolve })
    try {
      await handOver()
      const word = await within(answerMillis, promise, end)
      return word === null || (word !== undefined && afterNack(word, 0)._tag === "Refused")
    } finally {
      underWay.delete(id)
    }
  }

  return {
    isAnswered,
    expectsFirst: (id: string) => void firstsOut.add(id),
    heard: (id: string, word: Word) => {
      if (word !== null || !firstsOut.delete(id)) underWay.get(id)?.hear(word)
    },
  }
}

/** A request that this connection answers, and what `serve` says of it. */
interface Served {
  readonly request: BinaryNode
  readonly settled: Promise<boolean>
}

export const makeResender = ({
  pauseMillis,
  requests,
}: {
  readonly requests: RetryRequests
  /** The first pause between two copies, in real time; it doubles. An answer may take twice as long. */
  readonly pauseMillis: number
}): Resender => {
  const sequentially = makeTurns()
  const counts = makeCounts()
  /** The latest requests, by message and recipient. */
  const served = new Map<string, Served>()
  const end = Promise.withResolvers<undefined>()
  const { expectsFirst, heard, isAnswered } = makeCopies(2 * pauseMillis, end.promise)
  let isOver = false

  /** Hands copies over until one is answered; whether one was. */
  const resend = async (
    { id, key, request }: { id: string; key: string; request: BinaryNode },
    handOver: () => Promise<void>,
  ): Promise<boolean> => {
    // A later request of the same recipient has newer keys and replaces this one.
    const isRequested = () => !isOver && requests.get(key) === request
    let isDone = false
    for (let tries = 0; tries < maxTries && !isDone && isRequested(); tries++) {
      isDone = await sequentially(id, async () => {
        if (!isRequested()) return false
        // The library would send no more than two copies.
        if (tries > 0) void counts.del(key)
        return (await isAnswered(id, handOver)) && requests.get(key) === request
      })
      if (!isDone && isRequested()) await within(pauseMillis * 2 ** tries, end.promise, end.promise)
    }
    return isDone
  }

  const serve: Resender["serve"] = async (request, handOver) => {
    const { from = "", id = "", participant = from } = request.attrs
    const key = `${id}:${participant}`
    if (requests.size >= maxRequests && !requests.has(key)) {
      await handOver()
      return true
    }
    const before = served.get(key)
    // WhatsApp repeats unacknowledged requests on a new connection, which may serve this one already.
    if (before !== undefined && countIn(before.request) === countIn(request)) return false
    const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>()
    const own: Served = { request, settled }
    served.set(key, own)
    requests.set(key, request)
    let isSettled: boolean | Promise<boolean> = false
    try {
      const isDone = await resend({ id, key, request }, handOver)
      const latest = served.get(key)
      // Both requests have one name: an acknowledgement now would end the later one too.
      const isLater = latest !== undefined && latest !== own
      isSettled = isLater ? latest.settled : isDone || !isOver
      if (isSettled === true && requests.get(key) === request) requests.delete(key)
    } finally {
      if (served.get(key) === own) served.delete(key)
      settle(isSettled)
    }
    return isSettled
  }

  const over = () => {
    isOver = true
    end.resolve(undefined)
  }

  return { serve, expectsFirst, heard, over, counts }
}

// Left files: a killed process leaves encrypted copies in the system's temporary directory

const isCopy = (name: string): boolean => /^(?:image|document)3EB0[0-9A-F]+-enc$/.test(name)

/** No upload takes so long. */
const leftMillis = 60 * 60_000

/** Fails when another process owns or deleted the file. Files carry the system's time. */
const deleteOld = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > leftMillis) await unlink(file)
}

const sweep = async (): Promise<void> => {
  const directory = tmpdir()
  const copies = (await readdir(directory)).filter(isCopy)
  await Promise.allSettled(copies.map((name) => deleteOld(join(directory, name))))
}

/** Deletes left files now and every hour. */
export const sweepLeftFiles: Effect.Effect<never> = Effect.gen(function* sweepLeftFiles() {
  yield* Effect.ignore(Effect.tryPromise(sweep))
  yield* sleepInRealTime(leftMillis)
}).pipe(Effect.forever)
