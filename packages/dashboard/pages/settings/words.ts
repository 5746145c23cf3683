/** The words of a workspace's settings. */
import { buttonNames } from "../ui/words.ts"
export const settingsLabels = {
  title: "Settings",
  forMembers:
    "Owners and administrators of this workspace see its keys, secrets and links. Ask one of them.",
}

export const keyLabels = {
  actions: "Actions",
  title: "Keys",
  about: "A program calls the API with a key. A key’s scopes never change.",
  make: buttonNames.makeKey,
  caption: "Keys, the newest first",
  empty: "No key yet",
  emptyAbout: "Make one for each program that sends messages.",
  name: "Name",
  scopes: "May",
  numbers: "Numbers",
  lastUse: "Last use",
  ends: "Ends",
  everything: "everything",
  allNumbers: "all",
  someNumbers: (count: number) => `${count}`,
  never: "never",
  revoke: "Revoke",
  revokeKey: (name: string) => `Revoke ${name}`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeAbout: "Every request with this key is refused from now on. This cannot be undone.",
  revoked: "revoked",
  expired: "expired",
  test: "test",
  version1: "version 1",
  showRevoked: (count: number) => `Show ${count} revoked`,
  made: "Your new key",
}

export const newKeyLabels = {
  title: buttonNames.makeKey,
  version: "Interface",
  version2: "Version 2",
  version1: "Version 1, with every right",
  name: "Name",
  nameAbout: "The program that will use it.",
  mode: "Mode",
  live: "Live: messages reach phones",
  test: "Test: nothing is sent",
  scopes: "It may",
  expires: "Ends",
  lifetimes: [
    ["", "Never"],
    ["30d", "In 30 days"],
    ["90d", "In 90 days"],
    ["1y", "In a year"],
  ] as const,
  numbers: "Numbers",
  allNumbers: "All numbers, later ones too",
  action: "Make the key",
}

export const scopeLabels = {
  "messages:send": ["Send messages", "Also cancel them."],
  "messages:read": ["Read messages", "Also everything about webhooks."],
  reminders: ["Reminders", "List, make, change and delete them."],
  numbers: ["Numbers", "List, read and link them."],
  media: ["Files", "Upload, list, read and delete them."],
  contacts: ["Number checks", "Find out which phones are registered."],
} as const

/** What keys may do while conversations are on. */
export const chatScopeLabels = {
  "chats:read": ["Read chats", "What people write to the numbers."],
  "chats:write": ["Change chats", "Mark them as read, and erase what was received."],
} as const

export const conversationsLabels = {
  title: "Conversations",
  about: "Webhooks may then also hear of deliveries, reads, and of numbers that connect or pause.",
  turnOn: "Turn on",
  turnOff: "Turn off",
  off: "Off.",
  onSince: "On since",
  turnOffTitle: "Turn conversations off?",
  turnOffAbout: "What was received is erased. Webhooks hear of sent and failed messages as before.",
}

export const callbackLabels = {
  title: "Callback secret",
  about: "Signs the callbacks of version 1. Your program checks it.",
  show: "Show the secret",
  label: "Callback secret",
  rotate: "Replace it",
  rotateTitle: "Replace the callback secret?",
  rotateAbout:
    "The old secret stops at once. Until your program has the new one, it must refuse callbacks.",
  keep: "Your program needs it to check callbacks.",
}

export const workspaceLabels = {
  title: "Workspace",
  about: "Only operators change these.",
  name: "Name",
  retention: "Erase messages after (days)",
  retentionAbout:
    "Counted from the day on which they ended. Empty: as the service is set up. A lower number erases older messages within ten minutes.",
  plan: "Plan",
  noPlan: "No active plan: the workspace may send nothing.",
  planName: "Name of the plan",
  remaining: "Messages that remain",
  unlimited: "Empty: unlimited.",
  maxNumbers: "Numbers at most",
  storage: "Storage for files (MiB)",
  reminders: "Reminders",
  qrCodes: "Linking by QR code through the API",
  hasPlan: "The workspace has an active plan",
  disabled: "Disabled",
  disabledAbout: "Nothing leaves, and its keys are refused. Waiting messages keep waiting.",
  demo: "Demo",
  demoAbout: "Requests are refused with demo_account.",
  apiV2: "Version 2 of the API",
  apiV2About: "Without it, version 2 keys are refused.",
  save: "Save",
  saved: "Saved.",
}

export const deleteLabels = {
  title: "Delete the workspace",
  about:
    "Its keys and links stop, its waiting messages are cancelled, its webhook endpoints are removed. Within ten minutes its records are erased. This cannot be undone.",
  open: "Delete the workspace…",
  type: (name: string) => `Type ${name} to confirm`,
  action: "Delete for good",
}

export const portalLinkLabels = {
  actions: "Actions",
  title: "Customer access",
  about: "A link opens this workspace once, for one person with one role.",
  make: "Make a link",
  caption: "Links for customers, the newest first",
  empty: "No link yet",
  emptyAbout:
    "Send a link to a customer. What they may do with it depends on the role that you choose.",
  role: "Role",
  roleAbout: {
    owner: "Owner: everything in this workspace, keys and links too",
    administrator: "Administrator: numbers, webhooks, contacts, messages",
    member: "Member: reads, sends and cancels messages",
  },
  minutes: "Open for (minutes)",
  minutesAbout: "From the moment of opening. The link itself must be opened within 15 minutes.",
  returnUrl: "Way back",
  returnUrlAbout: "Optional: the https address of your app, to which the portal leads back.",
  action: "Make the link",
  link: "The link",
  made: "Made",
  used: "Opened",
  never: "never",
  state: "State",
  unused: "not opened yet",
  late: "too late to open",
  open: "open until ",
  over: "over",
  revoked: "revoked",
  revoke: "Revoke",
  revokeLink: (id: number) => `Revoke link ${id}`,
}
