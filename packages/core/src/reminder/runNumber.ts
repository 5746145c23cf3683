/**
 * The number that a run without `from` is sent from (contract: Reminder runs): of the connected
 * ones of the platform that the recipient needs, the one with most room in its 24 hours. Pure.
 */
import { isTelegramOnly } from "../message/accept.ts"
import type { AcceptanceFacts, NumberFacts } from "../message/MessageStore.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"

/** All that are connected are in the facts, oldest first and counted; null when none will do. */
export const roomiest = (to: RequestedRecipient, facts: AcceptanceFacts): NumberFacts | null => {
  const connected = (platform: "whatsapp" | "telegram") =>
    facts.connected.filter(({ number }) => number.platform === platform)
  const telegramOnly = isTelegramOnly(to, facts)
  const whatsapp = telegramOnly ? [] : connected("whatsapp")
  // Where both could, WhatsApp goes first.
  const suited = whatsapp.length > 0 || to.kind === "group" ? whatsapp : connected("telegram")
  let best: NumberFacts | null = null
  for (const each of suited) {
    if (best === null || plannedOf(each) < plannedOf(best)) best = each
  }
  return best
}

/** The limit is the same for all, so that the least planned leaves the most room. */
const plannedOf = ({ quota }: NumberFacts): number => quota.exact?.planned ?? quota.bound
