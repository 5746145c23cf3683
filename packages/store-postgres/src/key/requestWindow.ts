/**
 * The core's `countRequest` in SQL, for an `on conflict do update` of a row called `windows`; the row
 * `excluded` says how many requests are counted.
 */
import { dayMillis, minuteMillis } from "@messaging-service/core"

const lengths = { minute: minuteMillis, day: dayMillis }

/** Start and count of the window after the requests. */
export const countedWindow = (window: "minute" | "day") => {
  const isPresent = `windows.${window}_start - excluded.${window}_start
          between interval '0' and interval '${lengths[window]} milliseconds'`
  return {
    start: `case
        when ${isPresent} then windows.${window}_start
        else excluded.${window}_start
      end`,
    count: `excluded.${window}_count + case
        when ${isPresent} then windows.${window}_count
        else 0
      end`,
  }
}

export const countRequests = (window: "minute" | "day"): string => {
  const { count, start } = countedWindow(window)
  return `${window}_start = ${start},
      ${window}_count = ${count}`
}
