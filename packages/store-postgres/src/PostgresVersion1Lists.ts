/**
 * The lists of version 1: by offset, newest first, each with its total from the same statement. The
 * total costs what there is to count, and a page what lies before it: both are read from an index.
 */
import type { OffsetPage, Version1ListStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./database/Database.ts"
import { bigint, instant, text } from "./database/Fields.ts"
import { given, statement } from "./database/Statement.ts"
import type { Statement } from "./database/Statement.ts"
import { fileColumns, toFile } from "./media/media.ts"
import { messageColumns, slack, toMessage } from "./message/messages.ts"
import { resultColumns, toResult } from "./numberCheck/numberChecks.ts"
import { reminderColumns, toReminder } from "./reminder/reminders.ts"

/**
 * A page that holds nothing is one row without an id. `ctes` come before
 * the total, which must be counted once and not for each row of the page.
 */
const window = { limit: bigint, offset: bigint }
const ofOneMode = { ...window, workspaceId: bigint, mode: text }

const withTotal = (ctes: string, count: string, columns: string, from: string): string => `
with ${ctes}counted as materialized (
  ${count}
)
select counted.total, page.*
from counted
left join lateral (
  select ${columns}
  from ${from}
  order by r.id desc
  limit $limit
  offset $offset
) page on true
order by page.id desc`

const listOf = (columns: string, from: string): string =>
  withTotal("", `select count(*) as total from ${from}`, columns, from)

// Index messages_by_workspace.
const inMode = "r.workspace_id = $workspaceId and r.mode = $mode"
const inPeriod = "r.created_at >= $since and r.created_at < $until"
const idAt = (moment: string) => `:code.message_id_at($workspaceId, $mode, ${moment})`

const endsOfPeriod = `ends as materialized (
  select ${idAt(`$since - ${slack}`)} as outer_first, ${idAt(`$since + ${slack}`)} as inner_first,
    ${idAt(`$until - ${slack}`)} as inner_last, ${idAt(`$until + ${slack}`)} as outer_last
),
`

const countBetween = (first: string, last: string, also = ""): string => `(
    select count(*)
    from messages r
    where ${inMode}${also}
      and r.id >= ${first}
      and r.id < ${last}
  )`

/**
 * All messages between the inner two of four ids are of the period, and are counted in the index
 * alone; nearer to its ends the times themselves are compared.
 */
const countMessages = `select ${[
  countBetween("ends.outer_first", "ends.inner_first", `\n      and ${inPeriod}`),
  countBetween("ends.inner_first", "ends.inner_last"),
  countBetween(
    "greatest(ends.inner_first, ends.inner_last)",
    "ends.outer_last",
    `\n      and ${inPeriod}`,
  ),
].join(" + ")} as total
  from ends`

const listMessages = withTotal(
  endsOfPeriod,
  countMessages,
  messageColumns("r"),
  `messages r
  where ${inMode}
    and ${inPeriod}
    and r.id >= (select ends.outer_first from ends)
    and r.id < (select ends.outer_last from ends)`,
)

/** Index media_files_by_type for one type, media_files_kept for all. */
const listMedia = (narrowed: boolean) =>
  listOf(
    fileColumns("r"),
    `media_files r
  where r.workspace_id = $workspaceId
    and r.mode = $mode
    and r.state = 'kept'
    ${narrowed ? "and r.type = $type" : ""}`,
  )

// Index reminders_by_workspace.
const listReminders = listOf(
  reminderColumns("r"),
  `reminders r
  where r.workspace_id = $workspaceId
    and r.mode = $mode
    and r.removed_at is null`,
)

// Index number_check_results_by_check.
const listResults = listOf(
  resultColumns("r"),
  `number_check_results r
  where r.check_id = $id
    and ($status::text is null or r.status = $status)`,
)

type Totalled<Row> = Row & { readonly id: bigint | null; readonly total: bigint }

const lists = {
  messages: statement(
    "version1Lists.messages",
    given({ ...ofOneMode, since: instant, until: instant }),
  )(listMessages),
  allMedia: statement("version1Lists.media", given(ofOneMode))(listMedia(false)),
  mediaOfType: statement(
    "version1Lists.media",
    given({ ...ofOneMode, type: text }),
  )(listMedia(true)),
  reminders: statement("version1Lists.reminders", given(ofOneMode))(listReminders),
  checkResults: statement(
    "version1Lists.checkResults",
    given({ ...window, id: bigint, status: text }),
  )(listResults),
}

export const version1ListStore = (database: DatabaseService): typeof Version1ListStore.Service => {
  const pageOf = <In, Row extends object, A>(
    holder: string | number,
    list: Statement<In>,
    input: In,
    toItem: (row: Row) => A,
  ) =>
    Effect.map(list.listed<Totalled<Row>>(database, holder, input), (rows): OffsetPage<A> => ({
      total: Number(rows[0]?.total ?? 0),
      items: rows.filter(({ id }) => id !== null).map(toItem),
    }))

  return {
    messages: (scope, period, query) =>
      pageOf(scope.workspaceId, lists.messages, { ...scope, ...period, ...query }, toMessage),
    media: (scope, type, query) =>
      type === null
        ? pageOf(scope.workspaceId, lists.allMedia, { ...scope, ...query }, toFile)
        : pageOf(scope.workspaceId, lists.mediaOfType, { ...scope, ...query, type }, toFile),
    reminders: (scope, query) =>
      pageOf(scope.workspaceId, lists.reminders, { ...scope, ...query }, toReminder),
    checkResults: (id, status, query) =>
      pageOf(`check ${id}`, lists.checkResults, { ...query, id, status }, toResult),
  }
}
