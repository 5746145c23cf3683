/** What a callback of version 1 brings, once it is verified. */

/** What became of a message that was sent with a `webhook`. */
export interface MessageReport {
  readonly kind: "message"
  readonly msg_id: number
  readonly status: "SENT" | "FAILED" | "CANCELLED" | "EXPIRED"
  /** Why it failed; null unless `status` is `FAILED`. */
  readonly error: string | null
}

/** What became of a number that was connected with a `webhook_url`. */
export interface ConnectionReport {
  readonly kind: "connection"
  readonly event: "qr-generated" | "connected" | "disconnected"
  readonly whatsapp_client: number
  /** Digits with country code; null while the number's phone is not known. */
  readonly whatsapp_number: string | null
}

export type CallbackReport = MessageReport | ConnectionReport

const statuses = ["SENT", "FAILED", "CANCELLED", "EXPIRED"] as const
const events = ["qr-generated", "connected", "disconnected"] as const

/** Undefined for a form that the service does not send. */
export const parseCallback = (body: Uint8Array): CallbackReport | undefined => {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const status = statuses.find((known) => known === form.get("status"))
  const messageId = idOf(form.get("msg_id"))
  if (status !== undefined && messageId !== undefined) {
    return { kind: "message", msg_id: messageId, status, error: form.get("error") }
  }
  const event = events.find((known) => known === form.get("event"))
  const numberId = idOf(form.get("whatsapp_client"))
  if (event === undefined || numberId === undefined) return undefined
  const phone = form.get("whatsapp_number")
  return {
    kind: "connection",
    event,
    whatsapp_client: numberId,
    whatsapp_number: phone === "" ? null : phone,
  }
}

const idOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
