/** How commands follow what they wait for, and how often they ask. */
import type { Tools } from "../Command.ts"
import type { Machine } from "../Machine.ts"

/** So many milliseconds for each request: 20 of the 60 that a key has in a minute. */
const restOfARequest = 3000

/** The rest after that many requests, so that however many a look took, the key's others have room. */
export const restAfter = (requests: number): number => requests * restOfARequest

/**
 * Looks again and again, until a signal ends it or what reads the output has gone. `look` gives the
 * milliseconds of the rest after it.
 */
export const whileRead = async (
  { pauseForReader, written }: Machine,
  look: () => Promise<number>,
): Promise<void> => {
  // It is seen that it is there, before it can have had enough.
  await pauseForReader(0)
  for (;;) {
    const rest = await look()
    if ((await written()) !== null || !(await pauseForReader(rest))) return
  }
}

/** What is followed until it is over. */
export interface Followed<A> {
  readonly isOver: (now: A) => boolean
  readonly look: () => Promise<A>
  /** What a person sees of it now; undefined: nothing. */
  readonly toShow: (now: A) => Promise<string | undefined>
}

/**
 * How it stands once it is over, or once what reads the output has gone. With `--json` each look is a
 * line; else what there is to show is shown whenever it changes.
 */
export const follow = async <A extends object>(
  first: A,
  { isOver, look, toShow }: Followed<A>,
  { machine, output }: Tools,
): Promise<A> => {
  let now = first
  let shown: string | undefined
  for (;;) {
    const over = isOver(now)
    const text = output.json || over ? undefined : await toShow(now)
    if (output.json) output.one(now)
    else if (text !== undefined && text !== shown) output.show(text)
    shown = text ?? shown
    if (over || (await machine.written()) !== null) return now
    output.progress("waiting for the phone")
    await machine.pause(restAfter(1))
    now = await look()
  }
}
