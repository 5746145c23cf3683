/** One request on the socket, and what the generator knows about it. */
import type { Operation } from "@messaging-service/testkit/openapi"
import type { KeyName } from "../world/Inventory.ts"

/** How the request authenticates. */
export type Credentials =
  /** One of the cell's keys, unchanged, in its proper place. */
  | KeyName
  | "operator"
  /** No credentials. */
  | "none"
  /** Anything that may be taken for another key, or for none. */
  | "strange"

/** The possible answers. */
export type Expectation =
  /** Valid HTTP/1.1: the service itself must answer. */
  | "answer"
  /** Broken HTTP: the service's answer, the HTTP parser's, or a closed connection. */
  | "anything"
  /** The client hangs up and reads nothing. */
  | "hang up"

export interface Shot {
  /** Its changes, in a few words, for the report. */
  readonly about: string
  /** The operation that it was generated for. */
  readonly aim: Operation
  readonly method: string
  /** Path and query, as in the request line. */
  readonly target: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer | null
  /** Framing of the body's end. */
  readonly framing: "length" | "chunked"
  readonly credentials: Credentials
  readonly expectation: Expectation
  /** Replaces all of the above, for requests that are not HTTP. */
  readonly raw?: Buffer
  /** Sent once more at once: an idempotent request must get the same answer. */
  readonly repeated: boolean
}

/** The bytes of a request with its body. */
export const getBytes = (shot: Shot, host: string): Buffer => {
  if (shot.raw !== undefined) return shot.raw
  const { body, framing, method, target } = shot
  const names = new Set(shot.headers.map(([name]) => name.toLowerCase()))
  const lines = [`${method} ${target} HTTP/1.1`]
  if (!names.has("host")) lines.push(`Host: ${host}`)
  for (const [name, value] of shot.headers) lines.push(`${name}: ${value}`)
  const isFramed = names.has("content-length") || names.has("transfer-encoding")
  if (body !== null && !isFramed) {
    lines.push(
      framing === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`,
    )
  }
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")
  if (body === null) return head
  return Buffer.concat([head, ...(framing === "chunked" && !isFramed ? chunks(body) : [body])])
}

const chunkBytes = 1000

const chunks = (body: Buffer): ReadonlyArray<Buffer> => {
  const parts: Array<Buffer> = []
  for (let at = 0; at < body.length; at += chunkBytes) {
    const part = body.subarray(at, at + chunkBytes)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"))
  }
  return [...parts, Buffer.from("0\r\n\r\n")]
}
