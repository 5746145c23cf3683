/** Times of a schedule as people read them, in the schedule's own zone. */

const weekdayAndTime = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  // The text has the zone's own time: read as UTC it is shown as it stands.
  timeZone: "UTC",
})

/** A time such as `2026-12-01T09:00:00+01:00`, with its offset. */
export const zonedTime = (local: string): string => {
  const [, time = "", offset = ""] = /^(.{19})(?:\.\d+)?(.*)$/.exec(local) ?? []
  return `${weekdayAndTime.format(Date.parse(`${time}Z`))} ${offset === "Z" ? "UTC" : offset}`
}

/** The zones that this browser knows; the service takes more. */
export const timeZones: ReadonlyArray<string> = ["UTC", ...Intl.supportedValuesOf("timeZone")]
