/** The tables of docs/migration.md match version 1's code exactly. */
import { catalogue, messageStatuses } from "@messaging-service/core"
import type { Code } from "@messaging-service/core"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { textOfCode, texts, textsOfLists, textsOfMe } from "../src/v1/failures.ts"
import type { TextName } from "../src/v1/failures.ts"
import { shownStatus } from "../src/v1/routes.ts"
import { groupFields, phoneFields, phonesFields, scheduleFields } from "../src/v1/fields.ts"
import { sendFields } from "../src/v1/send.ts"
import { listOperations, served } from "./openapi/Document.ts"
import { layerService } from "./Service.ts"

const file = resolve(import.meta.dirname, "../../../docs/migration.md")

type Row = ReadonlyArray<string>

/** The rows of the first table under that heading, without its head. */
const tableUnder = (heading: string) =>
  Effect.map(
    Effect.promise(() => readFile(file, "utf8")),
    (page): ReadonlyArray<Row> => {
      const lines = page.split("\n")
      const start = lines.findIndex((line) => line === `## ${heading}`)
      const first = lines.findIndex((line, index) => index > start && line.startsWith("|"))
      const end = lines.findIndex((line, index) => index > first && !line.startsWith("|"))
      return lines.slice(first + 2, end).map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
    },
  )

/** The texts in backticks. */
const quotedIn = (cell = ""): ReadonlyArray<string> =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, quoted = ""]) => quoted)

const isCode = (text: string): text is Code => text in catalogue

/** Version 2 has a code of its own for addresses of endpoints. */
const codeOfVersion2 = (code: Code): Code =>
  code === "invalid_callback_url" ? "invalid_webhook_url" : code

/** The codes for which version 1 says that text, in any operation. */
const getCodes = (name: TextName): ReadonlyArray<Code> =>
  Object.entries(textOfCode)
    .filter(([, text]) =>
      [text, textsOfMe[text] ?? text, textsOfLists[text] ?? text].some((said) => said === name),
    )
    .map(([code]) => codeOfVersion2(code as Code))

const getStatuses = (code: Code): ReadonlyArray<number> => {
  const { pathStatus, status } = catalogue[code]
  return pathStatus === undefined ? [status] : [status, pathStatus]
}

const sorted = (numbers: Iterable<number>): ReadonlyArray<number> =>
  [...new Set(numbers)].toSorted((one, other) => one - other)

describe("the page of the migration", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("has every text that version 1 says, once, and no other", () =>
      Effect.gen(function* () {
        const rows = yield* tableUnder("Error responses")
        const said = Object.values(texts).map(({ message }) => message)
        assert.deepStrictEqual(
          rows.flatMap(([message]) => quotedIn(message)).toSorted(),
          [...new Set(said)].toSorted(),
        )
      }),
    )

    it.effect("has each text's HTTP status and its codes, with theirs", () =>
      Effect.gen(function* () {
        const rows = yield* tableUnder("Error responses")
        for (const [name, { message, status = 400 }] of Object.entries(texts)) {
          const row = rows.find(([first]) => first === `\`${message}\``)
          const [, shownHttp, second, secondHttp] = row ?? []
          const codes = quotedIn(second).filter(isCode)
          assert.strictEqual(shownHttp, String(status), message)
          assert.includeMembers([...codes], [...getCodes(name as TextName)], message)
          assert.deepStrictEqual(
            sorted((secondHttp ?? "").match(/\d+/g)?.map(Number) ?? []),
            sorted(codes.flatMap(getStatuses)),
            message,
          )
        }
      }),
    )

    it.effect("has every status of a message", () =>
      Effect.gen(function* () {
        const rows = yield* tableUnder("Status of a message")
        const shown = rows.flatMap(([number, text, names]) =>
          quotedIn(names).map((name) => [name, { status: Number(number), status_text: text }]),
        )
        assert.deepStrictEqual(
          shown,
          messageStatuses.map((status) => [status, shownStatus(status)]),
        )
      }),
    )

    it.effect("has every field of a send", () =>
      Effect.gen(function* () {
        const rows = yield* tableUnder("Fields of a send")
        assert.includeMembers(
          rows.flatMap(([first]) => quotedIn(first)),
          Object.keys({
            ...phoneFields,
            ...groupFields,
            ...phonesFields,
            ...scheduleFields,
            ...sendFields,
          }),
        )
      }),
    )

    it.effect("has every operation of version 1, and a counterpart in version 2", () =>
      Effect.gen(function* () {
        const rows = yield* tableUnder("Operations")
        const operations = listOperations(yield* served)
        const known = operations.map(({ method, path }) => `${method} ${path}`)
        const version1 = operations
          .filter(({ path }) => path.startsWith("/api/v1/"))
          .map(({ path }) => `${path.slice("/api/v1/".length).replace(/\/$/, "")}/`)
        assert.deepStrictEqual(
          rows.flatMap(([first]) => quotedIn(first)).toSorted(),
          [...new Set(version1)].toSorted(),
        )
        for (const [, second = ""] of rows) {
          assert.include(known, second.replaceAll("`", "").replace(" ", " /api/v2"))
        }
      }),
    )
  })
})
