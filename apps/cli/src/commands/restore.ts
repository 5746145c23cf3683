/** Operator commands for a store that went back in time. */
import { MessagingError } from "@messaging-service/client"
import type { OperatorClient } from "@messaging-service/client"
import {
  any,
  command,
  count,
  flag,
  maybe,
  number as wholeNumber,
  time,
  workspace,
} from "../Command.ts"
import { usageError } from "../ending.ts"
import { decideAboutHeld } from "../ServiceFigures.ts"
import { messageColumns } from "./messages.ts"
import { toFields, operatorLists } from "./rows.ts"

const selection = {
  options: {
    workspace,
    from: maybe(count("ID", "Those of that number.")),
    since: maybe(time("Created then or later.")),
    until: maybe(time("Created before.")),
    all: flag("Everything that is held."),
  },
  arguments: { ids: any(count("ID", "The messages; instead of options.")) },
} as const

interface Selected {
  readonly workspace: number
  readonly ids: ReadonlyArray<number>
  readonly from?: number | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly all: boolean
}

type Body = Parameters<OperatorClient["held"]["release"]>[1]

/** Only this word selects everything: an omitted name must not mean all. */
const toBody = ({ all, from, ids, since, until }: Selected): Body => {
  const filter = toFields({ from, since, until })
  const isFiltered = Object.keys(filter).length > 0
  if (ids.length > 0 && !isFiltered && !all) return { ids: [...ids] }
  if (ids.length > 0 || isFiltered === all) {
    throw usageError("give message ids, filters, or --all")
  }
  return { filter }
}

/** The service says how a program repeats it; here it is an option. */
const inOptions = (error: unknown) => {
  if (!(error instanceof MessagingError) || error.code !== "already_restored") throw error
  const text =
    "This epoch of the store has accepted messages. Use --again if it was restored once more."
  throw new MessagingError({ ...error, text })
}

export const restoreCommands = [
  command({
    name: "store restored",
    as: "operator",
    summary: "Declares the store restored from a backup; holds all waiting messages.",
    about:
      "For a restore from a backup, or a fail-over to a lagging standby. The service then reuses no id, and no held\nmessage is sent before it is released.",
    options: {
      above: maybe(wholeNumber("ID", "The highest id of any kind known outside the store.")),
      again: flag("Confirms another restore, although messages were accepted since."),
    },
    run: async (input, { operator, output }) => {
      const started = await operator().store.restored(toFields(input)).catch(inOptions)
      output.one(started)
      const { held } = started
      if (held > 0) output.remark(`${held} are held: ${decideAboutHeld}`, { held })
      output.remark(
        "processes that still answer store_behind saw another restore of this backup: repeat this with --above ID, the highest id known outside the store",
        { epoch: started.epoch },
      )
    },
  }),
  command({
    name: "held workspaces",
    as: "operator",
    summary: "Lists the workspaces with held messages or reminders.",
    run: async (_, { operator, output }) =>
      output.all(await operator().store.held(), [
        ["workspace", "workspace_id"],
        "messages",
        "reminders",
      ]),
  }),
  operatorLists(
    "held list",
    "held.list",
    "Lists a workspace's held messages, newest first.",
    messageColumns,
  ),
  ...(["release", "cancel"] as const).map((verb) =>
    command({
      name: `held ${verb}`,
      as: "operator",
      summary: `${verb === "release" ? "Releases" : "Cancels"} held messages; reminders continue with their next run.`,
      ...selection,
      run: async (input, { operator, output }) =>
        output.one(await operator().held[verb](input.workspace, toBody(input))),
    }),
  ),
  command({
    name: "held mark-sent",
    as: "operator",
    summary: "Marks held messages as sent: those that left after the backup.",
    about:
      "Filters and --all skip messages planned for later, which cannot have been sent. Reminders continue with\ntheir next run.",
    options: {
      ...selection.options,
      "sent-at": maybe(time("When they left. Default: each message's planned time.")),
    },
    arguments: selection.arguments,
    run: async ({ "sent-at": sent_at, ...args }, { operator, output }) => {
      const body = { ...toBody(args), ...toFields({ sent_at }) }
      output.one(await operator().held.markSent(args.workspace, body))
    },
  }),
]
