/** Makes records through the operator API. Tests know them by what it answers. */
import type { Plan } from "@messaging-service/core"
import { Effect } from "effect"
import { aPlan, buildersOver } from "./builders.ts"
import type { Fields } from "./builders.ts"

export interface Created {
  readonly id: number
}

/** Creates at a path below `/admin/v1`, and returns the answer's body; another status than 201 fails the test. */
type Create<E, R> = <Body>(path: string, json: unknown) => Effect.Effect<Body, E, R>

export const buildersWith = <E, R>(create: Create<E, R>) => {
  const at = ({ id }: Created, records: string) => `/workspaces/${id}/${records}`
  const key = (workspace: Created, fields: Fields) =>
    create<Created & { readonly key: string }>(at(workspace, "keys"), fields)
  return {
    ...buildersOver({
      workspace: (fields) => create<Created>("/workspaces", fields),
      number: (workspace: Created, fields) =>
        create<Created & { readonly phone: string }>(at(workspace, "numbers"), fields),
      key,
      contact: (workspace, fields) => create<Created>(at(workspace, "contacts"), fields),
    }),
    /** A key of version 1, which has no settings. */
    aKeyV1: (workspace: Created) => key(workspace, { version: 1 }),
  }
}

/** A plan as the operator API takes it. */
export const aPlanInJson = (fields: Fields = {}) => {
  const plan: Plan = aPlan()
  return {
    name: plan.name,
    messages_remaining: plan.messagesRemaining,
    reminders: plan.reminders,
    qr_code_api: plan.qrCodeApi,
    max_numbers: plan.maxNumbers,
    media_storage_bytes: plan.mediaStorageBytes,
    ...fields,
  }
}
