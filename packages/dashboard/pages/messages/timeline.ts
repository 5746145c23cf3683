/** A message's timeline as the service answers it, under the names that its parts use. */
import type { Answer } from "../api/operations.ts"

type Timeline = Answer<"GET /admin/v1/workspaces/{id}/messages/{message_id}/timeline">

/** A message as the operator API shows it: with its reference. */
export type WorkspaceMessage = Timeline["message"]

export type TimelineEntry = Timeline["data"][number]

export type Waiting = NonNullable<Timeline["waiting"]>

/** One thing that has to end before the message leaves. */
export type WaitsFor = Waiting["for"][number]
