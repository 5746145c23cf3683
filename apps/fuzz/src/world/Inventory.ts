/**
 * Material for requests: a workspace with keys and records of every kind, and a second one for
 * operations that would spoil the first. Ids are kept by kind, the initial ones first.
 */

export const keyNames = [
  "live",
  "other",
  "test",
  "limited",
  "sender",
  "reader",
  "revoked",
  "v1",
] as const
/** The keys of a workspace that requests may use. */
export type KeyName = (typeof keyNames)[number]

export const idKinds = [
  "workspace",
  "number",
  "contact",
  "message",
  "media",
  "reminder",
  "webhook",
  "check",
  "key",
] as const
export type IdKind = (typeof idKinds)[number]

export type Ids = Readonly<Record<IdKind, Array<number>>>

export interface Inventory {
  /** `127.0.0.1:port` */
  readonly host: string
  readonly operatorToken: string
  readonly clientId: number
  readonly keys: Readonly<Record<KeyName, string>>
  /** Of the workspace of the used keys. */
  readonly ids: Ids
  /** Of the workspace that operators' requests change. */
  readonly victim: Ids
  /** Connected numbers, by platform; the ids include them. */
  readonly whatsapp: number
  readonly telegram: number
  /** Service time when the cell was created, epoch milliseconds. */
  readonly now: number
  /** Links from the service: only paths. */
  readonly links: Array<string>
  /** By the operation that returned them. */
  readonly cursors: Map<string, Array<string>>
  readonly events: Array<string>
  /** `http://127.0.0.1:port` of the fuzzer's own listener, which receives calls and serves files. */
  readonly receiver: string
}

/** Only reminders have it, so it identifies a run's message. */
export const reminderText = "Stand up"

export const noIds = (): Ids => ({
  workspace: [],
  number: [],
  contact: [],
  message: [],
  media: [],
  reminder: [],
  webhook: [],
  check: [],
  key: [],
})
