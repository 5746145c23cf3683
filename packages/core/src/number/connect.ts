/** Whether a connection may be asked for (contract: Connecting a number). Pure. */
import { Result } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../id/Ids.ts"
import { mayUse } from "../key/ApiKey.ts"
import type { ApiKey } from "../key/ApiKey.ts"
import type { Plan } from "../workspace/Workspace.ts"
import type { ConnectRequest } from "./ConnectRequest.ts"
import type { NumberJson } from "./Linking.ts"
import { isSeenBy } from "./SendingNumber.ts"
import type { SendingNumber } from "./SendingNumber.ts"

/** Fails with `plan_required` when the plan lacks the QR code API. */
export const requireQrCodeApi = (plan: Plan | null): Result.Result<Plan, Refusal> =>
  plan?.qrCodeApi === true
    ? Result.succeed(plan)
    : Result.fail(
        refuse("plan_required", { message: "The plan does not include the QR code API." }),
      )

/** How many numbers the workspace may hold after all; a full one gets this refusal. */
export const numberLimitRefusal = (limit: number): Refusal =>
  refuse("number_limit_reached", {
    message: `The plan has room for ${limit} ${limit === 1 ? "number" : "numbers"}.`,
  })

/**
 * The number that is to be reconnected. A test key is held to every rule, but reconnects only what
 * test keys added: behind a live number stands a real phone. Fails with `number_not_found`, `number_not_allowed`,
 * `validation_failed`, `already_connected`, `connect_in_progress`.
 */
export const judgeReconnect = (
  key: Pick<ApiKey, "numberIds" | "mode">,
  number: SendingNumber | null,
): Result.Result<SendingNumber, Refusal> => {
  const field = "number_id"
  if (number === null || !isSeenBy(key.mode, number)) {
    return Result.fail(refuse("number_not_found", { field }))
  }
  if (!mayUse(key, number.id)) return Result.fail(refuse("number_not_allowed", { field }))
  if (number.platform !== "whatsapp") {
    return Result.fail(
      refuse("validation_failed", {
        field,
        message: "Telegram accounts are not connected here.",
      }),
    )
  }
  if (number.status === "connected") return Result.fail(refuse("already_connected", { field }))
  if (number.status === "connecting") {
    return Result.fail(refuse("connect_in_progress", { field, details: { number_id: number.id } }))
  }
  if (number.mode !== key.mode) {
    return Result.fail(
      refuse("number_not_found", {
        field,
        message: "A test key reconnects only numbers that a test key added.",
      }),
    )
  }
  return Result.succeed(number)
}

/**
 * The answer of the first request, made again: the number as it was then, as far as the request
 * itself tells. `number` is null when it was removed since.
 */
export const answeredNumber = (
  id: NumberId,
  request: ConnectRequest,
  number: SendingNumber | null,
): NumberJson => ({
  id,
  phone: request.phone ?? (request.numberId === null ? null : (number?.phone ?? null)),
  label: number?.label ?? "",
  platform: "whatsapp",
  status: "connecting",
  login_method: request.method,
  connect: null,
})
