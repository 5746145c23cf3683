/**
 * The core's `countRequest` in SQL, for an `on conflict do update` of a row called `windows`: a request
 * that comes late from the window before counts in the present one. The contract suite holds both.
 */
export const countRequests = (window: "minute" | "day"): string => {
  const isPresent = `windows.${window}_start - excluded.${window}_start
          between interval '0' and interval '1 ${window}'`
  return `${window}_start = case
        when ${isPresent} then windows.${window}_start
        else excluded.${window}_start
      end,
      ${window}_count = excluded.${window}_count + case
        when ${isPresent} then windows.${window}_count
        else 0
      end`
}
