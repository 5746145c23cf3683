/**
 * How fast a number may send (contract: Pacing). A live account that sends like a machine is closed, so
 * its messages leave with a rest between them, and only so many in a minute and in an hour. What is held
 * back waits, in its order, and may expire.
 *
 * The rest after a message begins when the far side has answered, so that the far side sees no shorter
 * one. The windows are counted from what was really sent (see `cappedUntil`), so nothing has to be
 * kept of them that a crash could lose.
 */
import { Context } from "effect"
import type { Ids } from "../Ids.ts"
import type { QuotaLimit } from "../message/Message.ts"
import type { Platform } from "./SendingNumber.ts"

/** Null: no limit of that kind. */
export interface Pacing {
  /** The rest after a message, at least. */
  readonly minIntervalMillis: number | null
  /** Maximum random extra rest after each message. */
  readonly jitterMillis: number | null
  /** Messages that leave in a minute, at most. */
  readonly perMinute: number | null
  readonly perHour: number | null
  /** Recipients that were never written to before, in 24 hours, at most. */
  readonly newRecipientsPerDay: number | null
}

export const unpaced: Pacing = {
  minIntervalMillis: null,
  jitterMillis: null,
  perMinute: null,
  perHour: null,
  newRecipientsPerDay: null,
}

/** The pacing once an operator has changed what is named of it. */
export const changedPacing = (before: Pacing | null, change: Partial<Pacing>): Pacing => ({
  ...(before ?? unpaced),
  ...change,
})

/** What live WhatsApp numbers begin with. */
export const liveWhatsAppPacing: Pacing = {
  minIntervalMillis: 1000,
  jitterMillis: 2000,
  perMinute: 20,
  perHour: 300,
  newRecipientsPerDay: null,
}

/** What numbers of each platform begin with; null for those that are not paced unless told so. */
export const StartingPacing = /*#__PURE__*/ Context.Reference<
  Readonly<Record<Platform, Pacing | null>>
>("core/StartingPacing", { defaultValue: () => ({ whatsapp: null, telegram: null }) })

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const within = (messages: number | null, windowMillis: number): ReadonlyArray<QuotaLimit> =>
  messages === null ? [] : [{ messages, windowMillis }]

/** What may leave in which windows. */
export const sendLimits = ({ perHour, perMinute }: Pacing): ReadonlyArray<QuotaLimit> => [
  ...within(perMinute, minute),
  ...within(perHour, hour),
]

/** How many new recipients may be written to. */
export const recipientLimits = ({ newRecipientsPerDay }: Pacing): ReadonlyArray<QuotaLimit> =>
  within(newRecipientsPerDay, day)

/** The rest after a message, drawn: every millisecond from the shortest to the longest alike. */
export const drawRestMillis = (
  { jitterMillis, minIntervalMillis }: Pacing,
  ids: typeof Ids.Service,
): number => {
  const jitter = jitterMillis ?? 0
  const drawn = jitter === 0 ? 0 : Number.parseInt(ids.hex(12), 16) % (jitter + 1)
  return (minIntervalMillis ?? 0) + drawn
}
