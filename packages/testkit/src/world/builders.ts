/**
 * What must exist before a test acts: workspaces, numbers, keys and contacts. A builder takes what the test
 * is about; everything else has a default. A driver makes the records.
 */
import type { Plan } from "@messaging-service/core"
import { Effect } from "effect"

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The usual time of tests: 2026-03-02T12:00:00Z, a Monday. */
export const noon = Date.UTC(2026, 2, 2, 12)

let phones = 0
/** A phone that nothing else in this process has. */
export const aPhone = (): string => `+1555${1_000_001 + phones++ * 3}`

/** A plan that includes everything but files, as the services take it. */
export const aPlan = (fields: Partial<Plan> = {}): Plan => ({
  name: "Plan",
  messagesRemaining: null,
  reminders: true,
  qrCodeApi: true,
  maxNumbers: null,
  mediaStorageBytes: 0,
  ...fields,
})

/** Of a record, in the spelling of its driver. */
export type Fields = Readonly<Record<string, unknown>>

/** Makes records with these fields, and returns what its tests know them by. */
interface Driver<Workspace, SendingNumber, Key, Contact, E, R> {
  readonly workspace: (fields: Fields & { name: string }) => Effect.Effect<Workspace, E, R>
  readonly number: (
    workspace: Workspace,
    fields: Fields & { platform: "whatsapp"; phone: string },
  ) => Effect.Effect<SendingNumber, E, R>
  readonly key: (
    workspace: Workspace,
    fields: Fields & { version: 2; name: string },
  ) => Effect.Effect<Key, E, R>
  readonly contact: (
    workspace: Workspace,
    fields: Fields & { name: string },
  ) => Effect.Effect<Contact, E, R>
}

export const buildersOver = <Workspace, SendingNumber, Key, Contact, E, R>(
  driver: Driver<Workspace, SendingNumber, Key, Contact, E, R>,
) => {
  const aWorkspace = (fields: Fields = {}) => driver.workspace({ name: "Workspace", ...fields })

  /** With a phone of its own each time that it runs. */
  const aNumber = (workspace: Workspace, fields: Fields = {}) =>
    Effect.suspend(() =>
      driver.number(workspace, { platform: "whatsapp", phone: aPhone(), ...fields }),
    )

  /** A key of version 2. */
  const aKey = (workspace: Workspace, fields: Fields = {}) =>
    driver.key(workspace, { version: 2, name: "Key", ...fields })

  const aContact = (workspace: Workspace, fields: Fields = {}) =>
    driver.contact(workspace, { name: "Jane", ...fields })

  /** A workspace with one connected WhatsApp number and a live key to all of it. */
  const aSender = (
    fields: { readonly workspace?: Fields; readonly number?: Fields; readonly key?: Fields } = {},
  ) =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace(fields.workspace)
      const number = yield* aNumber(workspace, fields.number)
      const key = yield* aKey(workspace, fields.key)
      return { workspace, number, key }
    })

  return { aWorkspace, aNumber, aKey, aContact, aSender }
}
