/** The words of a webhook's fields. */
import type { Webhook } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

export const newWebhookLabels = {
  title: buttonNames.addWebhook,
  url: "URL",
  urlAbout: "A public https URL. Respond with 2xx within 15 seconds.",
  receiverAbout: "No server yet? The emulator answers and shows each call.",
  useReceiver: "Use a receiver of the emulator",
  example: "https://shop.example/events",
  description: "Description",
  events: "Events",
  action: buttonNames.addWebhook,
  secret: "Signing secret",
  secretAbout: "Copy it now. It is not shown again. Your program verifies events with it.",
  known:
    "This webhook already exists and its secret was shown then. Rotate the secret to get a new one.",
}

export const eventLabels: Readonly<Record<Webhook["events"][number], string>> = {
  "message.sent": "Sent",
  "message.failed": "Failed",
  "message.cancelled": "Cancelled",
  "message.expired": "Expired",
  "message.delivered": "Delivered",
  "message.read": "Read",
  "message.received": "Received",
  "message.echo": "Written on the phone",
  "message.edited": "Edited",
  "message.revoked": "Deleted by its author",
  "message.reaction": "Reaction",
  "message.recovered": "Readable after all",
  "number.gap": "Messages may be missing",
  "number.connected": "Connected",
  "number.disconnected": "Disconnected",
  "number.paused": "Paused",
  "number.resumed": "Resumed",
  "number.restricted": "New chats closed",
  "number.unrestricted": "New chats open",
}

/** Each title has the events from this one on. */
export const eventGroupLabels: Readonly<Partial<Record<Webhook["events"][number], string>>> = {
  "message.sent": "Your messages",
  "message.received": "What people write",
  "number.connected": "Numbers",
}
