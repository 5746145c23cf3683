/**
 * Copies that recipients could not read and ask for again. The library hands each over once and tells the
 * far side at once that it has heard, whatever comes of it: a question that is refused, a connection that
 * breaks and a copy that is not taken are its end, and the message is never read. So a request is kept until
 * a copy was acknowledged, and goes with the number from one connection to the next; and only then the far
 * side hears that it was heard, so that it tells the next process of what this one leaves behind.
 */
import { readdir, stat, unlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sleepInRealTime } from "@messaging-service/core"
import { getBinaryNodeChild } from "baileys"
import type { BinaryNode, CacheStore } from "baileys"
import { Effect } from "effect"
import { afterNack } from "./outcomes.ts"

/** Requests that no acknowledged copy has answered yet, by message and recipient. */
export type AskedAgain = Map<string, BinaryNode>

/** Above these a request is answered once, as the library does. */
const mostRequests = 1000

const mostTries = 4

/** How often the library has answered a request, which it counts for itself. */
const mostCounts = 10_000

type Word = string | null

interface Resender {
  /**
   * Hands a copy over, again and again until one is acknowledged or refused for good, or none ever is.
   * Whether the far side may hear now that the request was heard: with the later one that has taken its
   * place, if any, and not where another connection has to answer it.
   */
  serve(request: BinaryNode, handOver: () => Promise<void>): Promise<boolean>
  /** The word on that message's first copy is still out: it comes before those on later ones. */
  expectsFirst(id: string): void
  /** The far side's word on a message: null for its acknowledgement. */
  heard(id: string, word: Word): void
  /** The connection is over: what is not answered yet waits for the next. */
  over(): void
  readonly counts: CacheStore
}

/** How often that recipient has asked for that message by now; none where the request does not say. */
const countIn = (request: BinaryNode) => getBinaryNodeChild(request, "retry")?.attrs["count"]

/**
 * The same request to the library, which acknowledges what it was told with the name of its tag: one that
 * has none is not acknowledged.
 */
export const unacknowledged = ({ attrs, content }: BinaryNode): BinaryNode => ({
  attrs,
  ...(content === undefined ? {} : { content }),
  get tag(): string {
    throw new Error("a request that is not answered yet is not acknowledged")
  },
})

export const makeResender = ({
  pauseMillis,
  requests,
}: {
  readonly requests: AskedAgain
  /** The first pause between two copies, in real time; it doubles. A word is waited for twice as long. */
  readonly pauseMillis: number
}): Resender => {
  const counted = new Map<string, unknown>()
  const firstsOut = new Set<string>()
  /**
   * By message: the copy that is under way. A word names no recipient, so those of one message are handed
   * over one after the other.
   */
  const underWay = new Map<string, { readonly hear: (word: Word) => void }>()
  const turns = new Map<string, Promise<unknown>>()
  /** The latest requests that this connection answers, by message and recipient, and what `serve` says of each. */
  const served = new Map<
    string,
    { readonly request: BinaryNode; readonly settled: Promise<boolean> }
  >()
  const end = Promise.withResolvers<undefined>()
  let isOver = false

  /** Undefined when the time or the connection is over before. */
  const within = async <A>(millis: number, promise: Promise<A>): Promise<A | undefined> => {
    const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(resolve, millis, undefined)
    try {
      return await Promise.race([promise, tooLate, end.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  const inTurn = async <A>(id: string, work: () => Promise<A>): Promise<A> => {
    const before = turns.get(id)
    const own = before === undefined ? work() : before.then(work, work)
    turns.set(id, own)
    try {
      return await own
    } finally {
      if (turns.get(id) === own) turns.delete(id)
    }
  }

  /** Whether the far side took a copy, or never will. */
  const isAnswered = async (id: string, handOver: () => Promise<void>): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<Word>()
    underWay.set(id, { hear: resolve })
    try {
      await handOver()
      const word = await within(2 * pauseMillis, promise)
      return word === null || (word !== undefined && afterNack(word, 0)._tag === "Refused")
    } finally {
      underWay.delete(id)
    }
  }

  return {
    serve: async (request, handOver) => {
      const { from = "", id = "", participant = from } = request.attrs
      const key = `${id}:${participant}`
      if (requests.size >= mostRequests && !requests.has(key)) {
        await handOver()
        return true
      }
      const before = served.get(key)
      // The far side tells a new connection what it was not told the end of, which that may know already.
      if (before !== undefined && countIn(before.request) === countIn(request)) return false
      const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>()
      const own = { request, settled }
      served.set(key, own)
      requests.set(key, request)
      // A later request of the same recipient has newer keys, and takes this one's place.
      const isWanted = () => !isOver && requests.get(key) === request
      let isDone = false
      let isSettled: boolean | Promise<boolean> = false
      try {
        for (let tries = 0; tries < mostTries && !isDone && isWanted(); tries++) {
          isDone = await inTurn(id, async () => {
            if (!isWanted()) return false
            // The library would answer no more than two.
            if (tries > 0) counted.delete(key)
            return (await isAnswered(id, handOver)) && requests.get(key) === request
          })
          if (!isDone && isWanted()) await within(pauseMillis * 2 ** tries, end.promise)
        }
        const latest = served.get(key)
        // Acknowledged now it would take the later one with it, which goes by the same name.
        const isLater = latest !== undefined && latest !== own
        isSettled = isLater ? latest.settled : isDone || !isOver
        if (isSettled === true && requests.get(key) === request) requests.delete(key)
      } finally {
        if (served.get(key) === own) served.delete(key)
        settle(isSettled)
      }
      return isSettled
    },
    expectsFirst: (id) => void firstsOut.add(id),
    heard: (id, word) => {
      if (word !== null || !firstsOut.delete(id)) underWay.get(id)?.hear(word)
    },
    over: () => {
      isOver = true
      end.resolve(undefined)
    },
    counts: {
      get: <A>(key: string) => counted.get(key) as A | undefined,
      set: (key, value) => {
        if (counted.size >= mostCounts) counted.clear()
        counted.set(key, value)
      },
      del: (key) => void counted.delete(key),
      flushAll: () => counted.clear(),
    },
  }
}

// Encrypted copies of media that a process left behind when it was killed in the midst of an upload. The
// library makes them in the system's temporary directory, and deletes each after its upload.

/** What the library calls them. */
const isCopy = (name: string): boolean => /^(?:image|document)3EB0[0-9A-F]+-enc$/.test(name)

/** No upload takes so long. */
const leftMillis = 60 * 60_000

/** Files are dated by the system's clock. Another process may delete one at the same time, or own it. */
const deleteOld = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > leftMillis) await unlink(file)
}

const sweep = async (): Promise<void> => {
  const directory = tmpdir()
  const copies = (await readdir(directory)).filter(isCopy)
  await Promise.allSettled(copies.map((name) => deleteOld(join(directory, name))))
}

/** Deletes what was left behind, now and every hour. */
export const sweepLeftFiles: Effect.Effect<never> = Effect.gen(function* sweepLeftFiles() {
  yield* Effect.ignore(Effect.tryPromise(sweep))
  yield* sleepInRealTime(leftMillis)
}).pipe(Effect.forever)
