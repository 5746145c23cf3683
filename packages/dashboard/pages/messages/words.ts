/** The words of the messages' pages. */
import type { Message } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"
import type { TimelineEntry } from "./timeline.ts"

export const messagesLabels = {
  title: "Messages",
  all: "All messages",
  caption: "Messages, newest first",
  choose: "Choose",
  chooseMessage: (id: number) => `Choose message ${id}`,
  openMessage: (id: number, to: string) => `Open message ${id} to ${to}`,
  status: "Status",
  to: "To",
  text: "Text",
  from: "From",
  time: "Time",
  /** Before a time. */
  times: { sent: "sent", expired: "expired", due: "due", accepted: "accepted" },
  totals: (sent: number, failed: number, waiting: number) =>
    `${sent.toLocaleString()} sent and ${failed.toLocaleString()} failed in 24 hours, ${waiting.toLocaleString()} ${waiting === 1 ? "waits" : "wait"} now`,
  testTotals: (totals: string) => `Test: ${totals}`,
  /** Around a time. */
  looked: ["Texts were looked at back to ", ". Older messages are on the next pages."],
  nothingFound: "No message matches",
  fewerFilters: "Fewer filters find more.",
  clearFilters: "Clear the filters",
  empty: "No message yet",
  emptyAbout: "Messages appear here as soon as they are accepted, whichever way they come.",
  emptyTest: "No test message yet",
  emptyTestAbout:
    "A test message is accepted and reported like any other, and reaches no phone. Test keys send them, and a form with “Test” checked.",
}

export const filterLabels = {
  find: "Find by phone or text",
  findExample: "Phone or text",
  search: "Search",
  clear: "Clear",
  status: "Status",
  error: "Failed with",
  anyError: "Any error",
  errors: {
    recipient_not_found: "Recipient not registered",
    group_not_found: "No such group",
    media_unavailable: "File not available",
    send_failed: "Refused by the platform",
    outcome_unknown: "Outcome unknown",
  },
  time: "Accepted",
  anyTime: "Any time",
  since: (time: string) => `Since ${time}`,
  spans: {
    1: "In the last hour",
    24: "In the last 24 hours",
    168: "In the last 7 days",
    720: "In the last 30 days",
  },
  from: "Sending number",
  anyNumber: "Any number",
  number: (id: number) => `Number ${id}`,
  mode: "Mode",
  modes: { live: "Live messages", test: "Test messages" },
  reference: (reference: string) => `Reference ${reference}`,
  dropReference: (reference: string) => `Reference ${reference}: show others too`,
}

export const chosenLabels = {
  title: "Chosen messages",
  chosen: "chosen",
  ended: (count: number) => ` · ${count} have left or ended`,
  cancel: (count: number) => `Cancel ${count}`,
  none: "Choose none",
  allMatching: "Cancel all that match",
  counting: "Counting",
  askAll: (count: number, more: boolean) =>
    `${more ? "More than " : ""}${count.toLocaleString()} waiting ${count === 1 ? "message matches" : "messages match"}. What was sent stays as it is.`,
  nothingWaits: "Nothing that matches waits.",
  progress: (count: number) => `${count.toLocaleString()} cancelled so far`,
  done: (cancelled: number, left: number) =>
    `${cancelled.toLocaleString()} cancelled${left === 0 ? "" : `, ${left.toLocaleString()} had left or ended`}.`,
}

export const panelLabels = {
  title: "Message",
  toTitle: (id: number) => `Message ${id}`,
  close: "Close",
  noText: "No text",
  /** What a message carries besides its text. */
  carries: (media: Message["media"]) =>
    media === null ? "" : media.type === "image" ? "With an image" : "With a file",
  whyFailed: "Why it failed",
  happened: "What happened",
  truncated: "Older attempts and deliveries are left out.",
  from: "From",
  noPhone: "a number without a phone",
  accepted: "Accepted",
  planned: "Planned for",
  atOnce: "at once",
  expires: "Expires",
  never: "never",
  reference: "Reference",
  campaign: "Campaign",
  ofCampaign: (name: string, row: number) => `${name}, row ${row.toLocaleString()}`,
  cancel: "Cancel this message",
  someone: "unknown",
}

export const whyLabels = {
  title: "Why is it waiting?",
  /** Around a relative time and the time by the clock. */
  canLeave: ["It can leave ", ", at ", "."],
  ends: (remedy: string) => `${remedy}: the message keeps its place, and leaves then.`,
  forAdministrators: "Owners and administrators of this workspace can do that.",
  then: (sentence: string) => `Then: ${sentence}`,
  until: "Until ",
  toNumber: "Go to its number",
  resume: "Resume the number",
  ahead: (count: number) =>
    count >= 1000
      ? "More than 1,000 messages of its number leave before it."
      : count === 1
        ? "1 message of its number leaves before it."
        : `${count.toLocaleString()} messages of its number leave before it.`,
  others: "The messages before it leave first.",
  soon: "The next free worker takes it.",
}

export const waitingTexts = {
  disabled: "Its workspace is disabled.",
  held: "The service holds it, because its store was restored from a backup.",
  campaign: "Its campaign is paused, or outside of its hours.",
  scheduled: "It is scheduled for later.",
  connecting: "Its number is connecting.",
  paused: "Its number is paused.",
  sending: "The number is sending another message now.",
  resting: "Its number rests between two messages.",
  limited: "Its number has reached its limit for now.",
  no_room: "The disk does not give its file, or has no room for it.",
}

export const disconnectedTexts: Readonly<Record<string, string>> = {
  logged_out: "Its number was logged out on the phone.",
  replaced: "Another program uses its number’s connection.",
  banned: "The platform has banned its number.",
  restricted: "The platform lets its number send nothing for now.",
  client_outdated: "The platform refuses its number’s client as outdated.",
  passkey_required: "Its number’s account asks for a passkey.",
  link_expired: "Its number was not linked in time.",
  connection_lost: "Its number lost its connection and tries again.",
  not_linked: "Its number was never linked.",
}

export const pausedTexts: Readonly<Record<string, string>> = {
  paused: "A user of its workspace or an operator paused its number.",
  restricted: "Its number is paused: the platform refused five messages in a row.",
  banned: "Its number is paused: the platform has banned it.",
  client_outdated: "Its number is paused: the platform refuses its client as outdated.",
}

/** What ends the wait for a number that does not connect by itself, for each of its reasons. */
export const linkRemedies: Readonly<Record<string, string>> = {
  logged_out: "Link it again",
  replaced: "Resume it, or link it again",
  banned: "Follow what the phone’s app offers, then resume it",
  restricted: "Resume it once the phone’s app works again",
  client_outdated: "Update the service, then resume it",
  passkey_required: "Switch the passkey off on the phone, then link it again",
  link_expired: "Link it again",
  not_linked: "Link it",
}

/** What ends a pause, for each of its reasons. */
export const resumeRemedies: Readonly<Record<string, string>> = {
  paused: "Resume it",
  restricted: "Look into the phone’s app, then resume it",
  banned: "Follow what the phone’s app offers, then resume it",
  client_outdated: "Update the service, then resume it",
}

export const stepLabels: Readonly<Record<TimelineEntry["type"], (entry: TimelineEntry) => string>> =
  {
    accepted: () => "Accepted",
    due: () => "Due",
    postponed: () => "Postponed",
    attempt_refused: () => "Attempt refused",
    attempt_interrupted: () => "Attempt interrupted",
    sent: () => "Handed to the platform",
    delivered: () => "Arrived on the phone",
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

export const again = " · again "

export const newMessageLabels = {
  title: buttonNames.newMessage,
  to: "To",
  toAbout: (count: number) =>
    count <= 1
      ? "A phone with + and country code, or a Telegram username with @. One per line for several, up to 1,000."
      : `${count.toLocaleString()} recipients, each of whom gets a message of their own.`,
  suggested: "Last recipients and contacts:",
  suggestedAlso: "Add:",
  from: "From",
  chooseFrom: "Choose a number",
  text: "Text",
  textAbout: (left: number) => `*bold*, _italic_ and ~strike~ work. ${left.toLocaleString()} left.`,
  sendAt: "Send at",
  sendAtAbout: "Empty: at once.",
  expiresAt: "Expires at",
  expiresAtAbout: "Optional: after this time it is no longer sent.",
  test: "Test: accept and report it, but send nothing",
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
  referenceAbout:
    "Optional: what you call it, such as the id of an order. Recipients never see it.",
}

export const sendingNotes = {
  disabled: "This workspace is disabled: what it sends waits until it is enabled again.",
  noPlan: "This workspace has no plan: the service refuses to send its messages.",
  noAllowance: "The plan has no messages left: the service refuses to send more.",
}
