/** The words around every page. Each page has its own file of words, so that a language can be added. */
import type { LiveState } from "../api/live.ts"

export const paletteLabels = {
  title: "Go to or do",
  field: "What for",
  example: (isOperator: boolean) =>
    `A page, ${isOperator ? "a workspace, " : ""}a message’s number, a phone`,
  found: "Found",
  nothing: "Nothing has that name.",
  keys: "Keyboard shortcuts",
}

export const pageNames = {
  overview: "Overview",
  messages: "Messages",
  campaigns: "Campaigns",
  numbers: "Numbers",
  reminders: "Reminders",
  webhooks: "Webhooks",
  media: "Media",
  numberChecks: "Number checks",
  contacts: "Contacts",
  settings: "Settings",
  emulator: "Emulator",
  workspaces: "Workspaces",
  service: "Service",
  held: "Held messages",
}

/** Buttons of pages, by which the palette finds the pages too. */
export const buttonNames = {
  newMessage: "New message",
  newCampaign: "New campaign",
  newReminder: "New reminder",
  linkPhone: "Link a phone",
  addWebhook: "Add a webhook",
  addContact: "Add a contact",
  makeKey: "Make a key",
  checkPhones: "Check phones",
  uploadFile: "Upload a file",
  makeWorkspace: "Make a workspace",
}

export const shellLabels = {
  skip: "Skip to the page",
  goTo: "Go to…",
  pages: "Pages",
  theme: "Theme",
  signOut: "Sign out",
  operator: "operator",
  signedInAs: (role: string) => `Signed in as ${role}`,
  product: "Messaging",
  toTitle: (page: string) => `${page} · Messaging`,
  console: "Console",
  workspace: "Workspace",
  workspaceId: (id: string | number) => `Workspace ${id}`,
  allWorkspaces: "All workspaces",
  goBack: "Back to your app",
  disabled: "This workspace is disabled: nothing is sent, and what waits keeps waiting.",
  disabledForOperators:
    "This workspace is disabled: nothing is sent, and what waits keeps waiting. Its settings enable it again.",
  movedOn: (span: string) => `moved on by ${span}`,
  showNews: "show news as they happen",
  holdStill: "hold the page still",
  groups: { page: "Page", action: "Action", find: "Find", open: "Open" },
  changeTheme: "Theme: light or dark",
  showKeys: "Keyboard shortcuts",
  messagesTo: (phone: string) => `Messages to ${phone}`,
  message: (id: string) => `Message ${id}`,
  keys: {
    goTo: "Go to a page, a message, a phone",
    write: "Write a message",
    find: "Find",
    next: "Next",
    previous: "Previous",
    open: "Open",
    close: "Close",
    all: "Keyboard shortcuts",
  },
}

export const liveLabels: Readonly<Record<LiveState, string>> = {
  connecting: "Connecting",
  live: "Live",
  offline: "No connection",
  paused: "Paused",
}

const zoneName = (zone: string): string => zone.replaceAll("_", " ")

export const dialogLabels = { back: "Back", done: "Done" }

export const zoneLabels = {
  zone: zoneName,
  /** At a field of a date and time. */
  ofField: (zone: string) => `Time zone: ${zoneName(zone)}.`,
  change: (zone: string) => `Show times in ${zoneName(zone)}`,
}

export const pagerLabels = {
  pages: "Pages of the list",
  page: (page: number, visible: number) => `Page ${page} · ${visible} shown`,
  lastPage: (page: number, visible: number) => `Page ${page}, the last · ${visible} shown`,
  all: (visible: number) => (visible === 0 ? "" : `${visible} in all`),
  asking: "Asking…",
  newer: "Newer",
  older: "Older",
}

export const secretLabels = {
  once: "Copy it now: this is the only time that it is shown.",
}

export const signedOutLabels = {
  title: "Your session has ended",
  operator: "Sign in again. What you typed on this page stays.",
  portal:
    "Ask for a new link to this workspace. What you typed on this page stays until you close it.",
}

/** The states that every page has. */
export const stateLabels = {
  loading: "Loading",
  away: "The service does not answer.",
  notVisible: "This part of the page cannot be shown.",
  roleRefused: "Your role does not allow this.",
  sessionEnded: "Your session had ended, so this was not done. Do it again.",
  gone: "It is no longer there. It was deleted, or the address is wrong.",
  mayBeOld: "What you see may be out of date.",
  noRequestId: "no request id",
  again: "Try again",
  againIn: (seconds: number) => ` · again in ${seconds} s`,
  copy: "Copy",
  copied: "Copied",
  copyText: (text: string) => `Copy ${text}`,
}

export const chartLabels = {
  inAll: "in all",
  now: "now",
  of: (a: string, b: string) => `${a} of ${b}`,
}
