/** What answers share: schemas of their parts, and the origin that their links begin with. */
import { Context, Schema } from "effect"

/** Times in answers. */
export const TimeJson = Schema.String.annotate({
  description: "UTC, whole seconds.",
  format: "date-time",
  pattern: "Z$",
  examples: ["2030-01-31T07:00:00Z"],
})

export const IdJson = Schema.Int

/**
 * Where the service is reached from outside (`PUBLIC_URL`; contract: Configuration): the origin that
 * links begin with, without a slash at its end. Answers and events carry links, so the server and the
 * worker are given the same.
 */
export const PublicUrl = Context.Reference<string>("core/PublicUrl", {
  defaultValue: () => "http://127.0.0.1:8080",
})
