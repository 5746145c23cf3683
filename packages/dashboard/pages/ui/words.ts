/** The words around every page. Each page has its own file of words, so that a language can be added. */
import type { LiveState } from "../api/live.ts"

export const paletteLabels = {
  title: "Command menu",
  field: "Search",
  example: (isOperator: boolean) =>
    `Search pages, ${isOperator ? "workspaces, " : ""}message ids, phones`,
  found: "Results",
  nothing: "No results",
  keys: "Keyboard shortcuts",
}

export const pageNames = {
  overview: "Overview",
  messages: "Messages",
  chats: "Chats",
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
  addWebhook: "Add webhook",
  addContact: "Add contact",
  makeKey: "Create key",
  checkPhones: "Check phones",
  uploadFile: "Upload a file",
  makeWorkspace: "Create workspace",
}

export const shellLabels = {
  skip: "Skip to content",
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
  disabled: "This workspace is disabled. Messages wait until it is enabled again.",
  disabledForOperators:
    "This workspace is disabled. Messages wait until you enable it in Settings.",
  unreadChats: (count: number, max: number) =>
    count > max ? `more than ${max} unread` : `${count} unread`,
  movedOn: (span: string) => `${span} ahead`,
  showNews: "resume live updates",
  holdStill: "pause live updates",
  groups: { page: "Page", action: "Action", find: "Search", open: "Open" },
  changeTheme: "Toggle light and dark theme",
  showKeys: "Keyboard shortcuts",
  messagesTo: (phone: string) => `Messages to ${phone}`,
  message: (id: string) => `Message ${id}`,
  keys: {
    goTo: "Open the command menu",
    find: "Search",
    next: "Next row",
    previous: "Previous row",
    open: "Open",
    close: "Close",
    answer: "Answer in the open chat",
    markRead: "Mark the open chat as read",
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

export const dialogLabels = { cancel: "Cancel", done: "Done" }

export const zoneLabels = {
  zone: zoneName,
  /** At a field of a date and time. */
  ofField: (zone: string) => `Time zone: ${zoneName(zone)}.`,
  change: (zone: string) => `Show times in ${zoneName(zone)}`,
}

export const pagerLabels = {
  pages: "Pagination",
  page: (page: number, visible: number) => `Page ${page} · ${visible} shown`,
  lastPage: (page: number, visible: number) => `Page ${page} (last) · ${visible} shown`,
  all: (visible: number) => (visible === 0 ? "" : `${visible} total`),
  asking: "Loading…",
  newer: "Newer",
  older: "Older",
}

export const filterLabels = {
  search: "Search",
  mode: "Mode",
  modes: { live: "Live messages", test: "Test messages" },
}

export const toastLabels = { undo: "Undo", dismiss: "Dismiss" }

export const secretLabels = {
  once: "Copy it now. It is not shown again.",
}

export const signedOutLabels = {
  title: "Your session has ended",
  operator: "Sign in again. What you typed here is kept.",
  portal: "Ask for a new link to this workspace. What you typed is kept until you close this page.",
}

/** The states that every page has. */
export const stateLabels = {
  loading: "Loading",
  away: "The service is not responding.",
  notVisible: "This part of the page cannot be shown.",
  roleRefused: "Your role does not allow this.",
  sessionEnded: "Your session had expired and nothing was changed. Try again.",
  gone: "Not found. It may have been deleted, or the address is wrong.",
  mayBeOld: "This page may be out of date.",
  noRequestId: "no request id",
  again: "Try again",
  againIn: (seconds: number) => ` · retry in ${seconds} s`,
  copy: "Copy",
  copied: "Copied",
  copyText: (text: string) => `Copy ${text}`,
}

export const chartLabels = {
  total: (count: string) => `Total ${count}`,
  now: "now",
  of: (a: string, b: string) => `${a} of ${b}`,
}
