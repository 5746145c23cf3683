/**
 * Lists by offset, newest first, each with its total from the same statement. The total costs what
 * there is to count, and a page what lies before it: both are read from an index.
 */
import { Version1ListStore } from "@messaging-service/core"
import type { OffsetPage, OffsetQuery } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"
import { toFile } from "../media/PostgresMedia.ts"
import type { MediaRow } from "../media/PostgresMedia.ts"
import { messageIdAt, slack } from "../message/messageIdAt.ts"
import { messageColumns, toMessage } from "../message/messageRow.ts"
import type { MessageRow } from "../message/messageRow.ts"
import { toResult } from "../numberCheck/PostgresNumberChecks.ts"
import type { ResultRow } from "../numberCheck/PostgresNumberChecks.ts"
import { reminderColumns, toReminder } from "../reminder/reminderRow.ts"
import type { ReminderRow } from "../reminder/reminderRow.ts"

/**
 * $1 and $2: limit and offset. A page that holds nothing is one row without an id. `ctes` come before
 * the total, which must be counted once and not for each row of the page.
 */
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
  limit $1
  offset $2
) page on true
order by page.id desc`

const listOf = (columns: string, from: string): string =>
  withTotal("", `select count(*) as total from ${from}`, columns, from)

// Index messages_by_workspace.
const ofWorld = "r.workspace_id = $3 and r.mode = $4"
const inPeriod = "r.created_at >= $5 and r.created_at < $6"
const idAt = (moment: string) => `${messageIdAt.name}($3, $4, ${moment})`

const endsOfPeriod = `ends as materialized (
  select ${idAt(`$5 - ${slack}`)} as outer_first, ${idAt(`$5 + ${slack}`)} as inner_first,
    ${idAt(`$6 - ${slack}`)} as inner_last, ${idAt(`$6 + ${slack}`)} as outer_last
),
`

const countBetween = (first: string, last: string, also = ""): string => `(
    select count(*)
    from messages r
    where ${ofWorld}${also}
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
  where ${ofWorld}
    and ${inPeriod}
    and r.id >= (select ends.outer_first from ends)
    and r.id < (select ends.outer_last from ends)`,
)

/** Index media_files_by_type for one type, media_files_kept for all. */
const listMedia = (narrowed: boolean) =>
  listOf(
    "r.*",
    `media_files r
  where r.workspace_id = $3
    and r.mode = $4
    and r.state = 'kept'
    ${narrowed ? "and r.type = $5" : ""}`,
  )

// Index reminders_by_workspace.
const listReminders = listOf(
  reminderColumns("r"),
  `reminders r
  where r.workspace_id = $3
    and r.mode = $4
    and r.removed_at is null`,
)

// Index number_check_results_by_check.
const listResults = listOf(
  "r.id, r.phone, r.status, r.checked_at",
  `number_check_results r
  where r.check_id = $3
    and ($4::text is null or r.status = $4)`,
)

type Totalled<Row> = Row & { readonly id: bigint | null; readonly total: bigint }

export const layerVersion1Lists = Layer.effect(
  Version1ListStore,
  Effect.gen(function* () {
    const database = yield* Database
    const list = <Row extends object, A>(
      holder: string | number,
      operation: string,
      statement: string,
      parameters: ReadonlyArray<unknown>,
      { limit, offset }: OffsetQuery,
      toItem: (row: Row) => A,
    ) =>
      Effect.map(
        database.list<Totalled<Row>>(holder, operation, statement, [
          bigint(limit),
          bigint(offset),
          ...parameters,
        ]),
        (rows): OffsetPage<A> => ({
          total: Number(rows[0]?.total ?? 0),
          items: rows.filter(({ id }) => id !== null).map(toItem),
        }),
      )

    return Version1ListStore.of({
      messages: ({ mode, workspaceId }, { since, until }, query) =>
        list<MessageRow, ReturnType<typeof toMessage>>(
          workspaceId,
          "version1Lists.messages",
          listMessages,
          [bigint(workspaceId), text(mode), instant(since), instant(until)],
          query,
          toMessage,
        ),
      media: ({ mode, workspaceId }, type, query) =>
        list<MediaRow, ReturnType<typeof toFile>>(
          workspaceId,
          "version1Lists.media",
          listMedia(type !== null),
          [bigint(workspaceId), text(mode), ...(type === null ? [] : [text(type)])],
          query,
          toFile,
        ),
      reminders: ({ mode, workspaceId }, query) =>
        list<ReminderRow, ReturnType<typeof toReminder>>(
          workspaceId,
          "version1Lists.reminders",
          listReminders,
          [bigint(workspaceId), text(mode)],
          query,
          toReminder,
        ),
      checkResults: (id, status, query) =>
        list<ResultRow, ReturnType<typeof toResult>>(
          `check ${id}`,
          "version1Lists.checkResults",
          listResults,
          [bigint(id), text(status)],
          query,
          toResult,
        ),
    })
  }),
)
