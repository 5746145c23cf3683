/** Where the service is reached from outside (`PUBLIC_URL`; contract: Configuration). */
import { Context } from "effect"

/**
 * The origin that links begin with, without a slash at its end. Answers and events carry links, so
 * the server and the worker are given the same.
 */
export const PublicUrl = Context.Reference<string>("core/PublicUrl", {
  defaultValue: () => "http://127.0.0.1:8080",
})
