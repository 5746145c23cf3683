/** What a webhook brings, once it is verified. */

/** A message in the state it was in when the event was made. */
export interface WebhookMessage {
  readonly id: number
  readonly status: "sent" | "failed" | "cancelled" | "expired"
  readonly from: {
    readonly id: number
    /** Digits with country code; null for an account without a phone. */
    readonly phone: string | null
    readonly platform: "whatsapp" | "telegram"
  }
  /** As it was given: `phone` and `contact_id`, `group`, or `username`. */
  readonly to: Readonly<Record<string, string | number | null>>
  readonly text: string
  readonly media: {
    readonly media_id: number | null
    readonly url: string | null
    readonly type: "image" | "file" | null
    readonly file_name: string | null
  } | null
  readonly send_at: string | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly sent_at: string | null
  /** Why it failed; null unless `status` is `failed`. */
  readonly error: { readonly code: string; readonly message: string } | null
}

interface Envelope {
  /** `evt_` and 24 characters, the same on every retry: discard what you have had before. */
  readonly id: string
  /** UTC. */
  readonly created_at: string
}

export type WebhookEvent =
  | (Envelope & {
      readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired"
      readonly data: { readonly message: WebhookMessage }
    })
  | (Envelope & { readonly type: "ping"; readonly data: { readonly webhook_id: number } })
