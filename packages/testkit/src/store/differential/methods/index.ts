/** Every method of the `Store`, by its namespace; the type misses none. */
import type { Method, Methods, Service } from "../Method.ts"
import { ofCampaigns } from "./ofCampaigns.ts"
import { ofChats, ofReceivedFiles } from "./ofChats.ts"
import { ofMessages, ofQueue } from "./ofMessages.ts"
import { ofNumbers } from "./ofNumbers.ts"
import { ofBrowserSessions, ofMedia, ofNumberChecks, ofReminders } from "./ofRecords.ts"
import { ofFigures, ofNews, ofPhones, ofSessions, ofSystem, ofVersion1Lists } from "./ofService.ts"
import { ofWebhooks } from "./ofWebhooks.ts"
import { ofWorkspaces } from "./ofWorkspaces.ts"

const table: { readonly [Namespace in keyof Service]: Methods<Namespace> } = {
  messages: ofMessages,
  queue: ofQueue,
  numbers: ofNumbers,
  sessions: ofSessions,
  workspaces: ofWorkspaces,
  webhooks: ofWebhooks,
  media: ofMedia,
  numberChecks: ofNumberChecks,
  reminders: ofReminders,
  campaigns: ofCampaigns,
  chats: ofChats,
  receivedFiles: ofReceivedFiles,
  browserSessions: ofBrowserSessions,
  news: ofNews,
  figures: ofFigures,
  version1Lists: ofVersion1Lists,
  phones: ofPhones,
  system: ofSystem,
}

export interface NamedMethod extends Method<ReadonlyArray<unknown>, unknown> {
  readonly namespace: string
  readonly name: string
}

/** Those that are compared. */
export const methods: ReadonlyArray<NamedMethod> = Object.entries(table).flatMap(
  ([namespace, own]) =>
    Object.entries(own as Readonly<Record<string, string | NamedMethod>>).flatMap(
      ([name, method]) => (typeof method === "string" ? [] : [{ ...method, namespace, name }]),
    ),
)

const namespaces = [...new Set(methods.map(({ namespace }) => namespace))]

/** Each as often as its weight says, among those of all. */
const weighted = methods.flatMap((method) =>
  Array.from({ length: method.weight ?? 2 }, () => method),
)

const named = (...names: ReadonlyArray<string>): ReadonlyArray<NamedMethod> =>
  methods.filter(({ name, namespace }) => names.includes(`${namespace}.${name}`))

const insertions = named("numbers.insert", "messages.accept", "webhooks.insert")

/** What a number receives, several times as often as other calls of the same namespaces. */
const received = named("chats.putConversations", "chats.receive", "sessions.receive")

const ofConversations = [
  ...methods.filter(({ namespace }) => namespace === "chats"),
  ...named("numbers.setStatus", "numbers.reconnect", "numbers.linked", "webhooks.readEvents"),
  ...named("numbers.restrict", "numbers.restrictions", "numbers.remove"),
  ...insertions,
  ...Array.from({ length: 4 }, () => received).flat(),
]

/**
 * What is drawn from in that sequence. Two thirds are of two namespaces, by turns each of all, and of every
 * method of theirs as often: what follows from several calls of one is rare among calls of all. Every fourth
 * sequence is of conversations, which need a number, settings and messages before there is anything to compare.
 */
export const drawnIn = (sequence: number): ReadonlyArray<NamedMethod> => {
  if (sequence % 4 === 3) return ofConversations
  const more = [0, 1].flatMap((index) => {
    const namespace = namespaces[(2 * sequence + index) % namespaces.length]
    const own = methods.filter((method) => method.namespace === namespace)
    return Array.from({ length: Math.round(weighted.length / own.length) }, () => own).flat()
  })
  return [...weighted, ...more]
}
