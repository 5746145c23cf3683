/** Campaigns: one message for each row of a file. */
import { basename } from "node:path"
import { campaignStates, rowStatuses } from "@messaging-service/core"
import type { Campaign, CampaignRow, OperatorClient } from "@messaging-service/client"
import {
  any,
  between,
  choice,
  command,
  count,
  flag,
  id,
  many,
  maybe,
  once,
  phoneValue,
  text,
  time,
  workspace,
} from "../Command.ts"
import { usageError } from "../ending.ts"
import { openFile } from "../upload.ts"
import { limit, listed } from "./lists.ts"
import { recipientText } from "./messages.ts"
import { toFields } from "./rows.ts"

const columns = [
  "id",
  "name",
  "state",
  ["reason", "state_reason"],
  ["rows", ({ rows }: Campaign) => rows.total],
  ["pending", ({ rows }: Campaign) => rows.pending],
  ["refused", ({ rows }: Campaign) => rows.refused],
  ["sent", ({ rows }: Campaign) => rows.sent + rows.delivered + rows.read],
  ["failed", ({ rows }: Campaign) => rows.failed],
  [
    "waits for",
    ({ waits_for }: Campaign) => waits_for?.map(({ reason }) => reason.replaceAll("_", " ")),
  ],
  ["finishes", "finishes_at"],
] as const

const rowColumns = [
  "row",
  "line",
  ["to", ({ to }: CampaignRow) => to && recipientText(to)],
  "status",
  ["message", "message_id"],
  ["error", ({ error }: CampaignRow) => error && [error.code, error.field].filter(Boolean)],
  "text",
] as const

const campaign = { id: once(id("campaign")) }

const target = {
  workspace,
  mode: maybe(choice(["live", "test"], "Acts as a live or a test key. Default: live.")),
}

const status = any(choice(rowStatuses, "Filters by status."))

/** A command that moves campaigns to another state. */
const moves = (name: "start" | "pause" | "stop", summary: string, about?: string) =>
  command({
    name: `campaigns ${name}`,
    as: "operator",
    summary,
    ...(about === undefined ? {} : { about }),
    arguments: campaign,
    options: target,
    run: async ({ id: of, mode, workspace: inside }, { operator, output }) =>
      output.one(await operator().campaigns[name](inside, of, toFields({ mode })), columns),
  })

const findHours = (hours: string | undefined, days: ReadonlyArray<Day>) => {
  if (hours === undefined) {
    if (days.length > 0) throw usageError("--day needs --hours")
    return undefined
  }
  const [from = "", until = "", ...more] = hours.split("-")
  if (until === "" || more.length > 0) throw usageError("--hours is such as 09:00-18:00")
  return { from, until, ...(days.length === 0 ? {} : { days }) }
}

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const

type Day = (typeof weekdays)[number]

type Input = Parameters<OperatorClient["campaigns"]["create"]>[1]

export const campaignCommands = [
  command({
    name: "campaigns create",
    as: "operator",
    summary: "Creates a campaign from a CSV file: one message per row.",
    about:
      "The first line names the columns; {column} in the text is a row's value, {column|words} has words for where it is missing. Without --start it stays a draft, and nothing is sent: check its rows first. A refused file creates no draft.",
    arguments: { file: once(text("FILE", "CSV, in UTF-8, of at most 32 MiB.")) },
    options: {
      ...target,
      text: maybe(text("TEXT", "With columns in braces: Hello {name|there}.")),
      name: maybe(text("NAME", "A display name. Default: the file's name.")),
      "media-id": maybe(count("ID", "The id of an uploaded file, for all rows.")),
      from: any(count("ID", "A sending number. Default: any of the workspace.")),
      "to-column": maybe(text("COLUMN", "The column of recipients. Default: to, else phone.")),
      "country-code": maybe(text("DIGITS", "For phones without +, such as 44.")),
      timezone: maybe(text("ZONE", "Such as Europe/London; for --hours and times in the file.")),
      at: maybe(time("Starts at this time. Default: when it is started.")),
      hours: maybe(text("HOURS", "Messages are sent only then: 09:00-18:00, in --timezone.")),
      day: any(choice(weekdays, "With --hours: only those days.")),
      expires: maybe(time("No message is sent later.")),
      reserve: maybe(
        between(
          0,
          999,
          "COUNT",
          "Messages reserved for other sends, of each number's 1,000 in 24 hours. Default: 200.",
        ),
      ),
      reference: maybe(text("TEXT", "Of all its messages.")),
      "drop-duplicates": flag("Refuses later rows to the same recipient."),
      start: flag("Starts it."),
    },
    run: async (input, { operator, output }) => {
      const { mode, workspace: inside } = input
      const { campaigns } = operator()
      const file = await openFile(input.file, output)
      const mediaId = input["media-id"]
      const settings: Input = {
        name: input.name ?? basename(input.file).slice(0, 100),
        ...toFields({
          text: input.text,
          media: mediaId === undefined ? undefined : { media_id: mediaId },
          from: input.from.length === 0 ? undefined : input.from,
          default_country_code: input["country-code"],
          timezone: input.timezone,
          send_at: input.at,
          hours: findHours(input.hours, input.day),
          expires_at: input.expires,
          quota_reserve: input.reserve,
          reference: input.reference,
          duplicates: input["drop-duplicates"] ? ("drop" as const) : undefined,
        }),
      }
      const { id: of } = await campaigns.create(inside, settings, toFields({ mode }))
      const added = await campaigns
        .uploadRows(inside, of, file, toFields({ mode, to_column: input["to-column"] }))
        .catch(async (error: unknown) => {
          await campaigns.remove(inside, of, toFields({ mode }))
          throw error
        })
      output.progress(undefined)
      for (const { error, line, row } of added.problems) {
        const where = line === null ? `row ${row}` : `line ${line}`
        output.remark(`${where}: ${error?.message ?? ""}`, { line, row, error })
      }
      if (input.start) await campaigns.start(inside, of, toFields({ mode }))
      output.one(await campaigns.get(inside, of, toFields({ mode })), columns)
    },
  }),
  command({
    name: "campaigns list",
    as: "operator",
    summary: "Lists campaigns, newest first.",
    options: { ...target, state: any(choice(campaignStates, "Filters by state.")), ...limit },
    run: ({ mode, state, workspace: inside, ...args }, { operator, output }) =>
      listed(args, output, columns, (page) =>
        operator().campaigns.list(inside, { ...page, ...toFields({ mode, state }) }),
      ),
  }),
  command({
    name: "campaigns show",
    as: "operator",
    summary: "Shows a campaign, and when it would start and finish.",
    arguments: campaign,
    options: target,
    run: async ({ id: of, mode, workspace: inside }, { operator, output }) => {
      const { campaigns } = operator()
      output.one(await campaigns.get(inside, of, toFields({ mode })))
      output.one(await campaigns.forecast(inside, of, toFields({ mode })))
    },
  }),
  command({
    name: "campaigns rows",
    as: "operator",
    summary: "Lists the rows of a campaign with the result of each.",
    arguments: campaign,
    options: {
      ...target,
      status,
      code: maybe(text("CODE", "Filters by error.")),
      to: maybe(phoneValue("Filters by phone.")),
      ...limit,
    },
    run: (
      { code, id: of, mode, status: only, to, workspace: inside, ...args },
      { operator, output },
    ) =>
      listed(args, output, rowColumns, (page) =>
        operator().campaigns.rows(inside, of, {
          ...page,
          ...toFields({ mode, status: only, code, to }),
        }),
      ),
  }),
  command({
    name: "campaigns results",
    as: "operator",
    summary: "Prints the result of each row, as CSV.",
    arguments: campaign,
    options: { ...target, status },
    run: async ({ id: of, mode, status: only, workspace: inside }, { machine, operator }) => {
      const fields = toFields({ mode, status: only })
      const results = await operator().campaigns.results(inside, of, fields)
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
      for await (const piece of results as unknown as AsyncIterable<Uint8Array>) {
        machine.print(decoder.decode(piece, { stream: true }))
        if ((await machine.written()) !== null) return
      }
    },
  }),
  moves("start", "Starts a campaign."),
  moves("pause", "Pauses a campaign; what waits in queues is held."),
  command({
    name: "campaigns resume",
    as: "operator",
    summary: "Resumes a paused campaign.",
    arguments: campaign,
    options: {
      ...target,
      "from-row": maybe(count("ROW", "After a restore: the first row that had not left.")),
    },
    run: async (input, { operator, output }) =>
      output.one(
        await operator().campaigns.resume(
          input.workspace,
          input.id,
          toFields({ from_row: input["from-row"] }),
          toFields({ mode: input.mode }),
        ),
        columns,
      ),
  }),
  moves(
    "stop",
    "Stops a campaign for good.",
    "Pending rows are skipped, and waiting messages cancelled.",
  ),
  command({
    name: "campaigns delete",
    as: "operator",
    summary: "Stops and deletes campaigns. Their messages stay.",
    arguments: { id: many(id("campaign")) },
    options: target,
    run: async ({ id: all, mode, workspace: inside }, { operator, output }) => {
      for (const of of all) {
        output.one(await operator().campaigns.remove(inside, of, toFields({ mode })))
      }
    },
  }),
]
