/**
 * Writing callbacks in the commit that they report. It only inserts, so that those who write for one
 * target do not wait for one another; the claim counts how many of a target go out at once.
 */
import type { Callback } from "@messaging-service/core"
import { instant, bigint, text, texts } from "../database/parameters.ts"

/** Parameters of a function that ends messages, one element for each; all empty when none reports. */
export const callbackArrays = `
    p_callback_target text[],
    p_callback_url text[],
    p_callback_body text[]`

/** The arguments for these, `ended` in the order of the other arrays. */
export const callbackArguments = (
  callbacks: ReadonlyArray<Callback | null>,
): ReadonlyArray<unknown> => {
  const written = callbacks.some((callback) => callback !== null) ? callbacks : []
  return [
    texts(written.map((callback) => callback?.target ?? null)),
    texts(written.map((callback) => callback?.url ?? null)),
    texts(written.map((callback) => callback?.body ?? null)),
  ]
}

/**
 * A part of a `with`, after the part `ended`, which returns the messages that came to their end. Its
 * lane is locked, and so is every lane of a workspace that is being deleted: either the deletion sees
 * the callback, or this sees the deletion.
 */
export const writeCallbacks = `called as (
      insert into callbacks (workspace_id, target, url, event_id, body, due_at)
      select
        ended.workspace_id, ended.callback_target, ended.callback_url, ended.event_id,
        ended.callback_body, ended.event_at
      from ended
      where ended.callback_url is not null
        -- Asked of these alone: without callbacks nothing is joined.
        and (
          select w.deleted_at is null
          from workspaces w
          where w.id = ended.workspace_id
        )
      order by ended.place
    )`

/** Parameters of a function for the callback of one event of a connection. */
export const connectionParameters = (event: string): string =>
  connectionColumns.map(([name, type]) => `p_${event}_${name} ${type}`).join(", ")

const connectionColumns = [
  ["workspace", "bigint"],
  ["target", "text"],
  ["url", "text"],
  ["event_id", "text"],
  ["body", "text"],
  ["at", "timestamptz"],
] as const

/** The arguments for these. */
export const connectionArguments = (callback: Callback | null): ReadonlyArray<unknown> => [
  bigint(callback?.workspaceId ?? null),
  text(callback?.target ?? null),
  text(callback?.url ?? null),
  text(callback?.eventId ?? null),
  text(callback?.body ?? null),
  instant(callback?.createdAt ?? null),
]

/**
 * A statement that writes the callback of these parameters, if there is one and the number still
 * reports there. The number's lane is locked.
 */
export const report = (number: string, event: string): string => `insert into callbacks (
        workspace_id, target, url, event_id, body, due_at
      )
      select ${connectionColumns.map(([name]) => `p_${event}_${name}`).join(", ")}
      from numbers n
      where n.id = ${number}
        and n.callback_url = p_${event}_url
        and n.removed_at is null;`
