/**
 * Sends a file's slots one after the other. Whatever gets no answer is sent again with the same key, so that nothing
 * is lost and nothing is done twice; what the service refuses ends the row, the slot or the whole, by what it names.
 */
import type { FileRow, Slot } from "./plan.ts"

/** What a refusal says, whatever its class. */
interface Refusal extends Error {
  readonly code: string
  readonly status: number
  readonly field: string | null
  readonly retryAfter: number | null
}

export type SlotEnd = "accepted" | "accepted_before" | "refused"

export interface RefusedRow {
  readonly row: FileRow
  readonly message: string
}

export interface SendingSteps {
  readonly send: (rows: ReadonlyArray<FileRow>, key: string) => Promise<unknown>
  /** Waits, or rejects when the user stops. */
  readonly wait: (millis: number) => Promise<void>
  readonly begin: (slot: Slot) => void
  readonly end: (slot: Slot, how: SlotEnd, refused: ReadonlyArray<RefusedRow>) => void
  /** Why nothing moves; null when it moves again. */
  readonly waitsFor: (reason: "connection" | "rate" | null) => void
}

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && "code" in error && "status" in error

const firstWaitMillis = 1000
const waitMaxMillis = 30_000
/** Codes of refusals that pass by themselves. `number_daily_cap_reached` takes hours: the user decides. */
const passing = ["rate_limited", "idempotency_in_progress", "service_unavailable"]
const ofSlot = ["send_at", "expires_at"]

/** Which row of the request a refusal names. */
const namedRow = (field: string | null): number | undefined => {
  const index = /^to\[(\d+)\]/.exec(field ?? "")?.[1]
  return index === undefined ? undefined : Number(index)
}

/** Tries until there is an answer that repeating does not change. */
const answered = async (
  rows: ReadonlyArray<FileRow>,
  key: string,
  { send, wait, waitsFor }: SendingSteps,
): Promise<Refusal | null> => {
  for (let tries = 0; ; tries += 1) {
    try {
      await send(rows, key)
      return null
    } catch (error) {
      const refusal = isRefusal(error) ? error : null
      if (refusal !== null && refusal.status < 500 && !passing.includes(refusal.code))
        return refusal
      waitsFor(refusal?.code === "rate_limited" ? "rate" : "connection")
      const seconds = refusal?.retryAfter
      await wait(
        seconds
          ? seconds * 1000
          : Math.min(waitMaxMillis, firstWaitMillis * 2 ** Math.min(tries, 9)),
      )
      waitsFor(null)
    }
  }
}

/**
 * A row that the service refuses is left out and the others of its slot go with the slot's own key: once the slot was
 * accepted, with that row or without, the key is used, and another form of it is refused rather than sent in addition.
 */
const sendSlot = async (slot: Slot, steps: SendingSteps): Promise<void> => {
  let { rows } = slot
  const refused: Array<RefusedRow> = []
  while (rows.length > 0) {
    const refusal = await answered(rows, slot.key, steps)
    if (refusal === null) return steps.end(slot, "accepted", refused)
    if (refusal.code === "idempotency_key_reused")
      return steps.end(slot, "accepted_before", refused)
    const index = namedRow(refusal.field)
    const row = index === undefined ? undefined : rows[index]
    if (row !== undefined) {
      refused.push({ row, message: refusal.message })
      rows = rows.filter((one) => one !== row)
      continue
    }
    if (!ofSlot.includes(refusal.field ?? "")) throw refusal
    refused.push(...rows.map((one) => ({ row: one, message: refusal.message })))
    rows = []
  }
  steps.end(slot, "refused", refused)
}

/** Rejects with the refusal that concerns all that follows, or when the user stops. */
export const sendSlots = async (slots: ReadonlyArray<Slot>, steps: SendingSteps): Promise<void> => {
  for (const slot of slots) {
    // So that a stop is noticed between two answers as well.
    await steps.wait(0)
    steps.begin(slot)
    await sendSlot(slot, steps)
  }
}
