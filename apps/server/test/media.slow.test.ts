/** Media files and number checks of a real server after a stop or a kill. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { request } from "node:http"
import { join } from "node:path"
import { aDataDirectory, aServer, forgetful, program, upload } from "./aServer.ts"
import type { FileBody } from "./aServer.ts"

const mebibyte = 1024 * 1024

interface CheckBody {
  readonly id: number
  readonly status: string
  readonly checked: number
  readonly registered: number
}

/** Every file below a directory. */
const filesIn = (directory: string) =>
  Effect.promise(async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  })

const download = (url: string) =>
  Effect.promise(async (signal) => {
    const answer = await fetch(url, { signal })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  })

/** Begins an upload of 8 MiB that never ends. */
const startUpload = (url: string, key: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const outgoing = request(`${url}/api/v2/media`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "multipart/form-data; boundary=x",
        },
      })
      outgoing.on("error", () => undefined)
      outgoing.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n')
      outgoing.write(Buffer.alloc(8 * mebibyte))
      return outgoing
    }),
    (outgoing) => Effect.sync(() => outgoing.destroy()),
  )

const some = (files: ReadonlyArray<string>) => (files.length > 0 ? files : undefined)

describe("media files of a real server", () => {
  it.effect("survive a kill with their links, and an unfinished upload leaves nothing", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* aDataDirectory
      // Earlier links lead to the same address after a restart.
      const settings = { DATA_DIR, PORT: "0", PUBLIC_URL: "http://media.example" }
      const server = yield* processes.startServer(program, settings)
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const bytes = Buffer.alloc(3 * mebibyte, "0123456789")
      const file = yield* upload(server.url, liveKey, bytes)
      assert.strictEqual(file.size, bytes.length)

      yield* startUpload(server.url, liveKey)
      const temporary = join(DATA_DIR, "media", "temporary")
      yield* processes.waitUntil("an upload is under way", Effect.map(filesIn(temporary), some))
      yield* server.kill

      const again = yield* processes.startServer(program, settings)
      assert.deepStrictEqual(yield* filesIn(temporary), [])
      assert.lengthOf(yield* filesIn(join(DATA_DIR, "media")), 1)
      const got = yield* download(file.url.replace("http://media.example", again.url))
      assert.strictEqual(got.status, 200)
      assert.isTrue(got.bytes.equals(bytes))
      const listed = yield* processes.call<{ readonly data: ReadonlyArray<FileBody> }>(
        "GET",
        `${again.url}/api/v2/media`,
        { token: liveKey },
      )
      assert.deepStrictEqual(
        listed.body.data.map(({ id }) => id),
        [file.id],
      )
    }),
  )

  it.effect("go with a server that has a memory store", () =>
    Effect.gen(function* () {
      const settings = yield* forgetful
      const { stored, stop, url } = yield* aServer(settings)
      const file = yield* upload(url, stored.liveKey ?? "", Buffer.alloc(1000))
      assert.strictEqual((yield* download(file.url)).status, 200)
      yield* stop
      const left = yield* filesIn(settings.DATA_DIR)
      assert.deepStrictEqual(left.toSorted(), [
        "example-live-key.memory",
        "example-test-key.memory",
        "example-version-1-key.memory",
        "operator-token",
      ])
    }),
  )
})

describe("a number check of a real server", () => {
  it.effect("continues after its server was killed in the middle", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* aDataDirectory
      const settings = { DATA_DIR, PORT: "0", CLOCK: "adjustable" }
      const server = yield* processes.startServer(program, settings)
      const { liveKey: token = "", operatorToken = "" } = yield* processes.storedSecrets(
        yield* server.stdout,
      )
      yield* processes.anOperator(server.url, operatorToken).behave(1, { latency_ms: 10_000 })
      const phones = Array.from({ length: 130 }, (_, index) => `+1555200${1001 + index}`)
      const created = yield* processes.call<CheckBody>(
        "POST",
        `${server.url}/api/v2/number-checks`,
        {
          token,
          body: { phones },
        },
      )
      assert.strictEqual(created.status, 202)
      const read = (url: string) =>
        Effect.map(
          processes.call<CheckBody>("GET", `${url}/api/v2/number-checks/${created.body.id}`, {
            token,
          }),
          ({ body }) => body,
        )
      yield* processes.anOperator(server.url, operatorToken).advance(15)
      assert.strictEqual((yield* read(server.url)).checked, 50)
      yield* server.kill

      const again = yield* processes.startServer(program, settings)
      const operator = processes.anOperator(again.url, operatorToken)
      yield* operator.advance(89)
      yield* operator.advance(30)
      const { checked, registered, status } = yield* read(again.url)
      assert.deepStrictEqual([status, checked, registered], ["completed", 130, 130])
    }),
  )
})
