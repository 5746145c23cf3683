/** What a number check finds out about a phone. */
import type { NumberCheckResult } from "@messaging-service/client"

export type ResultStatus = NumberCheckResult["status"]

export const resultStatuses = ["registered", "not_registered", "failed", "pending"] as const

export const isResultStatus = (value: unknown): value is ResultStatus =>
  resultStatuses.some((status) => status === value)
