/** The words of the overview. */
export const overviewLabels = {
  title: "Overview",
  span: "Span of time",
  ranges: { "24h": "24 hours", "7d": "7 days", "30d": "30 days" },
  sent: "Sent",
  failed: "Failed",
  nothingEnded: "nothing ended yet",
  ofAll: (percent: string) => `${percent} % of all`,
  waiting: "Waiting now",
  allDue: "all are due",
  scheduled: (count: string) => `${count} scheduled for later`,
  dueToSent: "From due to sent",
  median: "half of them took no longer",
  noneBefore: "none before either",
  noneInSpan: "none in the span before",
  same: "as many as before",
  change: (percent: number) =>
    `${percent > 0 ? "+" : ""}${percent} % compared with the span before`,
  ended: "Messages that ended",
  seriesFailed: "failed",
  seriesGone: "expired or cancelled",
  seriesSent: "sent",
  seriesDelivered: "delivered",
  whyFailed: "Why messages failed",
  noneFailed: "None failed.",
  left: "What is left",
  allowance: "Messages",
  unlimited: "without limit",
  messagesLeft: (count: string) => `${count} left`,
  storage: "Files",
  used: (used: string, limit: string) => `${used} of ${limit}`,
  deliveries: "Webhook deliveries",
  noDelivery: "No event went to a webhook in this span.",
  noWebhook:
    "No webhook receives events yet. With one, your program hears of each event within a second.",
}

export const firstLabels = {
  title: "The first minute",
  send: "Send",
  sendSimulated: "Write to a simulated phone. It is a real message of this workspace.",
  sendLive: "Link a number, and send the first message from it.",
  arrive: "See it arrive",
  arriveSimulated: "The phone shows it within a second. Read it there, and the tick comes back.",
  arriveLive: "The list shows each message with its ticks.",
  breakIt: "Break it",
  breakSimulated:
    "Let the phone refuse, or log it out. The message waits or fails, and the page says why.",
  breakLive: "Pause the number: messages wait, and leave in their order once you resume it.",
  sendMember:
    "Write a message. It leaves as soon as an owner or administrator has linked a number.",
  why: "Ask why",
  whyMember: "A message that waits says why, until when, and what ends it.",
  emulator: "Open the emulator",
  newMessage: "New message",
  messages: "All messages",
  numbers: "Numbers",
}

export const failureLabels: Readonly<Record<string, string>> = {
  recipient_not_found: "The recipient is not registered",
  group_not_found: "No such group",
  media_unavailable: "The file was not available",
  send_failed: "The platform refused it",
  outcome_unknown: "The outcome is unknown",
}

export const attentionLabels = {
  title: "What needs attention",
  noNumber: "No number is linked yet.",
  linkOne: "Messages wait until you link one.",
  othersLink: "Messages wait until an owner or administrator of this workspace links one.",
  calm: (withWebhooks: boolean) =>
    `All is well: every number is connected, ${withWebhooks ? "no webhook fails, " : ""}and nothing waits longer than it should.`,
  waiting: "waiting",
  oldest: (span: string) => `The oldest message has been due for ${span}`,
  stopped: "stopped",
  failing: "failing",
  webhook: (id: number) => `Webhook ${id}`,
  lastFailed: (answer: string, again: boolean) =>
    `the last delivery failed (${answer}). Repair your program; ${again ? "the service tries again by itself" : "then deliver again what it missed"}.`,
}
