/** The words of the messages' pages. */
import type { Message } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"
import type { TimelineEntry } from "./timeline.ts"

export const messagesLabels = {
  title: "Messages",
  all: "All messages",
  caption: "Messages, newest first",
  choose: "Select",
  chooseMessage: (id: number) => `Select message ${id}`,
  openMessage: (id: number, to: string) => `Open message ${id} to ${to}`,
  status: "Status",
  to: "To",
  text: "Text",
  from: "From",
  time: "Time",
  /** Before a time. */
  times: { sent: "sent", expired: "expired", due: "due", accepted: "accepted" },
  totals: (sent: number, failed: number, waiting: number) =>
    `Last 24 h: ${sent.toLocaleString()} sent, ${failed.toLocaleString()} failed · ${waiting.toLocaleString()} waiting`,
  testTotals: (totals: string) => `Test · ${totals}`,
  /** Around a time. */
  looked: ["Searched back to ", ". Older results are on the next pages."],
  nothingFound: "No matching messages",
  fewerFilters: "Try removing a filter.",
  clearFilters: "Clear filters",
  empty: "No messages yet",
  emptyAbout: "Messages appear here once accepted, from the API or the dashboard.",
  emptyTest: "No test messages yet",
  emptyTestAbout:
    "Test messages are accepted and reported, but never reach a phone. Use a test key, or check “Test” in the form.",
}

/** Why messages fail, by the code of their error. */
export const failureLabels = {
  recipient_not_found: "Recipient not registered",
  group_not_found: "Group not found",
  media_unavailable: "File not available",
  send_failed: "Rejected by the platform",
  outcome_unknown: "Outcome unknown",
}

export const filterLabels = {
  find: "Search by phone or text",
  findExample: "Phone or text",
  clear: "Clear",
  status: "Status",
  error: "Error",
  anyError: "Any error",
  time: "Created",
  anyTime: "Any time",
  since: (time: string) => `Since ${time}`,
  spans: {
    1: "Last hour",
    24: "Last 24 hours",
    168: "Last 7 days",
    720: "Last 30 days",
  },
  from: "Sending number",
  more: "Filter",
  /** Of messages, behind a status. */
  now: (count: number) => `${count.toLocaleString()} now`,
  inDay: (count: number) => `${count.toLocaleString()} in 24 h`,
  ofNumber: (id: number) => `From number ${id}`,
  test: "Test messages",
  reference: (reference: string) => `Reference ${reference}`,
  drop: (filter: string) => `Remove filter: ${filter}`,
}

export const chosenLabels = {
  title: "Selected messages",
  chosen: "selected",
  ended: (count: number) => ` · ${count} cannot be cancelled`,
  cancel: (count: number) =>
    count === 1 ? "Cancel 1 message" : `Cancel ${count.toLocaleString()} messages`,
  keep: "Keep them",
  chosenTitle: (count: number) =>
    count === 1 ? "Cancel this message?" : `Cancel ${count.toLocaleString()} messages?`,
  chosenAbout: (count: number) =>
    count === 1
      ? "It is not sent. A cancelled message cannot be brought back."
      : "They are not sent. Cancelled messages cannot be brought back.",
  none: "Clear selection",
  allMatching: "Cancel all matching…",
  askTitle: "Cancel all matching messages?",
  counting: "Counting…",
  askAll: (count: number, more: boolean) =>
    `${more ? "More than " : ""}${count.toLocaleString()} waiting ${count === 1 ? "message matches" : "messages match"}. Sent messages are not affected. Cancelled messages cannot be brought back.`,
  nothingWaits: "No waiting message matches.",
  progress: (count: number) => `${count.toLocaleString()} cancelled…`,
  done: (cancelled: number, left: number) =>
    `${cancelled.toLocaleString()} cancelled${left === 0 ? "" : `, ${left.toLocaleString()} already sent or finished`}.`,
}

export const panelLabels = {
  title: "Message",
  toTitle: (id: number) => `Message ${id}`,
  close: "Close",
  noText: "No text",
  /** What a message carries besides its text. */
  carries: (media: Message["media"]) =>
    media === null ? "" : media.type === "image" ? "Image attached" : "File attached",
  whyFailed: "Why it failed",
  happened: "Timeline",
  truncated: "Older attempts and deliveries are not shown.",
  from: "From",
  noPhone: "unlinked number",
  accepted: "Created",
  planned: "Scheduled for",
  atOnce: "immediately",
  expires: "Expires",
  never: "never",
  reference: "Reference",
  campaign: "Campaign",
  ofCampaign: (name: string, row: number) => `${name}, row ${row.toLocaleString()}`,
  again: "Send again",
  againTitle: "Send this message again?",
  againAbout: "It may have arrived: its outcome is unknown. The recipient could get it twice.",
  next: "Next message",
  previous: "Previous message",
  cancel: "Cancel message",
  cancelTitle: "Cancel this message?",
  cancelAbout: "It is not sent. A cancelled message cannot be brought back.",
  keep: "Keep it",
  someone: "unknown",
}

export const fileLabels = {
  open: "Open",
  download: "Download",
  downloadNamed: (name: string) => `Download ${name}`,
  gone: "The file was deleted.",
}

export const whyLabels = {
  title: "Why is it waiting?",
  /** Around a relative time and the time by the clock. */
  canLeave: ["Earliest send: ", " (", ")."],
  ends: (remedy: string) => `${remedy}. The message keeps its place in the queue.`,
  forAdministrators: "Only owners and administrators can do this.",
  then: (sentence: string) => `Also: ${sentence}`,
  until: "Until ",
  toNumber: "Go to number",
  resume: "Resume number",
  ahead: (count: number) =>
    count >= 1000
      ? "More than 1,000 messages are ahead of it."
      : count === 1
        ? "1 message is ahead of it."
        : `${count.toLocaleString()} messages are ahead of it.`,
  others: "Waiting for the messages ahead of it.",
  soon: "Waiting for a free worker.",
  beingSent: "It is being sent now. The platform has not responded yet.",
}

export const waitingTexts = {
  disabled: "The workspace is disabled.",
  held: "Held since a backup was restored.",
  campaign: "Its campaign is paused or outside its hours.",
  scheduled: "Scheduled for later.",
  new_chats_closed: "WhatsApp does not let the number write to new people now.",
  connecting: "The number is connecting.",
  paused: "The number is paused.",
  sending: "The number is sending another message now.",
  resting: "The number is pacing its messages.",
  limited: "The number has reached its sending limit.",
  no_room: "Its file cannot be read, or the disk is full.",
}

export const disconnectedTexts: Readonly<Record<string, string>> = {
  logged_out: "The number was logged out on the phone.",
  replaced: "Another program took over the number’s connection.",
  banned: "The platform banned the number.",
  restricted: "The platform restricted the number for now.",
  client_outdated: "The platform rejects this client version as outdated.",
  passkey_required: "The account requires a passkey.",
  link_expired: "Linking timed out.",
  connection_lost: "Connection lost. Reconnecting.",
  not_linked: "The number was never linked.",
}

export const pausedTexts: Readonly<Record<string, string>> = {
  paused: "A user or an operator paused the number.",
  restricted: "The number is paused: the platform rejected five messages in a row.",
  banned: "The number is paused: the platform banned it.",
  client_outdated: "The number is paused: the platform rejects this client version as outdated.",
}

/** What ends the wait for a number that does not connect by itself, for each of its reasons. */
export const linkRemedies: Readonly<Record<string, string>> = {
  logged_out: "Link the number again",
  replaced: "Resume the number, or link it again",
  banned: "Follow the steps in the phone’s app, then resume the number",
  restricted: "Resume the number once the phone’s app works again",
  client_outdated: "Update the service, then resume the number",
  passkey_required: "Switch the passkey off on the phone, then link the number again",
  link_expired: "Link the number again",
  not_linked: "Link the number",
}

/** What ends a pause, for each of its reasons. */
export const resumeRemedies: Readonly<Record<string, string>> = {
  paused: "Resume the number",
  restricted: "Check the phone’s app, then resume the number",
  banned: "Follow the steps in the phone’s app, then resume the number",
  client_outdated: "Update the service, then resume the number",
}

export const stepLabels: Readonly<Record<TimelineEntry["type"], (entry: TimelineEntry) => string>> =
  {
    accepted: () => "Accepted",
    due: () => "Due",
    postponed: () => "Postponed",
    attempt_refused: () => "Attempt rejected",
    attempt_interrupted: () => "Attempt interrupted",
    sent: () => "Sent to the platform",
    delivered: () => "Delivered",
    read: () => "Read",
    failed: () => "Failed",
    expired: () => "Expired",
    cancelled: () => "Cancelled",
    delivery: (entry) => {
      const way = entry.webhook_id === null ? "Callback" : "Webhook"
      return entry.error === null
        ? `${way} delivered, ${entry.response_status ?? ""}`
        : `${way} failed, attempt ${entry.attempt ?? 1}`
    },
  }

export const again = " · retry "

export const newMessageLabels = {
  title: buttonNames.newMessage,
  to: "To",
  toAbout: (count: number) =>
    count <= 1
      ? "Phone number with + and country code, or Telegram @username. One per line, up to 1,000. For a file of recipients, make a campaign."
      : `${count.toLocaleString()} recipients. Each gets a separate message.`,
  suggested: "Last recipients and contacts:",
  suggestedAlso: "Add:",
  suggestions: "Suggested recipients",
  from: "From",
  chooseFrom: "Choose a number",
  text: "Text",
  textAbout: (left: number) => `*bold*, _italic_ and ~strike~ work. ${left.toLocaleString()} left.`,
  sendAt: "Send at",
  sendAtAbout: "Leave empty to send now.",
  expiresAt: "Expires at",
  expiresAtAbout: "Optional. Not sent after this time.",
  test: "Test: accepted and reported, never sent",
  send: (count: number, isLater = false) => {
    const verb = isLater ? "Schedule" : "Send"
    return count <= 1 ? verb : `${verb} ${count.toLocaleString()} messages`
  },
  preview: "Preview",
  previewEmpty: "The text appears here as the recipient sees it.",
  accepted: (messages: ReadonlyArray<Message>) => {
    const word = messages[0]?.status === "scheduled" ? "Scheduled" : "Queued"
    return messages.length === 1 ? word : `${word} ${messages.length.toLocaleString()} messages`
  },
  view: "View",
  reference: "Reference",
  referenceAbout: "Optional. Your own id, such as an order number. Recipients don’t see it.",
}

export const sendingNotes = {
  disabled: "This workspace is disabled. Messages wait until it is enabled.",
  noPlan: "This workspace has no plan. Sends are rejected.",
  noAllowance: "The plan has no messages left. Sends are rejected.",
}
