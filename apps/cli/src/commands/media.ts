/** The media directory, and number checks. */
import type { MediaFile, NumberCheck, NumberCheckResult } from "@messaging-service/client"
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
  placeOptions,
  text,
} from "../Command.ts"
import { interruptible, usageError } from "../ending.ts"
import { upload } from "../upload.ts"
import { placeText } from "../WorkspaceClient.ts"
import { limit, listed } from "./lists.ts"
import { readLines } from "./messages.ts"
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
    as: "key or operator",
    summary: "Uploads files, which you can send by their ids.",
    arguments: { file: many(text("FILE", "A file of at most 64 MiB.")) },
    options: placeOptions,
    run: async (given, tools) => {
      for (const file of given.file) tools.output.one(await upload(file, tools), columns)
    },
  }),
  command({
    words: "media list",
    as: "key or operator",
    summary: "Lists files, newest first.",
    options: { ...placeOptions, type: maybe(choice(["image", "file"], "Only those.")), ...limit },
    run: ({ type, ...given }, { caller, output }) =>
      listed(given, output, columns, (page) =>
        caller().media.list({ ...page, ...(type === undefined ? {} : { type }) }),
      ),
  }),
  command({
    words: "media get",
    as: "key or operator",
    summary: "Shows a file with a link to it.",
    arguments: { id: once(id("file")) },
    options: placeOptions,
    run: async (given, { caller, output }) => output.one(await caller().media.get(given.id)),
  }),
  command({
    words: "media delete",
    as: "key or operator",
    summary: "Deletes files.",
    arguments: { id: many(id("file")) },
    options: placeOptions,
    run: async (given, { caller, output }) => {
      for (const each of given.id) output.one(await caller().media.delete(each))
    },
  }),
]

export const checkCommands = [
  command({
    words: "checks create",
    as: "key or operator",
    summary: "Finds out which phones WhatsApp knows.",
    arguments: { phone: any(phoneValue("E.164 with +.")) },
    options: {
      ...placeOptions,
      file: maybe(text("FILE", "Phones, one to a line.")),
      name: maybe(text("NAME", "For people.")),
      from: maybe(count("ID", "The number that asks.")),
      wait: flag("Waits until all were looked up, and shows the results."),
    },
    run: async ({ file, from, name, phone, wait }, { caller, output, machine, place }) => {
      const { read } = phoneValue("")
      const lines = file === undefined ? [] : await readLines(file, (line, at) => read(line, at, 0))
      const phones = [...phone, ...lines]
      if (phones.length === 0) throw usageError("give phones, or a --file with them")
      const { numberChecks } = caller()
      let check = await numberChecks.create({
        phones,
        ...(name === undefined ? {} : { name }),
        ...(from === undefined ? {} : { from }),
      })
      if (!wait) return output.one(check, checkColumns)
      const goesOn = () =>
        `check ${check.id} continues; messaging checks get ${check.id}${placeText(place, { withMode: true })} shows its progress`
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
    as: "key or operator",
    summary: "Lists number checks, newest first.",
    options: { ...placeOptions, ...limit },
    run: (given, { caller, output }) =>
      listed(given, output, checkColumns, (page) => caller().numberChecks.list(page)),
  }),
  command({
    words: "checks get",
    as: "key or operator",
    summary: "Shows a number check and its progress.",
    arguments: { id: once(id("number check")) },
    options: placeOptions,
    run: async (given, { caller, output }) => output.one(await caller().numberChecks.get(given.id)),
  }),
  command({
    words: "checks results",
    as: "key or operator",
    summary: "Shows the result of each phone.",
    arguments: { id: once(id("number check")) },
    options: {
      ...placeOptions,
      status: any(choice(["pending", "registered", "not_registered", "failed"], "Only those.")),
      ...limit,
    },
    run: ({ id: of, status, ...given }, { caller, output }) =>
      listed(given, output, resultColumns, (page) =>
        caller().numberChecks.results(of, { ...page, ...(status.length === 0 ? {} : { status }) }),
      ),
  }),
]
