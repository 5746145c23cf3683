/** Every promise that histories are judged by. */
import type { History } from "../History.ts"
import { announced } from "./announced.ts"
import { counted } from "./counted.ts"
import { idempotent } from "./idempotent.ts"
import { inItsTime, neverAfterEnd } from "./neverAfterEnd.ts"
import { neverLost } from "./neverLost.ts"
import { neverTwice } from "./neverTwice.ts"
import { controlled, paused } from "./controlled.ts"
import { prompt } from "./prompt.ts"
import { reminded } from "./reminded.ts"
import { truthful } from "./truthful.ts"

const promises = [
  neverLost,
  neverTwice,
  neverAfterEnd,
  inItsTime,
  truthful,
  announced,
  idempotent,
  counted,
  reminded,
  controlled,
  paused,
  prompt,
]

/** What was not kept in a history, each with the promise's name before it. */
export const judge = (history: History): ReadonlyArray<string> =>
  promises.flatMap(({ check, name }) => check(history).map((violation) => `${name}: ${violation}`))
