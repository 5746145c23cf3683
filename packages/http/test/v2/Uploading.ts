/** Uploads and links, for the suites of the media directory. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Answer, Call } from "../HttpTestClients.ts"
import { publicUrl } from "../Service.ts"
import { get } from "./Asking.ts"
import { aPlan, expectBody } from "../Records.ts"
import type { PageBody } from "../Records.ts"

export const path = "/api/v2/media"

/** A file in an answer. */
export interface FileBody {
  readonly id: number
  readonly file_name: string
  readonly type: string
  readonly mime_type: string
  readonly size: number
  readonly url: string
  readonly created_at: string
}

export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

export interface FormPart {
  readonly name: string
  /** Null for a plain field. */
  readonly fileName: string | null
  readonly bytes: Uint8Array | string
  readonly contentType?: string
}

export const aPart = (overrides: Partial<FormPart> = {}): FormPart => ({
  name: "file",
  fileName: "photo.png",
  bytes: png,
  contentType: "application/octet-stream",
  ...overrides,
})

export const boundary = "a-boundary-of-the-form"

export const multipart = ["content-type", `multipart/form-data; boundary=${boundary}`] as const

/** A form as clients write it. */
export const form = (parts: ReadonlyArray<FormPart>): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ bytes, contentType, fileName, name }) => [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"`),
      Buffer.from(fileName === null ? "" : `; filename="${fileName}"`),
      Buffer.from(contentType === undefined ? "" : `\r\nContent-Type: ${contentType}`),
      Buffer.from("\r\n\r\n"),
      typeof bytes === "string" ? Buffer.from(bytes) : bytes,
      Buffer.from("\r\n"),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ])

export const post = (token: string, parts: ReadonlyArray<FormPart>, call: Partial<Call> = {}) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({
      method: "POST",
      path,
      token,
      body: form(parts),
      ...call,
      headers: [multipart, ...(call.headers ?? [])],
    }),
  )

export const upload = (token: string, overrides: Partial<FormPart> = {}) =>
  Effect.map(post(token, [aPart(overrides)]), (answer) => expectBody<FileBody>(answer, 201))

export const remove = (token: string, id: number) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "DELETE", path: `${path}/${id}`, token }),
  )

export interface Fetched {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

/** Follows a link on the socket that the test opened. */
export const follow = (url: string, init: RequestInit = {}) =>
  Effect.flatMap(HttpTestClients, ({ port }) =>
    Effect.promise(async (signal): Promise<Fetched> => {
      assert.isTrue(url.startsWith(`${publicUrl}/media/`), url)
      const answer = await fetch(`http://127.0.0.1:${port}${url.slice(publicUrl.length)}`, {
        ...init,
        // Otherwise the server would wait for the next request before it stops.
        headers: { ...(init.headers as Record<string, string>), connection: "close" },
        signal,
      })
      const { headers, status } = answer
      return { status, headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    }),
  )

/** The status of a GET of an uploaded file's link, for tests that read it twice. */
export const getId = (answer: Answer): number => expectBody<FileBody>(answer, 201).id

export const plan = (media_storage_bytes: number) => ({
  plan: aPlan({ media_storage_bytes }),
})

export const list = (token: string, query = "") =>
  Effect.map(get(token, `${path}${query}`), (answer) => expectBody<PageBody<FileBody>>(answer, 200))

export const toIds = (page: PageBody<FileBody>) => page.data.map(({ id }) => id)

export const keyed = (key: string) => ({ headers: [["idempotency-key", key] as const] })

export const refusal = (answer: Parameters<typeof errorBody>[0]) => {
  const { code, field } = errorBody(answer)
  return [answer.status, code, field] as const
}
