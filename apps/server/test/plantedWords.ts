/**
 * Words planted in every field of a service, and where they still are: in a logical dump of its tables, and in
 * its files. For tests of erasure.
 */
import { assert } from "@effect/vitest"
import {
  EmbeddedPostgres,
  dumpDatabase,
  listenOnLoopback,
  processes,
  tablesWith,
} from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { readFile, readdir } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { program } from "./aServer.ts"

const operatorToken = "operator-token-of-the-erasure-tests"
const hour = 3600
export const day = 24 * hour

/** Longer than housekeeping's interval in service time. */
export const aRound = hour + 60

export interface Created {
  readonly id: number
  readonly key: string
}

/** Words of one purpose, each in one field only, and phones that begin with its digits. */
export const aVocabulary = (purpose: string, digits: string) => {
  const texts = [`1555${digits}`]
  let phones = 0
  return {
    texts,
    plant: (field: string) => {
      const word = `zq${purpose}${field}qz`
      texts.push(word)
      return word
    },
    phone: () => `+1555${digits}${String(phones++).padStart(4, "0")}`,
  }
}

/** A receiver on loopback that serves links, and answers calls with the status in their path. */
const aReceiver = Effect.gen(function* () {
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      const status = request.url?.includes("refused") === true ? 500 : 200
      response.writeHead(status, { "content-type": "image/png" }).end("not much of a picture")
    })
  })
  return yield* listenOnLoopback(server)
})

export const aService = Effect.gen(function* () {
  const database = yield* (yield* EmbeddedPostgres).createDatabase()
  const directory = yield* processes.temporaryDirectory
  const server = yield* processes.startServer(program, {
    PORT: "0",
    DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: directory,
    OPERATOR_TOKEN: operatorToken,
    CLOCK: "adjustable",
    ALLOW_PRIVATE_TARGETS: "true",
    SEED_EXAMPLE: "false",
    TRUST_PROXY: "true",
    RETENTION_DAYS: "7",
  })
  const operator = processes.anOperator(server.url, operatorToken)
  const created = <Body = Created>(path: string, body: unknown, method = "POST") =>
    Effect.map(operator.request<Body>(method, path, body), (answer) => {
      assert.include([200, 201], answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body
    })
  /** A caller's request, from an address that is a planted word too. */
  const request = <Body = Created>(
    key: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    Effect.promise(async () => {
      const answer = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          ...(body instanceof FormData ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        body: body instanceof FormData ? body : JSON.stringify(body),
      })
      const text = await answer.text()
      assert.isBelow(answer.status, 300, `${path}: ${text}`)
      return JSON.parse(text) as Body
    })
  /** The remaining words, with their places. */
  const found = (words: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const tables = tablesWith(yield* dumpDatabase(database), words)
      const files = yield* Effect.promise(async () => {
        const entries = await readdir(directory, { recursive: true, withFileTypes: true })
        const remaining: Array<string> = []
        for (const entry of entries) {
          if (!entry.isFile()) continue
          const path = join(entry.parentPath, entry.name)
          const text = `${path} ${await readFile(path, "latin1")}`
          remaining.push(...words.filter((word) => text.includes(word)))
        }
        return remaining
      })
      return [...tables, ...files]
    })
  return { request, found, created, operator, receiver: yield* aReceiver, url: server.url }
})

export type Service = Effect.Success<typeof aService>

/** Fails unless each of them exists before the erasure. */
export const assertPlanted = (service: Service, words: ReadonlyArray<string>) =>
  Effect.map(service.found(words), (found) => {
    const all = found.join()
    assert.deepStrictEqual(
      words.filter((word) => !all.includes(word)),
      [],
    )
  })
