/**
 * How fast a number may send (contract: Pacing). Platforms close accounts that send like machines.
 * So messages leave with rests between them and within limits per minute and hour. Others wait in
 * order, and may expire.
 *
 * A rest starts when the remote has answered, so that the remote sees no shorter one. Windows count
 * what was really sent (see `cappedUntil`), so no extra state can be lost in a crash.
 */
import { Context } from "effect"
import type { Ids } from "./Ids.ts"
import type { QuotaLimit } from "./Message.ts"
import type { Platform } from "./SendingNumber.ts"

/** Null: no limit of that kind. */
export interface Pacing {
  /** The shortest rest after a message. */
  readonly minIntervalMillis: number | null
  /** Maximum random extra rest after each message. */
  readonly jitterMillis: number | null
  readonly perMinute: number | null
  readonly perHour: number | null
  /** Most recipients in 24 hours that the number never wrote to before. */
  readonly newRecipientsPerDay: number | null
}

export const unpaced: Pacing = {
  minIntervalMillis: null,
  jitterMillis: null,
  perMinute: null,
  perHour: null,
  newRecipientsPerDay: null,
}

/** The pacing after an operator's change. */
export const changedPacing = (before: Pacing | null, change: Partial<Pacing>): Pacing => ({
  ...(before ?? unpaced),
  ...change,
})

/** The initial pacing of live WhatsApp numbers. */
export const liveWhatsAppPacing: Pacing = {
  minIntervalMillis: 1000,
  jitterMillis: 2000,
  perMinute: 20,
  perHour: 300,
  newRecipientsPerDay: null,
}

/** Initial pacing by platform; null for none. */
export const StartingPacing = /*#__PURE__*/ Context.Reference<
  Readonly<Record<Platform, Pacing | null>>
>("core/StartingPacing", { defaultValue: () => ({ whatsapp: null, telegram: null }) })

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const within = (messages: number | null, windowMillis: number): ReadonlyArray<QuotaLimit> =>
  messages === null ? [] : [{ messages, windowMillis }]

/** Limits on messages, by window. */
export const sendLimits = ({ perHour, perMinute }: Pacing): ReadonlyArray<QuotaLimit> => [
  ...within(perMinute, minute),
  ...within(perHour, hour),
]

/** Limits on new recipients, by window. */
export const recipientLimits = ({ newRecipientsPerDay }: Pacing): ReadonlyArray<QuotaLimit> =>
  within(newRecipientsPerDay, day)

/** Draws the rest after a message, uniformly by millisecond. */
export const drawPauseMillis = (
  { jitterMillis, minIntervalMillis }: Pacing,
  ids: typeof Ids.Service,
): number => {
  const jitter = jitterMillis ?? 0
  const drawn = jitter === 0 ? 0 : Number.parseInt(ids.hex(12), 16) % (jitter + 1)
  return (minIntervalMillis ?? 0) + drawn
}
