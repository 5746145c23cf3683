/**
 * The number that a check asks from (contract: Number checks). Pure. As in POST /messages without
 * `from` the only connected number is meant, but of WhatsApp alone: Telegram knows no such
 * question.
 */
import { Result } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../id/Ids.ts"
import { mayUse } from "../key/ApiKey.ts"
import type { ApiKey } from "../key/ApiKey.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"

/** `numbers` are all of the workspace that the key's mode sees. */
export const askingNumber = (
  from: NumberId | null,
  numbers: ReadonlyArray<SendingNumber>,
  key: Pick<ApiKey, "numberIds">,
): Result.Result<SendingNumber, Refusal> => {
  if (from === null) {
    const [only, another] = numbers.filter(
      ({ platform, status }) => platform === "whatsapp" && status === "connected",
    )
    return only !== undefined && another === undefined && mayUse(key, only.id)
      ? Result.succeed(only)
      : Result.fail(refuse("from_required", { field: "from" }))
  }
  const named = numbers.find(({ id }) => id === from)
  if (named === undefined) return Result.fail(refuse("number_not_found", { field: "from" }))
  if (!mayUse(key, named.id)) return Result.fail(refuse("number_not_allowed", { field: "from" }))
  if (named.platform !== "whatsapp") {
    return Result.fail(
      refuse("validation_failed", {
        field: "from",
        message: "A number check needs a WhatsApp number.",
      }),
    )
  }
  return named.status === "connected"
    ? Result.succeed(named)
    : Result.fail(refuse("number_not_connected", { field: "from" }))
}
