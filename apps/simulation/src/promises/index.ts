/** Every promise that judges histories. */
import type { History } from "../History.ts"
import { accepted } from "./accepted.ts"
import { announced } from "./announced.ts"
import { calledBack } from "./calledBack.ts"
import { campaigned } from "./campaigned.ts"
import { checked } from "./checked.ts"
import { counted } from "./counted.ts"
import { deleted } from "./deleted.ts"
import { broughtForward, delivered, promptlyDelivered } from "./delivered.ts"
import { erased } from "./erased.ts"
import { idempotent, idempotentEndpoints, idempotentReminders } from "./idempotent.ts"
import { confined, limited, revoked } from "./keys.ts"
import { linked } from "./linked.ts"
import { logged } from "./logged.ts"
import { kept } from "./kept.ts"
import { connected, keptAway } from "./connected.ts"
import { flooded } from "./flooded.ts"
import { inItsTime, neverAfterEnd } from "./neverAfterEnd.ts"
import { inStep } from "./inStep.ts"
import { media } from "./media.ts"
import { neverLost } from "./neverLost.ts"
import { neverTwice } from "./neverTwice.ts"
import { controlled, paused } from "./controlled.ts"
import { oneAtATime } from "./oneAtATime.ts"
import { ordered } from "./ordered.ts"
import { prompt } from "./prompt.ts"
import { received } from "./received.ts"
import { reminded } from "./reminded.ts"
import { restored } from "./restored.ts"
import { signed } from "./signed.ts"
import { stopped, subscribed } from "./subscribed.ts"
import { ticked } from "./ticked.ts"
import { truthful } from "./truthful.ts"

const promises = [
  accepted,
  kept,
  neverLost,
  neverTwice,
  neverAfterEnd,
  inItsTime,
  inStep,
  media,
  ordered,
  oneAtATime,
  truthful,
  announced,
  delivered,
  promptlyDelivered,
  broughtForward,
  subscribed,
  stopped,
  signed,
  logged,
  calledBack,
  idempotent,
  idempotentEndpoints,
  idempotentReminders,
  revoked,
  confined,
  limited,
  counted,
  reminded,
  controlled,
  deleted,
  erased,
  checked,
  linked,
  restored,
  paused,
  prompt,
  connected,
  keptAway,
  flooded,
  ticked,
  campaigned,
  received,
]

/** The violations in a history, each after its promise's name. */
export const judge = (history: History): ReadonlyArray<string> =>
  promises.flatMap((promise) =>
    promise.check(history).map((violation) => `${promise.name}: ${violation}`),
  )
