import type { ProxyCheck } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

/** The words of the numbers' pages. */
export const numbersLabels = {
  title: "Numbers",
  about: "Phones and accounts that send your messages",
  any: "Any number",
  newNumber: (id: number) => `New number ${id}`,
  noPhone: "no phone yet",
  empty: "No numbers yet",
  emptyAbout:
    "Messages are sent from your own phone. Linking takes a minute; have the phone ready.",
  emptyForMembers: "Owners and administrators can link phones. Messages wait until one is linked.",
  resume: "Resume",
  linkAgain: "Link again",
  logIn: "Log in",
  showCode: "Show code",
  pause: "Pause",
  pausedNow: "Paused. Messages wait until you resume it.",
  byTheHour: "Sent per hour, last 24 h",
  in24h: (limit: string) => `of ${limit} in 24 h`,
  quota: "24-hour limit used",
  next: ", next ",
  waiting: (count: number) => (count === 0 ? "None waiting" : `${count.toLocaleString()} waiting`),
  waitFor: (count: number) =>
    ` ${count.toLocaleString()} ${count === 1 ? "message" : "messages"} waiting.`,
}

export const linkDialogLabels = {
  title: buttonNames.linkPhone,
  how: "Method",
  qr: "Scan a QR code",
  qrAbout: "For a phone with a camera, with this page on another screen.",
  code: "Enter a code on the phone",
  codeAbout: "For when this page is open on the phone itself.",
  phone: "Phone number, with + and country code",
  away: "The service is not responding.",
  show: "Show code",
}

export const linkLabels = {
  title: buttonNames.linkPhone,
  linking: "Linking in progress",
  notForMembers: "Only owners and administrators see the code.",
  scan: "Scan as the simulated phone",
  allNumbers: "All numbers",
  linked: (phone: string) => `+${phone} is linked`,
  linkedAbout: "It can send messages now. Bring the phone online from time to time.",
  goOn: "Done",
  over: "Time is up",
  overAbout: "No phone used the code within ten minutes.",
  newCode: "Get a new code",
  steps: (byQr: boolean) => [
    "Open WhatsApp on the phone that will send.",
    "Go to Settings, then Linked devices.",
    byQr
      ? "Choose Link a device and point the camera at the code."
      : "Choose Link with phone number instead and type the code.",
  ],
  logOut:
    "The phone lists this service among its linked devices. You can log it out there, or here, at any time.",
  taken: "Code accepted. Finishing…",
  waiting: "Waiting for the phone…",
  asking: "Requesting a code…",
  qrCode: "QR code to scan with the phone",
  code: (letters: string) => `Code: ${letters}`,
  anotherIn: (left: string) => `New code in ${left}`,
  timeLeft: "Time left",
  left: (left: string) => `${left} left`,
}

/** How a number is, in one word. */
export const standingLabels = {
  linking: "linking",
  connected: "connected",
  disconnected: "disconnected",
  paused: "paused",
  reconnecting: "reconnecting",
}

export const standingSentences = {
  linking: "Waiting for a phone to use the code.",
  pausedOpen: "Paused until resumed.",
  pausedUntil: "Paused. Resumes",
  connecting: "Connecting.",
  notConnected: "Not connected.",
  messagesWait: "Its messages wait.",
}

/** Why a number is not connected, and what to do. */
export const disconnectedSentences: Readonly<Record<string, string>> = {
  logged_out: "Logged out on the phone. Link it again to send its messages.",
  replaced: "Another program took over its connection. Resume it here, or link it again.",
  banned: "Banned by the platform. Check the phone’s app before you resume it.",
  restricted: "Restricted by the platform for now.",
  client_outdated: "The platform rejects this client version. Update the service, then resume.",
  passkey_required:
    "The account requires a passkey. Switch it off on the phone, then link it again.",
  link_expired: "Linking timed out. Get a new code.",
  connection_lost: "Connection lost. Reconnecting.",
  not_linked: "Never linked to a phone.",
  account_disabled: "Its workspace is disabled.",
}

export const numberLabels = {
  title: (id: number) => `Number ${id}`,
  all: "All numbers",
  label: "Label",
  labelAbout: "A name for your team. Recipients don’t see it.",
  save: "Save",
  saved: "Saved.",
  gone: "Number not found. It may have been deleted, or the address is wrong.",
  state: "Status",
  since: "Since",
  seen: "Last seen",
  never: "never",
  waiting: "Waiting",
  nextSend: "Next send",
  none: "none",
  sent: "Sent in 24 h",
  reconnects: "Reconnects",
  worker: "Worker",
  noWorker: "none",
}

export const restrictionsLabels = {
  title: "New chats",
  closedUntil: "WhatsApp does not let this number write to new people until",
  used: (used: number, limit: number) =>
    `${used.toLocaleString()} of ${limit.toLocaleString()} new chats used.`,
  resets: "The count starts again",
  warnings: {
    first: "WhatsApp has warned once.",
    second: "WhatsApp has warned twice.",
    capped: "The limit is reached.",
  },
}

export const restrictionTexts = {
  none: "WhatsApp lets this number write to new people.",
  new_chats_closed: "WhatsApp does not let this number write to new people for now.",
  unknown: "WhatsApp has not said whether this number may write to new people.",
}

export const pauseLabels = {
  title: "Pause",
  about: "Messages are accepted and wait. One in flight may still be sent.",
  until: "Until",
  untilAbout: "Leave empty to pause until resumed.",
  pause: "Pause",
  resume: "Resume",
  paused: "The number is paused.",
}

export const pacingLabels = {
  title: "Pacing",
  about: "How fast the number may send. Leave empty for no limit. Changes apply immediately.",
  fields: {
    min_interval_ms: ["Minimum interval (ms)", "Between messages."],
    jitter_ms: ["Random delay up to (ms)", "Added after each message."],
    per_minute: ["Messages per minute", ""],
    per_hour: ["Messages per hour", ""],
    new_recipients_per_day: ["New recipients per day", "Recipients it has not messaged before."],
  } as const,
  save: "Save pacing",
}

export const proxyLabels = {
  title: "Proxy",
  about: "The number connects through it. The URL is not shown again.",
  now: (host: string, port: number) => `The number uses ${host}:${port}.`,
  direct: "The number connects directly.",
  url: "Proxy URL",
  example: "socks5://user:password@proxy.example:1080",
  save: "Save proxy",
  remove: "Remove proxy",
  check: "Test proxy",
  works: (millis: number) => `Proxy works: connected in ${millis} ms.`,
}

/** Why a checked proxy opened no connection. */
export const proxyProblemLabels: Readonly<Record<NonNullable<ProxyCheck["error"]>, string>> = {
  timeout: "Proxy failed: no connection within 10 seconds.",
  dns: "Proxy failed: host not found.",
  tls: "Proxy failed: certificate or TLS error.",
  connection: "Proxy failed: connection refused or dropped.",
  credentials_refused: "The proxy rejects the user name or password.",
  target_refused: "The proxy responds but cannot reach the platform.",
  unexpected_answer: "The server at this address is not this kind of proxy.",
  proxy_unreadable: "The service can no longer read the URL. Enter it again.",
  no_remote: "Not tested: this number does not connect to a platform.",
}

export const endLabels = {
  title: "Log out or delete",
  logOut: "Log out",
  logOutTitle: (name: string) => `Log ${name} out?`,
  logOutAbout: "Unlinks the device and erases its credentials. Its messages keep waiting.",
  remove: "Delete number",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: (waiting: number) =>
    waiting === 0
      ? "No messages are waiting. This cannot be undone."
      : `Cancels ${waiting.toLocaleString()} waiting ${waiting === 1 ? "message" : "messages"}. This cannot be undone.`,
}
