import type { ProxyCheck } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

/** The words of the numbers' pages. */
export const numbersLabels = {
  title: "Numbers",
  about: "Messages leave from these phones",
  newNumber: (id: number) => `New number ${id}`,
  noPhone: "no phone yet",
  empty: "No phone is linked",
  emptyAbout:
    "Messages leave from a phone of your own. Linking takes a minute, and you need the phone at hand.",
  emptyForMembers:
    "Owners and administrators of this workspace link phones. Messages are accepted, and wait until one is linked.",
  resume: "Resume",
  linkAgain: "Link again",
  logIn: "Log in",
  showCode: "Show the code",
  pause: "Pause",
  byTheHour: "Sent by the hour, 24 h",
  in24h: (limit: string) => `of ${limit} in 24 h`,
  quota: "Used part of the 24-hour quota",
  next: ", next ",
  waiting: (count: number) =>
    count === 0
      ? "Nothing waits"
      : `${count.toLocaleString()} ${count === 1 ? "message waits" : "messages wait"}`,
  waitFor: (count: number) =>
    ` ${count.toLocaleString()} ${count === 1 ? "message waits" : "messages wait"} for it.`,
}

export const linkDialogLabels = {
  title: buttonNames.linkPhone,
  how: "How",
  qr: "Scan a QR code",
  qrAbout: "The sending phone has a camera, and you see this page on another screen.",
  code: "Type a code on the phone",
  codeAbout: "You see this page on the phone itself.",
  phone: "Its number, with + and country code",
  away: "The service does not answer.",
  notNow: "Not now",
  show: "Show the code",
}

export const linkLabels = {
  title: buttonNames.linkPhone,
  linking: "A phone is being linked",
  notForMembers: "Owners and administrators of the workspace see its code.",
  scan: "Scan as the simulated phone",
  allNumbers: "All numbers",
  linked: (phone: string) => `+${phone} is linked`,
  linkedAbout: "Messages can leave from it now. Keep the phone online from time to time.",
  goOn: "Go on",
  over: "The time is over",
  overAbout: "No phone took the code within ten minutes.",
  newCode: "Show a new code",
  steps: (byQr: boolean) => [
    "Open WhatsApp on the phone that will send.",
    "Go to Settings, then Linked devices.",
    byQr
      ? "Choose Link a device and point the camera at the code."
      : "Choose Link with phone number instead and type the code.",
  ],
  logOut:
    "The phone lists this service among its linked devices. You can log it out there, or here, at any time.",
  taken: "The phone has taken the code. Linking finishes…",
  waiting: "Waiting for the phone…",
  asking: "Asking for a code…",
  qrCode: "QR code to scan with the phone",
  code: (letters: string) => `Code: ${letters}`,
  anotherIn: (left: string) => `Another code in ${left}`,
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
  linking: "Waits for a phone to take its code.",
  pausedOpen: "Paused until a user resumes it.",
  pausedUntil: "Paused. It resumes by itself",
  connecting: "It is connecting.",
  notConnected: "It is not connected.",
  messagesWait: "Messages from it wait.",
}

/** Why a number is not connected, and what to do. */
export const disconnectedSentences: Readonly<Record<string, string>> = {
  logged_out: "Logged out on the phone. Link it again, and its messages leave.",
  replaced: "Another program uses its connection. Resume it here, or link it again.",
  banned: "The platform has banned it. Look into the phone’s app before you resume it.",
  restricted: "The platform lets it send nothing for now.",
  client_outdated: "The platform refuses its client as outdated. Update the service, then resume.",
  passkey_required: "The account asks for a passkey, which only the phone can give.",
  link_expired: "The time to link it is over. Ask for a new code.",
  connection_lost: "The connection was lost; the service tries again.",
  not_linked: "Never linked to a phone.",
  account_disabled: "Its workspace is disabled.",
}

export const numberLabels = {
  title: (id: number) => `Number ${id}`,
  all: "All numbers",
  label: "Label",
  labelAbout: "A name for people; recipients never see it.",
  save: "Save",
  saved: "Saved.",
  gone: "The workspace has no such number. It was deleted, or the address is wrong.",
  state: "State",
  since: "Since",
  seen: "Last seen",
  never: "never",
  waiting: "Waiting",
  nextSend: "Next message",
  none: "none",
  sent: "Sent in 24 h",
  reconnects: "Reconnects",
  worker: "Worker",
  noWorker: "none has it",
}

export const pauseLabels = {
  title: "Pause",
  about: "Messages are accepted and wait. One that is being sent may still leave.",
  until: "Until",
  untilAbout: "Empty: until a user resumes it.",
  pause: "Pause",
  resume: "Resume",
  paused: "The number is paused.",
}

export const pacingLabels = {
  title: "Pacing",
  about: "How fast the number may send. Empty: no such limit. A change counts at once.",
  fields: {
    min_interval_ms: ["Rest after a message (ms)", "At least."],
    jitter_ms: ["Longer by up to (ms)", "Drawn for each message."],
    per_minute: ["Messages per minute", ""],
    per_hour: ["Messages per hour", ""],
    new_recipients_per_day: ["New recipients per day", "Phones that it never sent to before."],
  } as const,
  save: "Save the pacing",
}

export const proxyLabels = {
  title: "Proxy",
  about: "The connection of the number goes through it. The service never shows its URL again.",
  now: (host: string, port: number) => `The number uses ${host}:${port}.`,
  direct: "The number connects directly.",
  url: "URL of the proxy",
  example: "socks5://user:password@proxy.example:1080",
  save: "Use this proxy",
  remove: "Use none",
  check: "Check the proxy",
  works: (millis: number) => `The proxy works: a connection opened in ${millis} ms.`,
}

/** Why a checked proxy opened no connection. */
export const proxyProblemLabels: Readonly<Record<NonNullable<ProxyCheck["error"]>, string>> = {
  timeout: "The proxy does not work: no connection opened within 10 seconds.",
  dns: "The proxy does not work: its name does not resolve.",
  tls: "The proxy does not work: its certificate or its TLS is wrong.",
  connection: "The proxy does not work: it refused or broke off the connection.",
  credentials_refused: "The proxy refuses the user name or the password.",
  target_refused: "The proxy answers, but it does not reach the platform.",
  unexpected_answer: "What answers at this address is not a proxy of this kind.",
  proxy_unreadable: "The service can no longer read the URL. Enter it again.",
  no_remote: "Nothing was tried: this number connects to no platform.",
}

export const endLabels = {
  title: "Log out or delete",
  logOut: "Log out",
  logOutTitle: (name: string) => `Log ${name} out?`,
  logOutAbout:
    "Its device is logged out and its credentials are erased. Its messages keep waiting.",
  remove: "Delete the number",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: (waiting: number) =>
    waiting === 0
      ? "No message waits for it. This cannot be undone."
      : `This cancels ${waiting.toLocaleString()} waiting ${waiting === 1 ? "message" : "messages"}. It cannot be undone.`,
}
