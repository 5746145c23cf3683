/** Version 2 of the interface, which a workspace's key may call. */
import { makeEndpoints } from "./endpoints.ts"
import type { CreateWebhook, Webhook } from "./openapi.ts"
import { bearer, makeAsk } from "./request.ts"
import type { ConnectionOptions, CreationOptions } from "./request.ts"

/** How to reach the service, and with which key. */
export interface ClientOptions extends ConnectionOptions {
  /** A key of version 2: `svc_live_…`, or `svc_test_…`, with which every rule is checked and nothing is sent. */
  readonly key: string
}

/** An endpoint as it was added. */
export interface CreatedWebhook extends Webhook {
  /** 64 hexadecimal characters that sign deliveries, shown only here; null in a repeated answer. */
  readonly secret: string | null
}

/**
 * A client with a key. Nothing is asked before a method is called. Every method rejects with a
 * `MessagingError`, and documents the codes that are its own.
 *
 * @example
 * const client = messagingClient({ url: "https://messages.example.com", key })
 * const message = await client.messages.send({ to: { phone: "+15550001234" }, text: "Hello" })
 */
export const messagingClient = ({ key, ...connection }: ClientOptions) => {
  const at = makeEndpoints(makeAsk(connection, bearer("key", key)))
  const createWebhook = at.create("/api/v2/webhooks")
  return {
    /** The key itself: its workspace, scopes, plan and limits. Needs no scope and sends nothing. */
    me: at.get("/api/v2/me"),

    messages: {
      /**
       * Accepts a message to one recipient, to be sent at once or at `send_at`. It is `queued` or
       * `scheduled` then: read it again, or let a webhook tell what became of it.
       *
       * Refused with `invalid_phone`, `time_in_past`, `number_not_found`, `from_required`,
       * `no_credits`, `number_daily_cap_reached` and others, and then nothing is stored.
       */
      send: at.create("/api/v2/messages"),
      /**
       * The same to 1,000 recipients at most, in their order: all or nothing. `field` of a refusal
       * names the recipient, as in `to[3].phone`. A recipient named twice receives two messages.
       */
      sendBatch: at.create("/api/v2/messages/batch"),
      /** Messages, newest first, of one `status` or several, a number, a phone, or a time. */
      list: at.list("/api/v2/messages"),
      /** A message as it is now, or `message_not_found`. */
      get: at.get("/api/v2/messages/{id}"),
      /**
       * Cancels a message that still waits; the answer is the cancelled message. One that is being
       * sent is waited for, 5 seconds at most. Refused with `not_cancellable`, whose
       * `details.status` says what became of the message instead.
       */
      cancel: at.remove("/api/v2/messages/{id}"),
    },

    reminders: {
      /**
       * Makes a message that is sent again and again, on a cron schedule of five fields in a time
       * zone. Refused with `invalid_cron`, `invalid_timezone`, `plan_required`,
       * `number_not_connected` and what is wrong with a message.
       */
      create: at.create("/api/v2/reminders"),
      /** Reminders, newest first, paused ones included. */
      list: at.list("/api/v2/reminders"),
      /** A reminder with its next and its last run, or `reminder_not_found`. */
      get: at.get("/api/v2/reminders/{id}"),
      /** Changes the fields that are given; a `schedule` as a whole. `active: false` pauses it. */
      update: at.patch("/api/v2/reminders/{id}"),
      /** Deletes a reminder. Messages of its past runs stay. */
      delete: at.remove("/api/v2/reminders/{id}"),
    },

    numbers: {
      /**
       * Starts to link a WhatsApp number, a new one or that of `number_id`. Read it every 2 to 5 seconds
       * while it is `connecting`: `connect` has the QR link or the pairing code. It ends after 10
       * minutes. Refused with `already_connected`, `connect_in_progress`, `number_limit_reached`,
       * `plan_required` and `invalid_phone`.
       */
      connect: at.create("/api/v2/numbers"),
      /** Every number that the key may use, oldest first, with `connect` null. */
      list: at.get("/api/v2/numbers"),
      /** A number, with `connect` while it is `connecting`, or `number_not_found`. */
      get: at.get("/api/v2/numbers/{id}"),
    },

    media: {
      /**
       * Uploads a file of 64 MiB at most, to be sent as `media: { media_id }`. What kind of file it is
       * is found from its content. Refused with `request_too_large`, and `storage_full` with `used` and
       * `limit` in bytes.
       */
      upload: at.upload("/api/v2/media"),
      /** Files, newest first. */
      list: at.list("/api/v2/media"),
      /** A file with a fresh link, which works for 26 hours, or `media_not_found`. */
      get: at.get("/api/v2/media/{id}"),
      /** Deletes a file. A message that waits with it fails with `media_unavailable`. */
      delete: at.remove("/api/v2/media/{id}"),
    },

    numberChecks: {
      /** Begins to find out which of 1,000 phones at most WhatsApp knows. */
      create: at.create("/api/v2/number-checks"),
      /** Checks, newest first. */
      list: at.list("/api/v2/number-checks"),
      /** A check and how far it is, or `number_check_not_found`. */
      get: at.get("/api/v2/number-checks/{id}"),
      /** What was found of each phone, of one `status` if wanted. */
      results: at.list("/api/v2/number-checks/{id}/results"),
    },

    webhooks: {
      /**
       * Adds an endpoint that receives events of messages, 5 at most. Keep the answer's `secret`:
       * it is shown only here and verifies deliveries (`verifyWebhook`).
       *
       * `secret` is null when the endpoint was there already: the idempotency key was used before, or
       * the first answer was lost and the client asked again by itself. `rotateSecret` with the
       * endpoint's `id` gives it one that you know.
       *
       * Refused with `invalid_webhook_url` and `webhook_limit_reached`.
       */
      create: async (body: CreateWebhook, options?: CreationOptions): Promise<CreatedWebhook> => ({
        secret: null,
        ...(await createWebhook(body, options)),
      }),
      /** Running endpoints, oldest first. */
      list: at.get("/api/v2/webhooks"),
      /** An endpoint, also a stopped one, or `webhook_not_found`. */
      get: at.get("/api/v2/webhooks/{id}"),
      /** Removes an endpoint: nothing more is sent to it, repeats included. */
      delete: at.remove("/api/v2/webhooks/{id}"),
      /** Gives it another secret. The old one stops working at once. */
      rotateSecret: at.order("/api/v2/webhooks/{id}/rotate-secret"),
      /** Sends it a `ping`. Refused with `webhook_stopped`. */
      test: at.order("/api/v2/webhooks/{id}/test"),
    },
  }
}

/** What `messagingClient` makes. */
export type MessagingClient = ReturnType<typeof messagingClient>
