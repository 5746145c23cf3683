/**
 * Copies that recipients could not read and ask for again. The library hands each over once and tells the
 * far side at once that it has heard, whatever comes of it: a question that is refused, a connection that
 * breaks and a copy that is not taken are its end, and the message is never read. So a request is kept until
 * a copy was acknowledged, and goes with the number from one connection to the next.
 */
import type { BinaryNode, CacheStore } from "baileys"
import { afterNack } from "./outcomes.ts"

/** Requests that no acknowledged copy has answered yet, by message and recipient. */
export type AskedAgain = Map<string, BinaryNode>

/** Above these a request is answered once, as the library does. */
const mostRequests = 1000

const mostTries = 4

/** How often the library has answered a request, which it counts for itself. */
const mostCounts = 10_000

type Word = string | null

export interface Resender {
  /** Hands a copy over, again and again until one is acknowledged or refused for good. */
  serve(request: BinaryNode, handOver: () => Promise<void>): Promise<void>
  /** The far side's word on a message: null for its acknowledgement. */
  heard(id: string, word: Word): void
  /** The connection is over: what is not answered yet waits for the next. */
  over(): void
  readonly counts: CacheStore
}

export const makeResender = ({
  isUnderWay,
  pauseMillis,
  requests,
}: {
  readonly requests: AskedAgain
  /** Whether the first copy of that message waits for its own acknowledgement. */
  readonly isUnderWay: (id: string) => boolean
  /** The first pause between two copies, in real time; it doubles. A word is waited for as long. */
  readonly pauseMillis: number
}): Resender => {
  const counted = new Map<string, unknown>()
  /** By message: what hears each word on it. */
  const listeners = new Map<string, Set<(word: Word) => void>>()
  const end = Promise.withResolvers<undefined>()
  let isOver = false

  /** The first refusal of a message, or null once so many copies are acknowledged. */
  const wordOn = (id: string, copies: number) => {
    const { promise, resolve } = Promise.withResolvers<Word>()
    let left = copies
    const listener = (word: Word) => {
      left -= 1
      if (word !== null || left === 0) resolve(word)
    }
    const all = listeners.get(id) ?? new Set()
    listeners.set(id, all.add(listener))
    const forget = () => {
      all.delete(listener)
      if (all.size === 0) listeners.delete(id)
    }
    return { promise, forget }
  }

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

  /** Whether the far side took a copy, or never will. */
  const isAnswered = async (id: string, handOver: () => Promise<void>) => {
    const { forget, promise } = wordOn(id, isUnderWay(id) ? 2 : 1)
    try {
      await handOver()
      const word = await within(2 * pauseMillis, promise)
      return word === null || (word !== undefined && afterNack(word, 0)._tag === "Refused")
    } finally {
      forget()
    }
  }

  return {
    serve: async (request, handOver) => {
      const { from = "", id = "", participant = from } = request.attrs
      const key = `${id}:${participant}`
      if (requests.size >= mostRequests && !requests.has(key)) return handOver()
      requests.set(key, request)
      for (let tries = 0; tries < mostTries; tries++) {
        // The library would answer no more than two.
        if (tries > 0) counted.delete(key)
        if (await isAnswered(id, handOver)) break
        await within(pauseMillis * 2 ** tries, end.promise)
        if (isOver) return
      }
      if (requests.get(key) === request) requests.delete(key)
    },
    heard: (id, word) => {
      for (const listener of listeners.get(id) ?? []) listener(word)
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
