/** How commands poll for what they wait for. */
import type { Tools } from "../Command.ts"
import type { Machine } from "../Machine.ts"

/** Milliseconds per request: 20 of the 60 that a key has in a minute. */
const delayPerRequest = 3000

/** The rest after that many requests, which leaves room for the key's other requests. */
export const pollDelay = (requests: number): number => requests * delayPerRequest

/**
 * Polls until a signal, or until the reader of the output has gone. `check` returns the milliseconds of
 * the rest after it.
 */
export const whileRead = async (
  { pauseForReader, written }: Machine,
  check: () => Promise<number>,
): Promise<void> => {
  // Detect the reader before it can have left.
  await pauseForReader(0)
  for (;;) {
    const rest = await check()
    if ((await written()) !== null || !(await pauseForReader(rest))) return
  }
}

/** A process to follow to its end. */
export interface Followed<A> {
  readonly isOver: (now: A) => boolean
  readonly check: () => Promise<A>
  /** Its text for a person; undefined for none. */
  readonly toShow: (now: A) => Promise<string | undefined>
}

/**
 * Its final state, or its state when the reader of the output has gone. With `--json` each look prints
 * a line; else a changed text prints again.
 */
export const follow = async <A extends object>(
  first: A,
  { isOver, check, toShow }: Followed<A>,
  { machine, output }: Tools,
): Promise<A> => {
  let now = first
  let formatted: string | undefined
  for (;;) {
    const over = isOver(now)
    const text = output.json || over ? undefined : await toShow(now)
    if (output.json) output.one(now)
    else if (text !== undefined && text !== formatted) output.show(text)
    formatted = text ?? formatted
    if (over || (await machine.written()) !== null) return now
    output.progress("waiting for the phone")
    await machine.pause(pollDelay(1))
    now = await check()
  }
}
