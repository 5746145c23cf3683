/** The words of chats. */
import type { ReceivedMessage } from "@messaging-service/client"

type MediaState = NonNullable<ReceivedMessage["media"]>["state"]

export const chatsLabels = {
  title: "Chats",
  about: "What people write to your numbers.",
  list: "Chats, latest activity first",
  filter: "Filter",
  find: "Search by phone",
  findExample: "Phone, with country code",
  number: "Number",
  unread: "Unread",
  unreadCount: (count: number) => `${count.toLocaleString()} unread`,
  group: (id: number) => `Group ${id}`,
  person: (id: number) => `Person ${id}`,
  someone: "Unknown person",
  isGroup: "Group",
  lastReceived: "Last received",
  lastSent: "Last sent",
  empty: "No chats yet",
  emptyTest: "No test chats yet",
  emptyAbout: "A chat appears here when a person writes to one of your numbers.",
  nothingFound: "No matching chats",
  findAbout: "Enter the whole phone number with its country code.",
  clearFilters: "Clear filters",
  noneOpen: "No chat open",
  choose: "Select a chat to read and answer it.",
  toSettings: "Go to settings",
  off: "Conversations are off",
  offAbout: "An operator turns them on in the workspace’s settings.",
}

/** Below the name of a chat in the list. */
export const previewLabels = { by: (author: string, text: string) => `${author}: ${text}` }

export const threadLabels = {
  chatWith: (name: string) => `Chat with ${name}`,
  close: "Close chat",
  markRead: "Mark as read",
  list: (name: string) => `Messages with ${name}`,
  earlier: "Show earlier messages",
  begin: "No earlier messages in this chat.",
  empty: "Nothing is stored of this chat.",
  newest: "New messages",
  unreadBelow: "Unread",
  today: "Today",
  merged: "This person’s messages continue in another chat.",
  toMerged: "Open it",
  you: "You",
  atPhone: "Written on the phone",
  openMessage: (id: number, status: string) => `Message ${id}: ${status}`,
  edited: "edited",
  quoted: "Quoted message",
  goToQuoted: "Go to the quoted message",
  showAll: "Show all",
  truncated: "The rest was longer than what is stored.",
  revoked: "Its author deleted this message.",
  reactions: "Reactions",
  reaction: (emoji: string, names: string) => `${emoji} by ${names}`,
  actions: (author: string) => `Actions for the message of ${author}`,
  reply: "Reply",
  remove: "Delete message",
  removeTitle: "Delete this message here?",
  removeAbout:
    "Its text, its file and what webhooks were told of it are erased. It stays on the phones.",
  removeChat: "Delete chat",
  removeChatTitle: (name: string) => `Delete the chat with ${name} here?`,
  removeChatAbout:
    "All that was received in it is erased: texts, names, files, and what webhooks were told of them. It stays on the phones. Messages that you sent stay under Messages.",
  keep: "Keep it",
}

export const answerLabels = {
  answerTo: (name: string) => `Answer to ${name}`,
  quoting: (author: string) => `Replying to ${author}`,
  dropQuote: "Reply to no message",
  placeholder: "Write an answer",
  send: "Send",
}

/** What has no text, in plain words. */
export const kindLabels: Readonly<Record<ReceivedMessage["kind"], string>> = {
  text: "A message without text.",
  image: "Image",
  video: "Video",
  audio: "Audio file",
  voice: "Voice message",
  document: "File",
  sticker: "Sticker",
  location: "Location",
  contact: "Contact",
  poll: "Poll",
  unsupported: "A message of a kind that is not supported here.",
  unreadable: "This message could not be read. Ask its sender to send it again.",
}

export const contentLabels = {
  type: (name: string) => `Kind: ${name}`,
  open: (name: string) => `Open ${name}`,
  coordinates: (latitude: number, longitude: number) =>
    `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`,
}

/** Of a file that is not here. */
export const mediaStateLabels: Readonly<Record<Exclude<MediaState, "ready">, string>> = {
  remote: "fetched when you open it",
  too_large:
    "Not fetched: larger than the workspace allows. Its operator can allow more under Settings; then ask for the file again.",
  full: "Not fetched: no room for it. Its operator can make room under Settings; then ask for the file again.",
  gone: "The platform no longer has it. Ask for the file again.",
  refused: "Not kept: it is not the file that the message names.",
  off: "Not fetched: files were off in Settings when it came.",
}
