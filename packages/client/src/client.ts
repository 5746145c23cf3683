/** Version 2 of the interface, which a workspace's key may call. */
import { makeEndpoints } from "./endpoints.ts"
import type { CreateWebhook, Webhook } from "./openapi.ts"
import { bearer, makeRequester } from "./request.ts"
import type { ConnectionOptions, CreationOptions } from "./request.ts"

/** Service address and key. */
export interface ClientOptions extends ConnectionOptions {
  /** A key of version 2: `svc_live_…`, or `svc_test_…`, which passes every rule and sends nothing. */
  readonly key: string
}

/** An endpoint that was just added. */
export interface CreatedWebhook extends Webhook {
  /**
   * 64 hexadecimal characters that sign deliveries. Only this response shows them; null in a repeated
   * response.
   */
  readonly secret: string | null
}

/**
 * Creates a client for a key. It sends no request before you call a method. Every method rejects with
 * a `MessagingError`, and documents its own codes.
 *
 * @example
 * const client = messagingClient({ url: "https://messages.example.com", key })
 * const message = await client.messages.send({ to: { phone: "+15550001234" }, text: "Hello" })
 */
export const messagingClient = ({ key, ...connection }: ClientOptions) => {
  const at = makeEndpoints(makeRequester(connection, bearer("key", key)))
  const createWebhook = at.create("/api/v2/webhooks")
  return {
    /** The key itself: its workspace, scopes, plan and limits. Needs no scope and sends nothing. */
    me: at.get("/api/v2/me"),

    messages: {
      /**
       * Accepts a message to one recipient, to send at once or at `send_at`. Its status is then
       * `queued` or `scheduled`. To learn the result, read it again or use a webhook.
       *
       * A refusal stores nothing: `invalid_phone`, `time_in_past`, `number_not_found`,
       * `from_required`, `no_credits`, `number_daily_cap_reached` and others.
       */
      send: at.create("/api/v2/messages"),
      /**
       * The same to at most 1,000 recipients, in their order: all or nothing. `field` of a refusal
       * names the recipient, as in `to[3].phone`. A duplicate recipient receives two messages.
       */
      sendBatch: at.create("/api/v2/messages/batch"),
      /** Messages, newest first, filtered by one or more `status`, a number, a phone, or a time. */
      list: at.list("/api/v2/messages"),
      /** A message as it is now, or `message_not_found`. */
      get: at.get("/api/v2/messages/{id}"),
      /**
       * Cancels a message that still waits, and returns it. While an attempt is sending it, the call
       * waits for the result, at most 5 seconds. Fails with `not_cancellable`; its `details.status`
       * says what happened instead.
       */
      cancel: at.remove("/api/v2/messages/{id}"),
    },

    reminders: {
      /**
       * Creates a message that repeats on a cron schedule of five fields in a time zone. Fails with
       * `invalid_cron`, `invalid_timezone`, `plan_required`, `number_not_connected` and the codes of a
       * wrong message.
       */
      create: at.create("/api/v2/reminders"),
      /** Reminders, newest first, paused ones included. */
      list: at.list("/api/v2/reminders"),
      /** A reminder with its next and its last run, or `reminder_not_found`. */
      get: at.get("/api/v2/reminders/{id}"),
      /** Changes the given fields; a `schedule` as a whole. `active: false` pauses it. */
      update: at.patch("/api/v2/reminders/{id}"),
      /** Deletes a reminder. Messages of its past runs stay. */
      delete: at.remove("/api/v2/reminders/{id}"),
    },

    numbers: {
      /**
       * Starts linking a WhatsApp number: a new one, or that of `number_id`. Read it every 2 to 5
       * seconds while it is `connecting`: `connect` has the QR link or the pairing code. Linking ends
       * after 10 minutes. Fails with `already_connected`, `connect_in_progress`,
       * `number_limit_reached`, `plan_required` and `invalid_phone`.
       */
      connect: at.create("/api/v2/numbers"),
      /** Every number that the key may use, oldest first, with `connect` null. */
      list: at.get("/api/v2/numbers"),
      /** A number, with `connect` while it is `connecting`, or `number_not_found`. */
      get: at.get("/api/v2/numbers/{id}"),
      /** What WhatsApp lets it do with new chats, while conversations are on; else `not_found`. */
      restrictions: at.get("/api/v2/numbers/{id}/restrictions"),
    },

    media: {
      /**
       * Uploads a file of at most 64 MiB; send it as `media: { media_id }`. The service detects the
       * type from the content. Fails with `request_too_large`, and `storage_full` with `used` and
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
      /** Starts checking which of at most 1,000 phones are on WhatsApp. */
      create: at.create("/api/v2/number-checks"),
      /** Checks, newest first. */
      list: at.list("/api/v2/number-checks"),
      /** A check and its progress, or `number_check_not_found`. */
      get: at.get("/api/v2/number-checks/{id}"),
      /** Results for each phone, filtered by `status` if given. */
      results: at.list("/api/v2/number-checks/{id}/results"),
    },

    /** What people write, while conversations are on; else `not_found`. */
    receivedMessages: {
      /**
       * Messages, newest first, by number, chat, kind or time. With `number` and `after`, a `sequence`:
       * what that number received behind it, lowest first, in one page.
       */
      list: at.list("/api/v2/received-messages"),
      /** A message, or `received_message_not_found`. */
      get: at.get("/api/v2/received-messages/{id}"),
      /** Erases a message here, not on phones. */
      delete: at.remove("/api/v2/received-messages/{id}"),
    },

    /** Chats with people and groups, while conversations are on; else `not_found`. */
    chats: {
      /** Chats, the latest activity first, by number, phone, or whether something is unread. */
      list: at.list("/api/v2/chats"),
      /** A chat, or `chat_not_found`. */
      get: at.get("/api/v2/chats/{id}"),
      /** Erases all that was received in it. */
      delete: at.remove("/api/v2/chats/{id}"),
      /** What is in it, in both directions, newest first. */
      messages: at.list("/api/v2/chats/{id}/messages"),
      /** Marks it as read up to a message of it, never back, here and on the phone. */
      markRead: at.create("/api/v2/chats/{id}/read"),
    },

    webhooks: {
      /**
       * Adds an endpoint that receives events of messages, 5 at most. Keep the response's `secret`:
       * only this response shows it, and it verifies deliveries (`verifyWebhook`).
       *
       * `secret` is null when the endpoint existed already: you reused the idempotency key, or the
       * first response got lost and the client retried. Then call `rotateSecret` with the endpoint's
       * `id` for a new one.
       *
       * Fails with `invalid_webhook_url` and `webhook_limit_reached`.
       */
      create: async (body: CreateWebhook, options?: CreationOptions): Promise<CreatedWebhook> => ({
        secret: null,
        ...(await createWebhook(body, options)),
      }),
      /** Running endpoints, oldest first. */
      list: at.get("/api/v2/webhooks"),
      /** An endpoint, even when stopped, or `webhook_not_found`. */
      get: at.get("/api/v2/webhooks/{id}"),
      /** Removes an endpoint, which receives nothing more, not even retries. */
      delete: at.remove("/api/v2/webhooks/{id}"),
      /** Replaces its secret. The old one stops working at once. */
      rotateSecret: at.order("/api/v2/webhooks/{id}/rotate-secret"),
      /** Sends it a `ping`. Fails with `webhook_stopped`. */
      test: at.order("/api/v2/webhooks/{id}/test"),
    },
  }
}

/** Result of `messagingClient`. */
export type MessagingClient = ReturnType<typeof messagingClient>
