/** Times as the interface writes them, and the clocks of time zones, without the service. */
export { formatInstant, parseInstant } from "./time/Instant.ts"
export type { Instant } from "./time/Instant.ts"
export { formatInZone, momentInZone, parseTimeZone } from "./reminder/TimeZone.ts"
export type { TimeZone } from "./reminder/TimeZone.ts"
