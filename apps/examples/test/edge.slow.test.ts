/** The service in a worker on an edge host: what works there, and how the rest is refused. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { hasWorkerd, listening, portTo, serveWorker } from "./edge/Workerd.ts"

const worker = join(import.meta.dirname, "edge/everything.ts")
const example = join(import.meta.dirname, "../src/edgeWorker.ts")

/** A database as a worker reaches it. */
const aDatabase = Effect.gen(function* () {
  const { database, path, username } = yield* (yield* EmbeddedPostgres).createDatabase()
  return `postgres://${username}@127.0.0.1:${yield* portTo(path)}/${database}`
})

const text = (url: string, init: RequestInit = {}) =>
  Effect.promise(async () => (await fetch(url, init)).text())

class Edge extends Context.Service<Edge, (path: string, body?: object) => Effect.Effect<unknown>>()(
  "test/Edge",
) {
  static readonly layer = Layer.effect(
    Edge,
    Effect.gen(function* () {
      const receiver = createServer((_, response) => response.end("%PDF-1.7\n%%EOF\n"))
      const port = yield* listening(receiver)
      const folder = yield* processes.temporaryDirectory
      const url = yield* serveWorker(folder, worker, { DATABASE_URL: yield* aDatabase })
      return Edge.of((path, body) =>
        Effect.map(
          text(`${url}/${path}`, {
            method: "POST",
            headers: { receiver: `http://127.0.0.1:${port}/` },
            body: JSON.stringify(body),
          }),
          (answer): unknown => JSON.parse(answer),
        ),
      )
    }),
  )
}

const done = { finished: true, status: "sent" }

const noFiles = {
  code: "validation_failed",
  field: "content",
  message:
    "content: A file needs a disk (dataDirectory), which this process does not have: use one that has it, or send a link by version 2.",
}

/** The same through a request. */
const noFilesOverHttp = {
  status: 400,
  error: {
    code: "validation_failed",
    field: "file",
    message:
      "A file needs a disk (dataDirectory), which this process does not have: use one that has it, or send a link by version 2.",
  },
}

const noDisk = "needs a disk, which a worker of an edge host does not have"
const noProcess = "needs a long-lived process, which a worker of an edge host is not"

/** Options that an edge host does not support, and their refusals. */
const refused: ReadonlyArray<readonly [options: object, field: string, line: string]> = [
  [
    { store: { embedded: "./data" } },
    "store.embedded",
    `store.embedded ${noDisk}: use store.pool or store.postgres`,
  ],
  [
    { transport: "live" },
    "transport",
    `transport "live" ${noProcess}: connect numbers in one that does`,
  ],
  [{ dataDirectory: "/tmp" }, "dataDirectory", `dataDirectory ${noDisk}: leave it out`],
  [{ worker: true }, "worker", `worker true ${noProcess}: leave it out, and call drain`],
  [
    { store: { postgres: "postgres://127.0.0.1/none" } },
    "secretsKey",
    "secretsKey is required in a worker of an edge host, which has no disk to store one",
  ],
]

layer(Layer.provideMerge(Edge.layer, EmbeddedPostgres.layer()), {
  excludeTestServices: true,
})("in a worker on an edge host", (it) => {
  // Over a pool the worker sends one more message, in its own transaction.
  for (const [store, sent, upload, uploaded] of [
    ["memory", 2, "application/pdf", { status: 201 }],
    ["url", 2, noFiles, noFilesOverHttp],
    ["pool", 3, noFiles, noFilesOverHttp],
  ] as const) {
    it.effect.skipIf(!hasWorkerd)(`sends a message, reports it and reads it back: ${store}`, () =>
      Effect.gen(function* () {
        const request = yield* Edge
        assert.deepStrictEqual(yield* request(store), {
          ...done,
          sent,
          delivered: sent,
          upload,
          uploaded,
        })
      }),
    )
  }

  it.effect.skipIf(!hasWorkerd)("refuses an unsupported option in a line that names it", () =>
    Effect.gen(function* () {
      const request = yield* Edge
      for (const [options, field, message] of refused) {
        assert.deepStrictEqual(yield* request("open", options), {
          code: "cannot_start",
          field,
          message,
        })
      }
      assert.deepStrictEqual(yield* request("too-early"), {
        code: "cannot_start",
        field: null,
        message: "open can only be called while a worker of an edge host handles a request",
      })
    }),
  )

  it.effect.skipIf(!hasWorkerd)("the example accepts, and refuses in the service's words", () =>
    Effect.gen(function* () {
      const url = yield* serveWorker(yield* processes.temporaryDirectory, example, {
        DATABASE_URL: yield* aDatabase,
        SECRETS_KEY: "0123456789abcdef".repeat(4),
      })
      const post = (body: string) => text(url, { method: "POST", body })
      assert.strictEqual(yield* post("Hello"), `{"id":1,"status":"queued"}`)
      assert.include(yield* post(""), "text_required")
    }),
  )
})
