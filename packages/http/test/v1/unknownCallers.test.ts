/**
 * How much of a body version 1 reads before it knows the caller (sharedResources:
 * unknownCallersBytes): credentials in front of a file are checked before it is read.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request as nodeRequest } from "node:http"
import { Disk } from "../Disk.ts"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Answer } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aPart, form, multipart, path as mediaPath } from "../v2/Uploading.ts"
import type { FormPart } from "../v2/Uploading.ts"
import { aSender } from "../Records.ts"
import { aClient, aText, answered, at, call, assertRefusedV1, withFile } from "./Asking.ts"
import type { Fields } from "./Asking.ts"

const mebibyte = 1024 * 1024

const toFields = (fields: Fields): ReadonlyArray<FormPart> =>
  Object.entries(fields).map(([name, value]) => ({ name, fileName: null, bytes: String(value) }))

const makeForm = (...parts: ReadonlyArray<FormPart>) => ({
  headers: [multipart],
  body: form(parts),
})

/** Lets everything else of the process run, sockets and files too. */
const aTick = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const eventually = (what: string, condition: Effect.Effect<boolean, never, Disk>) =>
  Effect.gen(function* () {
    for (let iterations = 0; iterations < 50_000; iterations++) {
      if (yield* condition) return
      yield* aTick
    }
    assert.fail(`never: ${what}`)
  })

/** A request with an open body: the answer so far, and a way to break it off. */
const unfinished = (path: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const { port } = yield* HttpTestClients
    const seen: { answer: Answer | undefined } = { answer: undefined }
    const outgoing = nodeRequest({
      host: "127.0.0.1",
      port,
      method: "POST",
      path,
      agent: false,
      headers: { [multipart[0]]: multipart[1], ...headers },
    })
    outgoing.on("error", () => undefined)
    outgoing.on("response", (incoming) => {
      const chunks: Array<Uint8Array> = []
      incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk))
      incoming.on("error", () => undefined)
      incoming.on("end", () => {
        const text = Buffer.concat(chunks).toString()
        const answerHeaders = incoming.headers as Record<string, string>
        seen.answer = {
          status: incoming.statusCode ?? 0,
          headers: answerHeaders,
          text,
          body: JSON.parse(text),
        }
      })
    })
    outgoing.write(body)
    return { seen, breakOff: Effect.sync(() => outgoing.destroy()) }
  })

/**
 * Calls that share the budget are awaited to their last bytes: one that still reads could be
 * refused instead of the next one.
 */
const spooled = (bytes: number) =>
  Effect.flatMap(Disk, ({ spooledBytes }) => Effect.map(spooledBytes, (found) => found >= bytes))

const nothingSpooled = Effect.flatMap(Disk, ({ files }) =>
  Effect.map(files, ({ temporary }) => temporary.length === 0),
)

/** The answer to a call once there is room. A call's bytes are released a moment after its file is gone. */
const onceThereIsRoom = <E, R>(request: Effect.Effect<Answer, E, R>) =>
  Effect.gen(function* () {
    for (let iterations = 0; iterations < 1000; iterations++) {
      const answer = yield* request
      if (answer.status !== 503) return answer
      yield* aTick
    }
    return assert.fail("never: room")
  })

/** The beginning of a form, without its end. */
const started = (...parts: ReadonlyArray<FormPart>) => {
  const whole = form(parts)
  return whole.subarray(0, whole.length - 100)
}

const big = aPart({ bytes: Buffer.alloc(mebibyte) })

layer(layerService())("the caller of a version 1 form", (it) => {
  const wrongCallers: ReadonlyArray<readonly [what: string, Fields, Record<string, string>]> = [
    ["in the fields", { client_id: 1, api_key: "0".repeat(40) }, {}],
    ["in the header", { client_id: 1 }, { authorization: `Bearer ${"0".repeat(40)}` }],
  ]
  for (const [where, fields, headers] of wrongCallers) {
    it.effect(`with a wrong key ${where} is refused before the file is read`, () =>
      Effect.gen(function* () {
        const { files } = yield* Disk
        const before = yield* files
        const body = started(...toFields(fields), big)
        const { breakOff, seen } = yield* unfinished(at("media/upload/"), body, headers)
        yield* eventually(
          "an answer",
          Effect.sync(() => seen.answer !== undefined),
        )
        assertRefusedV1(seen.answer ?? assert.fail(), 400, "Auth Error: invalid api key")
        assert.deepStrictEqual(yield* files, before)
        yield* breakOff
      }),
    )
  }

  it.effect("a wrong field before the file is reported before a wrong key", () =>
    Effect.gen(function* () {
      const wrong = { client_id: 1, api_key: "0".repeat(40), msg: "a\0b" }
      assertRefusedV1(
        yield* call("me/", makeForm(...toFields(wrong), big)),
        400,
        "Invalid JSON format",
      )
    }),
  )

  it.effect("is counted once, however many files follow", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const overrides = withFile({ ...credentials }, [{ name: "one" }, { name: "two" }])
      for (let requests = 0; requests < 60; requests++) answered(yield* call("me/", overrides))
      assertRefusedV1(yield* call("me/", overrides), 429, "Too many requests")
    }),
  )

  it.effect("is the one named last, even after the file", () =>
    Effect.gen(function* () {
      const first = yield* aClient({ workspace: { name: "First" } })
      const last = yield* aClient({ workspace: { name: "Last" } })
      const answer = yield* call(
        "me/",
        makeForm(...toFields(first.credentials), big, ...toFields(last.credentials)),
      )
      assert.strictEqual(answered<{ readonly name: string }>(answer).name, "Last")
    }),
  )

  it.effect("named after a file of 64 MiB is admitted, when nothing else is read", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const file = aPart({ bytes: Buffer.alloc(64 * mebibyte) })
      const answer = yield* call("media/upload/", makeForm(file, ...toFields(credentials)))
      assert.strictEqual(answer.status, 200, answer.text)
    }),
  )

  it.effect("unknown callers share 64 MiB, above which one is refused with Retry-After", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const { stored } = yield* files
      const { credentials } = yield* aClient()
      const path = at("media/upload/")
      const holder = yield* unfinished(path, started(aPart({ bytes: Buffer.alloc(40 * mebibyte) })))
      yield* eventually("40 MiB without a caller", spooled(40 * mebibyte - 1000))

      const late = makeForm(aPart({ bytes: Buffer.alloc(30 * mebibyte) }), ...toFields(credentials))
      const refused = yield* call("media/upload/", late)
      assertRefusedV1(refused, 503, "Service unavailable")
      assert.match(refused.headers["retry-after"] ?? "", /^\d+$/)
      assert.deepStrictEqual((yield* files).stored, stored)

      // A call is not counted if its credentials come before its file.
      const early = makeForm(
        ...toFields(credentials),
        aPart({ bytes: Buffer.alloc(30 * mebibyte) }),
      )
      answered(yield* call("media/upload/", early))
      answered(yield* call("send_msg/", { json: { ...credentials, ...aText } }))

      yield* holder.breakOff
      yield* eventually("the held bytes are released", nothingSpooled)
      answered(yield* onceThereIsRoom(call("media/upload/", late)))
    }),
  )

  it.effect("JSON and forms of unknown callers are counted with the files", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const path = at("media/upload/")
      const max = 64 * mebibyte - 1000
      const holder = yield* unfinished(path, started(aPart({ bytes: Buffer.alloc(max) })))
      yield* eventually("almost 64 MiB without a caller", spooled(max - 1000))
      const large = { ...credentials, unknown: "x".repeat(mebibyte - 1000) }
      const asForm = new URLSearchParams(
        Object.entries(large).map(([name, value]): [string, string] => [name, String(value)]),
      ).toString()
      assertRefusedV1(yield* call("me/", { json: large }), 503, "Service unavailable")
      assertRefusedV1(
        yield* call("me/", {
          headers: [["content-type", "application/x-www-form-urlencoded"]],
          body: asForm,
        }),
        503,
        "Service unavailable",
      )
      answered(yield* call("me/", { json: credentials }))
      yield* holder.breakOff
      yield* eventually("the held bytes are released", nothingSpooled)
      answered(yield* onceThereIsRoom(call("me/", { json: large })))
    }),
  )

  const paths = ["media/upload/", "send_msg/", "send_msg/group/", "send_msg/multi/", "schedule_msg/", "reminder/create/"] // prettier-ignore
  it.effect("a call that breaks off inside its file leaves none, on every path", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const before = yield* files
      const { credentials } = yield* aClient()
      const { token } = yield* aSender()
      const calls = [
        ...paths.map((path) => [at(path), {}] as const),
        [mediaPath, { authorization: `Bearer ${token}` }] as const,
      ]
      for (const [path, headers] of calls) {
        const fields = path === mediaPath ? {} : { ...credentials, ...aText }
        const broken = yield* unfinished(path, started(...toFields(fields), big), headers)
        // Paths without a file have nothing to wait for.
        if (path !== at("reminder/create/")) {
          yield* eventually(`a file of ${path}`, spooled(mebibyte / 2))
        }
        yield* broken.breakOff
        yield* eventually(`no file of ${path}`, nothingSpooled)
      }
      assert.deepStrictEqual(yield* files, before)
    }),
  )
})
