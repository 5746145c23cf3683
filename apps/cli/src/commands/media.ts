/** The media directory, and number checks. */
import type { MediaFile, NumberCheck, NumberCheckResult } from "@messaging-service/client"
import { any, choice, command, count, flag, id, many, maybe, once, text } from "../Command.ts"
import { interruptible, usageError } from "../ending.ts"
import { upload } from "../upload.ts"
import { limit, listed } from "./lists.ts"
import { readText } from "./messages.ts"
import { restAfter } from "./polling.ts"

const columns = [
  ["id", ({ id: number }: MediaFile) => number],
  ["name", ({ file_name }: MediaFile) => file_name],
  ["type", ({ mime_type }: MediaFile) => mime_type],
  ["bytes", ({ size }: MediaFile) => size],
  ["created", ({ created_at }: MediaFile) => created_at],
] as const

const checkColumns = [
  ["id", ({ id: number }: NumberCheck) => number],
  ["name", ({ name }: NumberCheck) => name],
  ["status", ({ status }: NumberCheck) => status],
  ["phones", ({ total }: NumberCheck) => total],
  ["registered", ({ registered }: NumberCheck) => registered],
  ["not registered", ({ not_registered }: NumberCheck) => not_registered],
] as const

const resultColumns = [
  ["phone", ({ phone }: NumberCheckResult) => phone],
  ["status", ({ status }: NumberCheckResult) => status],
] as const

export const mediaCommands = [
  command({
    words: "media upload",
    as: "key",
    summary: "Uploads files, which you can send by their ids.",
    arguments: { file: many(text("FILE", "A file of at most 64 MiB.")) },
    run: async (given, tools) => {
      for (const file of given.file) tools.output.one(await upload(file, tools), columns)
    },
  }),
  command({
    words: "media list",
    as: "key",
    summary: "Lists files, newest first.",
    options: { type: maybe(choice(["image", "file"], "Only those.")), ...limit },
    run: ({ type, ...given }, { client, output }) =>
      listed(given, output, columns, (page) =>
        client().media.list({ ...page, ...(type === undefined ? {} : { type }) }),
      ),
  }),
  command({
    words: "media get",
    as: "key",
    summary: "Shows a file with a link to it.",
    arguments: { id: once(id("file")) },
    run: async (given, { client, output }) => output.one(await client().media.get(given.id)),
  }),
  command({
    words: "media delete",
    as: "key",
    summary: "Deletes files.",
    arguments: { id: many(id("file")) },
    run: async (given, { client, output }) => {
      for (const each of given.id) output.one(await client().media.delete(each))
    },
  }),
]

export const checkCommands = [
  command({
    words: "checks create",
    as: "key",
    summary: "Finds out which phones WhatsApp knows.",
    arguments: { phone: any(text("PHONE", "E.164 with +.")) },
    options: {
      file: maybe(text("FILE", "Phones, one to a line.")),
      name: maybe(text("NAME", "For people.")),
      from: maybe(count("ID", "The number that asks.")),
      wait: flag("Waits until all were looked up, and shows the results."),
    },
    run: async ({ file, from, name, phone, wait }, { client, output, machine }) => {
      const lines = file === undefined ? [] : (await readText(file)).split("\n")
      const phones = [...phone, ...lines.map((line) => line.trim())].filter((line) => line !== "")
      if (phones.length === 0) throw usageError("give phones, or a --file with them")
      const { numberChecks } = client()
      let check = await numberChecks.create({
        phones,
        ...(name === undefined ? {} : { name }),
        ...(from === undefined ? {} : { from }),
      })
      if (!wait) return output.one(check, checkColumns)
      const goesOn = () =>
        `check ${check.id} continues; messaging checks get ${check.id} shows its progress`
      await interruptible(machine.signal, goesOn, async () => {
        for (; check.status !== "completed"; check = await numberChecks.get(check.id)) {
          output.progress(`${check.checked} of ${check.total} phones looked up`)
          await machine.pause(restAfter(1))
        }
      })
      await output.all(numberChecks.results(check.id, { limit: 100 }), resultColumns)
    },
  }),
  command({
    words: "checks list",
    as: "key",
    summary: "Lists number checks, newest first.",
    options: limit,
    run: (given, { client, output }) =>
      listed(given, output, checkColumns, (page) => client().numberChecks.list(page)),
  }),
  command({
    words: "checks get",
    as: "key",
    summary: "Shows a number check and its progress.",
    arguments: { id: once(id("number check")) },
    run: async (given, { client, output }) => output.one(await client().numberChecks.get(given.id)),
  }),
  command({
    words: "checks results",
    as: "key",
    summary: "Shows the result of each phone.",
    arguments: { id: once(id("number check")) },
    options: {
      status: any(choice(["pending", "registered", "not_registered", "failed"], "Only those.")),
      ...limit,
    },
    run: ({ id: of, status, ...given }, { client, output }) =>
      listed(given, output, resultColumns, (page) =>
        client().numberChecks.results(of, { ...page, ...(status.length === 0 ? {} : { status }) }),
      ),
  }),
]
