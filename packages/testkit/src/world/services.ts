/** Makes records through the services, as an embedding program does. Tests know them by their ids. */
import { Admission, Contacts, Keys, Numbers, Workspaces } from "@messaging-service/core"
import type { ContactId, Failure, KeyCaller, NumberId, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { buildersOver } from "./builders.ts"

/** The caller of a key, as admission finds it. */
const admitCaller = (key: string) =>
  Effect.map(
    Admission.use((admission) => admission.admitV2(`Bearer ${key}`, "192.0.2.1")),
    ({ caller }) => caller,
  )

/** A key is its caller. */
export const builders = buildersOver<
  WorkspaceId,
  NumberId,
  KeyCaller,
  ContactId,
  Failure,
  Admission | Contacts | Keys | Numbers | Workspaces
>({
  workspace: (fields) =>
    Effect.map(
      Workspaces.use((workspaces) => workspaces.create("owner", fields)),
      ({ id }) => id,
    ),
  number: (workspace, fields) =>
    Effect.map(
      Numbers.use((numbers) => numbers.create("owner", workspace, fields)),
      ({ id }) => id,
    ),
  key: (workspace, fields) =>
    Effect.flatMap(
      Keys.use((keys) => keys.create("owner", workspace, fields)),
      ({ key }) => admitCaller(key),
    ),
  contact: (workspace, fields) =>
    Effect.map(
      Contacts.use((contacts) => contacts.create("owner", workspace, fields)),
      ({ id }) => id,
    ),
})
