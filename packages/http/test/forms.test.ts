/**
 * Multipart forms that no browser writes (contract: Media, Version 1: requests). Every fault in one
 * is the caller's, is reported in each version's own format, and leaves no file.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Disk } from "./Disk.ts"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Answer, Call } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { aClient } from "./v1/Asking.ts"
import type { Client } from "./v1/Asking.ts"
import { path as mediaPath } from "./v2/Uploading.ts"
import { aSender } from "./Records.ts"

const boundary = "bound"

interface Written {
  readonly contentType?: string
  /** Between the credentials, which version 1 needs, and the end. */
  readonly parts: string
  /** What follows the parts. */
  readonly end?: string
}

const typeWith = (parameter: string) => `multipart/form-data; boundary=${parameter}`

const part = (headers: string, content = "content") =>
  `--${boundary}\r\n${headers}\r\n\r\n${content}\r\n`

const disposition = (parameters: string) => `Content-Disposition: form-data${parameters}`

const aFile = part(disposition('; name="file"; filename="a.txt"'))

/** No form at all: nothing in it can be trusted. */
const malformed: Readonly<Record<string, Written>> = {
  "an empty boundary": { contentType: typeWith('""'), parts: aFile },
  "a boundary without a value": { contentType: typeWith(""), parts: aFile },
  "no boundary": { contentType: "multipart/form-data", parts: aFile },
  "a boundary with an end of line": { contentType: typeWith('"a\u00e9"'), parts: aFile },
  "an empty part name": { parts: part(disposition('; name=""; filename="a.txt"')) },
  "an empty part name without a file": { parts: part(disposition('; name=""')) },
  "a part without a name": { parts: part(disposition('; filename="a.txt"')) },
  "a part without a name that is an attachment": {
    parts: part('Content-Disposition: attachment; filename="a.txt"'),
  },
  "a part without a disposition": { parts: part("Content-Type: text/plain") },
  "a part without headers": { parts: `--${boundary}\r\n\r\ncontent\r\n` },
  "no final boundary": { parts: aFile, end: "" },
  "half a final boundary": { parts: aFile, end: `--${boundary}-` },
  "an end within headers": { parts: aFile, end: `--${boundary}\r\nContent-Dispo` },
  "a header without a colon": { parts: part(`${disposition('; name="file"')}\r\nnothing`) },
  "a header of 100 KB": { parts: part(`${disposition('; name="file"')}\r\nX: ${"x".repeat(100_000)}`) }, // prettier-ignore
  "headers without end": { parts: `--${boundary}\r\n${"X: y\r\n".repeat(20_000)}` },
  "a doubled disposition": {
    parts: part(`${disposition('; name="file"; filename="a"')}\r\n${disposition('; name="b"')}`),
  },
  "a doubled name": { parts: part(disposition('; name="file"; name="other"; filename="a"')) },
  "a NUL in a header": { parts: part(disposition('; name="fi\0le"; filename="a.txt"')) },
  "a broken filename*": { parts: part(disposition(`; name="file"; filename*=UTF-8''%zz`)) },
  "a filename* of an unknown charset": {
    parts: part(disposition(`; name="file"; filename*=utf-99''a.txt`)),
  },
  "a boundary right behind headers": {
    parts: part(disposition('; name="file"; filename="a"'), `--${boundary}\r\nX: y\r\n\r\n`),
  },
  "headers that a boundary cuts off": {
    parts: `--${boundary}\r\n${disposition('; name="file"; filename="a"')}\r\n${aFile}`,
  },
  "headers that a boundary cuts off behind a file": {
    parts: `${aFile}--${boundary}\r\n${disposition('; name="a"')}\r\n`,
  },
  "nothing but the end": { parts: "", end: `\r\n--${boundary}` },
}

/** Odd, but a form with a file in it. */
const readable: Readonly<Record<string, Written>> = {
  "a boundary of 70 characters in quotation marks": {
    contentType: typeWith(`"${"b".repeat(70)}"`),
    parts: aFile.replaceAll(boundary, "b".repeat(70)),
    end: `--${"b".repeat(70)}--\r\n`,
  },
  "a boundary of 1 KB": {
    contentType: typeWith("b".repeat(1024)),
    parts: aFile.replaceAll(boundary, "b".repeat(1024)),
    end: `--${"b".repeat(1024)}--\r\n`,
  },
  "an epilogue": {
    parts: aFile,
    end: `--${boundary}--\r\nafter\r\n--${boundary}\r\nmore`,
  },
  "a filename* in UTF-8": {
    parts: part(disposition(`; name="file"; filename*=UTF-8''%e2%82%ac.txt`)),
  },
  "NULs in the file": { parts: part(disposition('; name="file"; filename="a"'), "\0\0\0") },
  "what looks like a boundary in the file": {
    parts: part(disposition('; name="file"; filename="a"'), `--boun\r\n--boun\r\n-`),
  },
  "a file of type application/json": {
    parts: part(`${disposition('; name="file"; filename="a.json"')}\r\nContent-Type: application/json`, "{}"), // prettier-ignore
  },
  "a file of type text/plain": {
    parts: part(`${disposition('; name="file"; filename="a"')}\r\nContent-Type: text/plain`),
  },
  "a file of JSON without a name of its own": {
    parts: part(`${disposition('; name="file"')}\r\nContent-Type: application/json`, "{}"),
  },
  "a file of text without a name of its own": {
    parts: part(`${disposition('; name="file"')}\r\nContent-Type: text/plain`),
  },
}

const formBody = ({ contentType, end, parts }: Written, first = ""): Partial<Call> => ({
  headers: [["content-type", contentType ?? typeWith(boundary)]],
  body: Buffer.from(`${first}${parts}${end ?? `--${boundary}--\r\n`}`, "latin1"),
})

/** Version 1 finds its credentials in the form, before the rest. */
const getCredentials = ({ credentials }: Client, written: Written) => {
  const text = /boundary="?([^"]*)/.exec(written.contentType ?? "")?.[1] ?? boundary
  return Object.entries(credentials)
    .map(([name, value]) => part(disposition(`; name="${name}"`), String(value)))
    .join("")
    .replaceAll(`--${boundary}`, `--${text}`)
}

const pathsV1 = ["media/upload", "send_msg", "send_msg/multi", "schedule_msg", "me"]

const refusedV1 = (answer: Answer) =>
  assert.deepStrictEqual(
    [answer.status, answer.body],
    [400, { status: 0, message: "Invalid JSON format" }],
  )

layer(layerService())("a multipart form", (it) => {
  for (const [what, written] of Object.entries(malformed)) {
    it.effect(`with ${what} is the caller's fault in both versions, and leaves no file`, () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        const { files } = yield* Disk
        const before = yield* files
        const { token } = yield* aSender()
        const client = yield* aClient()
        for (const httpClient of [socket, web]) {
          const answer = yield* httpClient.call({
            method: "POST",
            path: mediaPath,
            token,
            ...formBody(written),
          })
          const { code, field } = errorBody(answer)
          assert.deepStrictEqual([answer.status, code, field], [400, "validation_failed", "file"])
          for (const path of pathsV1) {
            refusedV1(
              yield* httpClient.call({
                method: "POST",
                path: `/api/v1/${path}/`,
                ...formBody(written, getCredentials(client, written)),
              }),
            )
          }
        }
        assert.deepStrictEqual(yield* files, before)
      }),
    )
  }

  for (const [what, written] of Object.entries(readable)) {
    it.effect(`with ${what} is read in both versions`, () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        const { files } = yield* Disk
        const { token } = yield* aSender()
        const client = yield* aClient()
        for (const httpClient of [socket, web]) {
          const second = yield* httpClient.call({
            method: "POST",
            path: mediaPath,
            token,
            ...formBody(written),
          })
          assert.strictEqual(second.status, 201, second.text)
          const first = yield* httpClient.call({
            method: "POST",
            path: "/api/v1/media/upload/",
            ...formBody(written, getCredentials(client, written)),
          })
          assert.strictEqual(first.status, 200, first.text)
        }
        assert.deepStrictEqual((yield* files).temporary, [])
      }),
    )
  }

  const whole = `${part(disposition('; name="a"'))}${aFile}--${boundary}--`

  const request = (body: string) =>
    Effect.flatMap(HttpTestClients, ({ web }) =>
      web.call({
        method: "POST",
        path: "/api/v1/me/",
        headers: [["content-type", typeWith(boundary)]],
        body: Buffer.from(body, "latin1"),
      }),
    )

  it.effect("is the caller's fault when cut anywhere, and leaves no file", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const before = yield* files
      for (let at = 0; at < whole.length; at++) refusedV1(yield* request(whole.slice(0, at)))
      assert.deepStrictEqual(yield* files, before)
    }),
  )

  it.effect("with any changed byte is never our fault, and leaves no file", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const before = yield* files
      for (let at = 0; at < whole.length; at++) {
        for (const byte of ["\r", "\n", "-", ":", '"', "\0"]) {
          const answer = yield* request(`${whole.slice(0, at)}${byte}${whole.slice(at + 1)}`)
          // A form that is still readable lacks credentials.
          assert.strictEqual(answer.status, 400, answer.text)
        }
      }
      assert.deepStrictEqual(yield* files, before)
    }),
  )
})
