/** Simulated phones and their clock, for a service with `TRANSPORT=simulated`. */
import { readFile } from "node:fs/promises"
import { basename } from "node:path"
import type { Sent } from "@messaging-service/client"
import {
  any,
  choice,
  command,
  count,
  flag,
  id,
  maybe,
  number,
  once,
  phoneValue,
  seconds,
  text,
} from "../Command.ts"
import { usageError } from "../ending.ts"
import { limit, listed } from "./lists.ts"
import { messageColumns } from "./messages.ts"
import { toFields } from "./rows.ts"

const phone = { id: once(id("number")) }

const copyColumns = [
  "at",
  ["message", "message_id"],
  "status",
  ["number", "number_id"],
  "to",
  "text",
  ["file", ({ media }: Sent) => media?.file_name],
] as const

/** A file as a person sends it: a picture by the end of its name, else a document. */
const readSentFile = async (path: string) => {
  const content = await readFile(path).catch((error: Error) => {
    throw usageError(`cannot read ${path}: ${error.message}`)
  })
  const isPicture = /\.(gif|jpe?g|png|webp)$/i.test(path)
  return {
    kind: isPicture ? ("image" as const) : ("document" as const),
    media: { file_name: basename(path), data: content.toString("base64") },
  }
}

export const phoneCommands = [
  command({
    name: "phones behaviour",
    as: "operator",
    summary: "Shows how a simulated phone behaves, or sets its whole behaviour.",
    about: "Any option sets it: the others then get their defaults. --reset sets all defaults.",
    arguments: phone,
    options: {
      send: maybe(
        choice(["succeed", "fail", "hang", "drop"], "What a send does. Default: succeed."),
      ),
      "error-message": maybe(text("TEXT", "The reason of a failed send.")),
      "latency-ms": maybe(number("MILLIS", "How long a send takes. Default: 0.")),
      group: any(text("NAME", "A group that the phone belongs to. Default: Team.")),
      reset: flag("Sets all defaults."),
    },
    run: async ({ group, id: of, reset, ...args }, { operator, output }) => {
      const requested = toFields({ ...args, groups: group })
      const isSet = Object.keys(requested).length > 0
      if (isSet && reset) throw usageError("--reset excludes the other options")
      const { behaviour, setBehaviour } = operator().simulator
      output.one(await (isSet || reset ? setBehaviour(of, requested) : behaviour(of)))
    },
  }),
  command({
    name: "phones scan",
    as: "operator",
    summary: "Scans the QR code of a connecting number, or types its pairing code.",
    arguments: phone,
    options: { phone: maybe(phoneValue("The phone that scans. Default: the known one.")) },
    run: async ({ id: of, phone: by }, { operator, output }) =>
      output.one(await operator().simulator.scan(of, by === undefined ? undefined : { phone: by })),
  }),
  command({
    name: "phones write",
    as: "operator",
    summary: "Lets a person write to a number, where conversations are on.",
    arguments: phone,
    options: {
      from: once(phoneValue("Who writes.")),
      name: maybe(text("NAME", "What the person calls itself.")),
      group: maybe(text("NAME", "The group that it is written in.")),
      text: maybe(text("TEXT", "What is written; with --file below it.")),
      file: maybe(text("FILE", "A file that the person sends; at most 1 MiB.")),
    },
    run: async (input, { operator, output }) => {
      if (input.text === undefined && input.file === undefined) {
        throw usageError("give --text, or a file with --file")
      }
      output.one(
        await operator().simulator.write(input.id, {
          from: { phone: input.from, ...toFields({ name: input.name }) },
          ...toFields({ text: input.text, group: input.group }),
          ...(input.file === undefined ? {} : await readSentFile(input.file)),
        }),
      )
    },
  }),
  command({
    name: "phones read",
    as: "operator",
    summary: "Shows how far a phone knows each chat as read.",
    arguments: phone,
    run: async ({ id: of }, { operator, output }) =>
      output.all(await operator().simulator.readMarks(of), ["chat_id", "up_to", "at"]),
  }),
  command({
    name: "phones logout",
    as: "operator",
    summary: "Logs a number out on its phone.",
    arguments: phone,
    run: async ({ id: of }, { operator, output }) =>
      output.one(await operator().simulator.logOut(of)),
  }),
  command({
    name: "phones registered",
    as: "operator",
    summary: "Shows which phones exist, or sets it.",
    about: "Without a list all phones exist but those that end in 0000.",
    arguments: { phone: any(phoneValue("The only phones that exist from now on.")) },
    options: { reset: flag("All but those that end in 0000.") },
    run: async ({ phone: phones, reset }, { operator, output }) => {
      if (reset && phones.length > 0) throw usageError("--reset excludes phones")
      const { registered, setRegistered } = operator().simulator
      const isSet = reset || phones.length > 0
      output.one(await (isSet ? setRegistered({ phones: reset ? null : phones }) : registered()))
    },
  }),
  command({
    name: "phones sent",
    as: "operator",
    summary: "Lists what recipients received, newest first: each copy once.",
    options: {
      number: maybe(count("ID", "Only from that number.")),
      workspace: maybe(count("ID", "Only of that workspace.")),
      to: maybe(text("TO", "Only to exactly that recipient.")),
      ...limit,
    },
    run: ({ number: number_id, to, workspace: workspace_id, ...args }, { operator, output }) =>
      listed(args, output, copyColumns, (page) =>
        operator().simulator.sent({ ...page, ...toFields({ number_id, workspace_id, to }) }),
      ),
  }),
  command({
    name: "phones tick",
    as: "operator",
    summary: "Marks a message as delivered or read by its recipient.",
    arguments: {
      id: once(id("message")),
      status: once(choice(["delivered", "read"], "delivered or read.")),
    },
    run: async ({ id: of, status }, { operator, output }) =>
      output.one(await operator().simulator.tick(of, { status }), messageColumns),
  }),
  command({
    name: "clock get",
    as: "operator",
    summary: "Shows the service's time.",
    run: async (_, { operator, output }) => output.one(await operator().simulator.clock()),
  }),
  command({
    name: "clock advance",
    as: "operator",
    summary: "Advances the service's clock and runs all work that comes due.",
    about: "Needs CLOCK=adjustable.",
    arguments: { duration: once(seconds("How far to advance.")) },
    run: async ({ duration }, { operator, output }) =>
      output.one(await operator().simulator.advance({ seconds: duration })),
  }),
  command({
    name: "clock settle",
    as: "operator",
    summary: "Waits until no work is due or in flight.",
    run: async (_, { operator, output }) => {
      await operator().simulator.settle()
      output.one(await operator().simulator.clock())
    },
  }),
]
