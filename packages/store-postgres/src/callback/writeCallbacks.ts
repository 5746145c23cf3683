/**
 * Writing callbacks in the commit that they report. It only inserts, so that those who write for one
 * target do not wait for one another; the claim counts how many of a target go out at once.
 */
import type { Callback } from "@messaging-service/core"
import { instant, bigint, text, texts } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

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
 * The lane of a workspace's callbacks to that target: 52 bits of a hash, below zero. Two targets that
 * meet in one share its five calls, and nothing worse.
 */
const laneOf = (workspace: string, target: string): string =>
  `-1 - ('x' || left(encode(sha256(convert_to(
        ${workspace} || ' ' || ${target}, 'UTF8'
      )), 'hex'), 13))::bit(52)::bigint`

const columns = "endpoint_id, workspace_id, url, due_at, event_id, type, body"

/** A part of a `with`, after the part `called`, that leaves news of what was written. */
export const callbackNews = `insert into callback_news (lane_id, workspace_id)
      select distinct called.endpoint_id, called.workspace_id
      from called`

/**
 * Two parts of a `with`, after the part `ended`, which returns the messages that came to their end. The
 * first, `called`, holds a row for each callback. The message's lane is locked, and so is every lane of
 * a workspace that is being deleted: either the deletion sees the callback, or this sees the deletion.
 */
export const writeCallbacks = `called as (
      insert into webhook_deliveries (${columns})
      select
        ${laneOf("ended.workspace_id", "ended.callback_target")},
        ended.workspace_id, ended.callback_url, ended.event_at, ended.event_id, ended.event_type,
        ended.callback_body
      from ended
      where ended.callback_url is not null
        -- Asked of these alone: without callbacks nothing is joined.
        and (
          select w.deleted_at is null
          from workspaces w
          where w.id = ended.workspace_id
        )
      order by ended.place
      returning endpoint_id, workspace_id
    ),
    called_news as (
      ${callbackNews}
    )`

/** Parameters of a function for the callback of one event of a connection. */
export const connectionParameters = (event: string): string =>
  connectionColumns.map(([name, type]) => `p_${event}_${name} ${type}`).join(", ")

const connectionColumns = [
  ["workspace", "bigint"],
  ["target", "text"],
  ["url", "text"],
  ["created_at", "timestamptz"],
  ["event_id", "text"],
  ["type", "text"],
  ["body", "text"],
] as const

/** The arguments for these. */
export const connectionArguments = (callback: Callback | null): ReadonlyArray<unknown> => [
  bigint(callback?.workspaceId ?? null),
  text(callback?.target ?? null),
  text(callback?.url ?? null),
  instant(callback?.createdAt ?? null),
  text(callback?.eventId ?? null),
  text(callback?.type ?? null),
  text(callback?.body ?? null),
]

type ConnectionName = (typeof connectionColumns)[number][0]

/** A part of a `with`: the callback of these values, and from where on it depends. */
export const callConnection = (value: (name: ConnectionName) => string, from: string): string => {
  const [workspace, target, ...rest] = connectionColumns.map(([name]) => value(name))
  const values = [laneOf(`${workspace}`, `${target}`), `${workspace}`, ...rest]
  return `called as (
      insert into webhook_deliveries (${columns})
      select ${values.join(", ")}
      ${from}
      returning endpoint_id, workspace_id
    )`
}

/**
 * A statement that writes the callback of these parameters, if there is one and the number still
 * reports there. The number's lane is locked.
 */
export const report = (number: string, event: string): string => `with ${callConnection(
  (name) => `p_${event}_${name}`,
  `from numbers n
      where n.id = ${number}
        and n.callback_url = p_${event}_url
        and n.removed_at is null`,
)}
      ${callbackNews};`

/**
 * Moves what the version before left in its table, and is due or no longer held, to where all other
 * deliveries are: see the migration that made the lanes of callbacks. It waits for no claim
 * or settlement there.
 */
export const takeOverCallbacks = sqlFunction(
  "take_over_callbacks",
  `(p_now timestamptz)
  returns void
  language plpgsql
  as $function$
  begin
    with taken as (
      delete from callbacks c
      where c.id in (
        -- Index callbacks_by_moment.
        select due.id
        from callbacks due
        where coalesce(due.lease_until, due.due_at) <= p_now
        order by coalesce(due.lease_until, due.due_at)
        limit 1000
        for update skip locked
      )
      returning c.*
    ),
    called as (
      insert into webhook_deliveries (${columns}, attempts)
      select
        ${laneOf("taken.workspace_id", "taken.target")},
        taken.workspace_id, taken.url, taken.due_at, taken.event_id,
        coalesce(
          'message.' || lower(substring(taken.body from '&status=([A-Z]+)')),
          substring(taken.body from '^event=([a-z-]+)'),
          ''
        ),
        taken.body, taken.attempts
      from taken
      join workspaces w on w.id = taken.workspace_id
        and w.deleted_at is null
      order by taken.id
      returning endpoint_id, workspace_id
    )
    ${callbackNews};
  end
  $function$`,
)
