/** The media directory, and number checks. */
import {
  any,
  choice,
  command,
  count,
  flag,
  id,
  many,
  maybe,
  once,
  phoneValue,
  targetOptions,
  text,
} from "../Command.ts"
import { interruptible, usageError } from "../ending.ts"
import { upload } from "../upload.ts"
import { targetText } from "../WorkspaceClient.ts"
import { limit, listed } from "./lists.ts"
import { readLines } from "./messages.ts"
import { pollDelay } from "./polling.ts"
import { callerLists, callerDetail, toFields } from "./rows.ts"

const columns = [
  "id",
  ["name", "file_name"],
  ["type", "mime_type"],
  ["bytes", "size"],
  ["created", "created_at"],
] as const

const checkColumns = [
  "id",
  "name",
  "status",
  ["phones", "total"],
  "registered",
  ["not registered", "not_registered"],
] as const

const resultColumns = ["phone", "status"] as const

export const mediaCommands = [
  command({
    name: "media upload",
    as: "key or operator",
    summary: "Uploads files, which you can send by their ids.",
    arguments: { file: many(text("FILE", "A file of at most 64 MiB.")) },
    options: targetOptions,
    run: async (input, tools) => {
      for (const file of input.file) tools.output.one(await upload(file, tools), columns)
    },
  }),
  callerLists("media list", "media.list", "Lists files, newest first.", columns, {
    type: maybe(choice(["image", "file"], "Filters by type.")),
  }),
  callerDetail("media get", "file", "media.get", "Shows a file with a link to it."),
  callerDetail("media delete", "file", "media.delete", "Deletes files.", many),
]

export const checkCommands = [
  command({
    name: "checks create",
    as: "key or operator",
    summary: "Checks which phones are on WhatsApp.",
    arguments: { phone: any(phoneValue("E.164 with +.")) },
    options: {
      ...targetOptions,
      file: maybe(text("FILE", "Phones, one to a line.")),
      name: maybe(text("NAME", "A display name.")),
      from: maybe(count("ID", "The number that asks.")),
      wait: flag("Waits until all were looked up, and shows the results."),
    },
    run: async ({ file, from, name, phone, wait }, { caller, output, machine, place }) => {
      const { read } = phoneValue("")
      const lines = file === undefined ? [] : await readLines(file, (line, at) => read(line, at, 0))
      const phones = [...phone, ...lines]
      if (phones.length === 0) throw usageError("give phones, or a --file with them")
      const { numberChecks } = caller()
      let check = await numberChecks.create({ phones, ...toFields({ name, from }) })
      if (!wait) return output.one(check, checkColumns)
      const goesOn = () =>
        `check ${check.id} continues; messaging checks get ${check.id}${targetText(place, { withMode: true })} shows its progress`
      await interruptible(machine.signal, goesOn, async () => {
        for (; check.status !== "completed"; check = await numberChecks.get(check.id)) {
          output.progress(`${check.checked} of ${check.total} phones looked up`)
          await machine.pause(pollDelay(1))
        }
      })
      await output.all(numberChecks.results(check.id, { limit: 100 }), resultColumns)
    },
  }),
  callerLists(
    "checks list",
    "numberChecks.list",
    "Lists number checks, newest first.",
    checkColumns,
    {},
  ),
  callerDetail(
    "checks get",
    "number check",
    "numberChecks.get",
    "Shows a number check and its progress.",
  ),
  command({
    name: "checks results",
    as: "key or operator",
    summary: "Shows the result of each phone.",
    arguments: { id: once(id("number check")) },
    options: {
      ...targetOptions,
      status: any(
        choice(["pending", "registered", "not_registered", "failed"], "Filters by result."),
      ),
      ...limit,
    },
    run: ({ id: of, status, ...args }, { caller, output }) =>
      listed(args, output, resultColumns, (page) =>
        caller().numberChecks.results(of, { ...page, ...toFields({ status }) }),
      ),
  }),
]
