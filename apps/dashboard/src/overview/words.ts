/** The words of the overview. */
export const overviewWords = {
  title: "Overview",
  span: "Span of time",
  ranges: { "24h": "24 hours", "7d": "7 days", "30d": "30 days" },
  firstTitle: "Send the first message",
  firstAbout: "From the emulator with one click, or from your program with a key.",
  sent: "Sent",
  failed: "Failed",
  nothingEnded: "nothing ended yet",
  ofAll: (percent: string) => `${percent} % of all`,
  waiting: "Waiting now",
  allDue: "all are due",
  scheduled: (count: string) => `${count} scheduled for later`,
  dueToSent: "From due to sent",
  median: "half of them are faster",
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
  deliveries: "Webhook deliveries",
  noWebhook:
    "No webhook receives events yet. With one, your program hears of each event within a second.",
}

export const failureWords: Readonly<Record<string, string>> = {
  recipient_not_found: "The recipient is not registered",
  group_not_found: "No such group",
  media_unavailable: "The file was not available",
  send_failed: "The platform refused it",
  outcome_unknown: "The outcome is unknown",
}

export const attentionWords = {
  title: "What needs attention",
  noNumber: "No number is linked yet: messages wait until one is.",
  calm: "All is well: every number is connected, and nothing waits longer than it should.",
  waiting: "waiting",
  oldest: (span: string) => `The oldest message has been due for ${span}`,
  stopped: "stopped",
  webhook: (id: number) => `Webhook ${id}`,
}
