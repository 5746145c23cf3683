/** Every method of the `Store`, by its namespace; the type misses none. */
import type { Method, Methods, Service } from "../Method.ts"
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
const compared: ReadonlyArray<NamedMethod> = Object.entries(table).flatMap(([namespace, methods]) =>
  Object.entries(methods as Readonly<Record<string, string | NamedMethod>>).flatMap(
    ([name, method]) => (typeof method === "string" ? [] : [{ ...method, namespace, name }]),
  ),
)

/** Each as often as it is to be drawn. */
export const drawn: ReadonlyArray<NamedMethod> = compared.flatMap((method) =>
  Array.from({ length: method.weight ?? 2 }, () => method),
)
