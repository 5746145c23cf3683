import type { WebhookEvent } from "@messaging-service/client/webhook"

/** Yours: a table with the event's id as its key, so that a repeat changes nothing. */
const events = new Map<string, WebhookEvent>()

export const remember = async (event: WebhookEvent): Promise<void> => {
  if (!events.has(event.id)) events.set(event.id, event)
}

export const remembered = (): ReadonlyArray<WebhookEvent> => [...events.values()]
