/** The words of a workspace's settings. */
import { buttonNames } from "../ui/words.ts"
export const settingsLabels = {
  title: "Settings",
  forMembers: "Only owners and administrators see keys, secrets and links.",
}

export const keyLabels = {
  actions: "Actions",
  title: "API keys",
  about: "Programs call the API with a key. A key’s scopes cannot be changed.",
  make: buttonNames.makeKey,
  caption: "Keys, newest first",
  empty: "No keys yet",
  emptyAbout: "Create one for each program that sends messages.",
  name: "Name",
  scopes: "Scopes",
  numbers: "Numbers",
  lastUse: "Last used",
  ends: "Expires",
  everything: "all",
  allBut: (names: ReadonlyArray<string>) => `all but ${names.join(", ")}`,
  allNumbers: "all",
  someNumbers: (count: number) => `${count}`,
  never: "never",
  revoke: "Revoke",
  revokeKey: (name: string) => `Revoke ${name}`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeAbout: "Requests with this key stop working immediately. This cannot be undone.",
  revoked: "revoked",
  expired: "expired",
  test: "test",
  version1: "version 1",
  showRevoked: (count: number) => `Show ${count} revoked`,
  made: "Your new key",
}

export const newKeyLabels = {
  title: buttonNames.makeKey,
  version: "API version",
  version2: "Version 2",
  version1: "Version 1, full access",
  name: "Name",
  nameAbout: "The program that will use it.",
  mode: "Mode",
  live: "Live: messages reach phones",
  test: "Test: nothing is sent",
  scopes: "Scopes",
  expires: "Expires",
  lifetimes: [
    ["", "Never"],
    ["30d", "In 30 days"],
    ["90d", "In 90 days"],
    ["1y", "In 1 year"],
  ] as const,
  numbers: "Numbers",
  allNumbers: "All numbers, including new ones",
  action: buttonNames.makeKey,
}

export const scopeLabels = {
  "messages:send": ["Send messages", "And cancel them."],
  "messages:read": ["Read messages", "And manage webhooks."],
  reminders: ["Reminders", "List, create, edit and delete."],
  numbers: ["Numbers", "List, view and link."],
  media: ["Files", "Upload, list, view and delete."],
  contacts: ["Number checks", "Check which phones are registered."],
} as const

/** What keys may do while conversations are on. */
export const chatScopeLabels = {
  "chats:read": ["Read chats", "What people write to the numbers."],
  "chats:write": ["Change chats", "Mark them as read, and erase what was received."],
} as const

export const conversationsLabels = {
  title: "Conversations",
  about:
    "Stores what people write to the numbers, and reports deliveries, reads and changes of numbers.",
  turnOn: "Turn on",
  turnOnTitle: "Turn conversations on?",
  turnOff: "Turn off",
  edit: "Edit",
  editTitle: "Edit conversations",
  save: "Save",
  off: "Off. What people write stays on the phones.",
  onSince: "On since",
  stored: (messages: number, size: string) =>
    `${messages.toLocaleString()} received ${messages === 1 ? "message" : "messages"} and ${size} of files stored.`,
  /** Around the links to the pages. */
  next: [
    "Read and answer under ",
    ". Keys and webhooks from before receive nothing of it: create a key with the scopes of chats, and select the events under ",
    ".",
  ],
  retention: "Retention (days)",
  retentionAbout: "Received messages are erased this many days after they arrive.",
  media: "Files",
  mediaOptions: [
    ["on_arrival", "Fetched when they arrive"],
    ["on_demand", "Fetched when someone opens them"],
    ["off", "Not fetched"],
  ] as const,
  maxFile: "Largest file",
  maxFileAbout: "A larger file is not fetched, also not later.",
  maxStorage: "Room for files",
  maxStorageAbout: "Apart from the plan’s file storage.",
  inMebibytes: (label: string) => `${label} (MiB)`,
  groups: "Groups",
  groupsAbout: "Stores what is written in groups too.",
  hold: "Hold messages to new people",
  holdAbout: "They wait while WhatsApp lets the number open no chats.",
  on: "on",
  offValue: "off",
  turnOffTitle: "Turn conversations off?",
  turnOffAbout:
    "Received messages are erased. Webhooks still receive the results of sent messages.",
}

export const callbackLabels = {
  title: "Callback secret",
  about: "Signs version 1 callbacks, so that your program can verify them.",
  show: "Reveal secret",
  label: "Callback secret",
  rotate: "Rotate secret",
  rotateTitle: "Rotate the callback secret?",
  rotateAbout:
    "The old secret stops working immediately. Your program rejects callbacks until it has the new one.",
  keep: "Your program needs it to verify callbacks.",
}

export const workspaceLabels = {
  title: "Workspace",
  about: "Only operators can change these.",
  name: "Name",
  retention: "Retention (days)",
  retentionAbout:
    "Messages are erased this many days after they finish. Leave empty for the service’s default. A lower number takes effect within ten minutes.",
  plan: "Plan",
  noPlan: "No active plan: sends are rejected.",
  planName: "Plan name",
  remaining: "Messages left",
  unlimited: "Leave empty for no limit.",
  maxNumbers: "Maximum numbers",
  storage: "File storage (MiB)",
  reminders: "Reminders",
  qrCodes: "Link numbers through the API",
  hasPlan: "Active plan",
  disabled: "Disabled",
  disabledAbout: "Nothing is sent and its keys are rejected. Waiting messages keep waiting.",
  demo: "Demo",
  demoAbout: "Requests are rejected with demo_account.",
  apiV2: "API version 2",
  apiV2About: "When off, version 2 keys are rejected.",
  save: "Save",
  saved: "Saved.",
}

export const deleteLabels = {
  title: "Delete workspace",
  about:
    "Keys and links stop working, waiting messages are cancelled, webhooks are removed. All records are erased within ten minutes. This cannot be undone.",
  open: "Delete workspace…",
  type: (name: string) => `Type ${name} to confirm`,
  action: "Delete workspace",
}

export const portalLinkLabels = {
  actions: "Actions",
  title: "Customer access",
  about: "A link opens this workspace once, for one person in one role.",
  make: "Create link",
  caption: "Links for customers, newest first",
  empty: "No links yet",
  emptyAbout: "Send a link to a customer. Its role decides what they can do.",
  role: "Role",
  roleAbout: {
    owner: "Owner: full access, including keys and links",
    administrator: "Administrator: numbers, webhooks, contacts, messages",
    member: "Member: reads, sends and cancels messages",
  },
  minutes: "Session length (minutes)",
  minutesAbout: "Starts when the link is opened. The link expires after 15 minutes.",
  returnUrl: "Return URL",
  returnUrlAbout: "Optional. Where “Back to your app” leads; must be https.",
  action: "Create link",
  link: "Portal link",
  linkAbout: "Copy it now. It is not shown again. It works once, and expires after 15 minutes.",
  made: "Created",
  used: "Opened",
  never: "never",
  state: "Status",
  unused: "not opened",
  late: "expired",
  open: "open until ",
  over: "ended",
  revoked: "revoked",
  revoke: "Revoke",
  revokeLink: (id: number) => `Revoke link ${id}`,
  revokeTitle: (id: number) => `Revoke link ${id}?`,
  revokeAbout:
    "Anyone who opened it is signed out at once, and the link stops working. This cannot be undone.",
}
