/**
 * What the end of a message writes beside the message: its event with the deliveries to webhook
 * endpoints, its callback, and the allowance that is given back. Three functions end messages.
 */
import type { MessageChange, MessageEvent } from "@messaging-service/core"
import { boolean, columnsOf, instant, listed, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { callbackColumns, fanOut, writeCallbacks } from "../webhook/queueDeliveries.ts"
import { isLimited } from "../workspace/workspaceRow.ts"
import { endColumns } from "./messageRow.ts"

/** All else of an event its message says. */
const eventColumns = columnsOf({
  id: { event_id: text((event) => event.id) },
  type: { event_type: text((event) => event.type) },
  createdAt: { event_at: instant((event) => event.createdAt) },
  body: { event_body: text((event) => event.body) },
} satisfies FieldsOf<Omit<MessageEvent, "workspaceId" | "mode" | "messageId">>)

/** What tells of a change. */
const newsFields = {
  event: within((change: Pick<MessageChange, "event">) => change.event, eventColumns),
  callback: within((change: Pick<MessageChange, "callback">) => change.callback, callbackColumns),
} satisfies FieldsOf<Pick<MessageChange, "event" | "callback">>

export const newsColumns = columnsOf(newsFields)

export const changeColumns = columnsOf({
  message: within((change: Pick<MessageChange, "message">) => change.message, endColumns),
  givesBack: { gives_back: boolean((change) => change.givesBack) },
  ...newsFields,
} satisfies FieldsOf<MessageChange>)

/** What an `update messages m` sets from the changes `s`. */
export const setEnd: string = listed(endColumns, (name) => `${name} = s.${name}`)

/** What it returns of them, beside the message itself, for the parts of `announce`. */
export const returnedNews: string = `${listed(newsColumns, (name) => `s.${name}`)}, s.place`

/** Parts of a `with`, after the part `ended`, which returns the messages that came to their end. */
export const announce = `announced as (
      insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
      select
        ended.workspace_id, ended.id, ended.event_at, ended.event_id, ended.event_type, ended.mode,
        ended.event_body
      from ended
      order by ended.place
      returning id, workspace_id, mode, created_at, event_id, type
    ),
    ${fanOut},
    ${writeCallbacks}`

/**
 * Gives allowance back: what cancelled and expired messages took from a limited plan. By then the
 * lanes are locked; the workspaces follow, by id. A plan that is unlimited by now gets nothing.
 */
export const giveBackAllowance = (workspaces: string): string => `
  perform
  from workspaces w
  where w.id = any (${workspaces})
  order by w.id
  for no key update;
  update workspaces w
  set plan_messages_remaining = w.plan_messages_remaining + back.count
  from (
    select given.workspace_id, count(*) as count
    from unnest(${workspaces}) given (workspace_id)
    group by given.workspace_id
  ) back
  where w.id = back.workspace_id
    and ${isLimited("w")};`
