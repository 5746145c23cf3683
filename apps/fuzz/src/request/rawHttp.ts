/**
 * Requests that are broken HTTP, or none: request lines, header lines, lengths and chunks that lie.
 */
import type { Chance } from "../Chance.ts"
import { bytesOf } from "./Shot.ts"
import type { Shot } from "./Shot.ts"
import { endOfSafety, holdsLink } from "./texts.ts"

const kinds = [
  "line",
  "version",
  "no host",
  "two hosts",
  "header",
  "long header",
  "many headers",
  "length too short",
  "length too long",
  "length strange",
  "two lengths",
  "length and chunks",
  "chunk size",
  "chunk end",
  "trailer",
  "line feeds",
  "pipeline",
  "noise",
  "cut",
  "hang up",
  "hang up late",
  "expect",
  "upgrade",
  "absolute",
] as const

const requestLines = [
  "GET",
  "GET /",
  "GET / HTTP/1.1 x",
  "GET  /  HTTP/1.1",
  "get / HTTP/1.1",
  "G\u0000T / HTTP/1.1",
  "GET /\u0000 HTTP/1.1",
  "GET /\u00e9 HTTP/1.1",
  "GET \\ HTTP/1.1",
  "GET * HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "CONNECT 127.0.0.1:1 HTTP/1.1",
  "CONNECT / HTTP/1.1",
  "PRI * HTTP/2.0",
  " GET / HTTP/1.1",
  "\r\nGET / HTTP/1.1",
  `GET /${"a".repeat(20_000)} HTTP/1.1`,
  "GET http://127.0.0.1/api/v2/me HTTP/1.1",
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000",
]

const headerLines = [
  "no colon",
  ": no name",
  "Space : x",
  " folded: x",
  "X: a\r\n folded",
  "X: a\u0000b",
  "X: a\rb",
  "X\u00e9: y",
  "X(y): z",
  "Content-Length: 5\r\nContent-Length: 6",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding : chunked",
]

const isBrokenOff =
  /raw: (?:line|noise|cut|hang up|length too long|length strange|chunk size|chunk end)$/

/** Whether the service waits for more of the request than there will be. */
export const awaitsMore = ({ about }: Shot): boolean => isBrokenOff.test(about)

/** Whether such a request may be carried out beyond the answer that the client has seen, if any. */
export const mayBeDoneUnseen = ({ about }: Shot, isAnswered: boolean): boolean =>
  about.endsWith("raw: pipeline") || (!isAnswered && !isBrokenOff.test(about))

/** The request with its bytes changed. */
export const rawShot = (shot: Shot, chance: Chance, host: string): Shot => {
  const kind = chance.pick(kinds)
  const spice = chance.unit()
  const line = chance.pick(requestLines)
  const header = chance.pick(headerLines)
  const strangeLength = chance.pick([
    "-1",
    "+5",
    "0x10",
    "1e3",
    "",
    "5, 5",
    "99999999999999999999999",
    " 5 5",
    "abc",
  ])
  const whole = bytesOf({ ...shot, framing: "length" }, host)
  const text = whole.toString("latin1")
  const headEnd = text.indexOf("\r\n")
  const body = shot.body ?? Buffer.alloc(0)
  const rest = text.slice(headEnd)
  const latin = (made: string) => Buffer.from(made, "latin1")
  const withLength = (length: string) =>
    latin(text.replace(/Content-Length: \d+/, `Content-Length: ${length}`))
  const withHeader = (lines: string) => latin(`${text.slice(0, headEnd)}\r\n${lines}${rest}`)
  const chunked = (tail: string) =>
    latin(
      `${text.slice(0, text.indexOf("\r\n\r\n")).replace(/\r\nContent-Length: \d+/, "")}\r\nTransfer-Encoding: chunked\r\n\r\n${tail}`,
    )
  const size = body.length.toString(16)
  const content = body.toString("latin1")

  const made = (): Buffer => {
    switch (kind) {
      case "line":
        return latin(`${line}${rest}`)
      case "version":
        return latin(
          text.replace(
            "HTTP/1.1",
            ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1x"][
              Math.floor(spice * 6)
            ] ?? "",
          ),
        )
      case "no host":
        return latin(text.replace(/Host: [^\r]*\r\n/, ""))
      case "two hosts":
        return withHeader("Host: elsewhere.invalid")
      case "header":
        return withHeader(header)
      case "long header":
        return withHeader(`X-Long: ${"x".repeat(spice < 0.5 ? 17_000 : 70_000)}`)
      case "many headers":
        return withHeader(
          Array.from({ length: spice < 0.5 ? 500 : 3000 }, (_, n) => `X-${n}: 1`).join("\r\n"),
        )
      case "length too short":
        return holdsLink(body) ? whole : withLength(String(Math.floor(body.length * spice)))
      case "length too long":
        return withLength(String(body.length + 1 + Math.floor(spice * 1e6)))
      case "length strange":
        return withLength(strangeLength)
      case "two lengths":
        return withHeader("Content-Length: 3")
      case "length and chunks":
        return withHeader("Transfer-Encoding: chunked")
      case "chunk size":
        return chunked(
          `${["zz", "-1", "fffffffffffffffff", "", `${size};ext=1`, ` ${size}`][Math.floor(spice * 6)]}\r\n${content}\r\n0\r\n\r\n`,
        )
      case "chunk end":
        return chunked(
          `${size}\r\n${content}${["", "\r\n", "\r\n0\r\n", " x0\r\n\r\n"][Math.floor(spice * 4)]}`,
        )
      case "trailer":
        return chunked(
          `${size}\r\n${content}\r\n0\r\nContent-Length: 5\r\nAuthorization: Bearer x\r\n\r\n`,
        )
      case "line feeds":
        return latin(text.replaceAll("\r\n", "\n"))
      case "pipeline":
        return Buffer.concat(Array.from({ length: 1 + Math.floor(spice * 3) }, () => whole))
      case "noise":
        return Buffer.from(Array.from({ length: 300 }, () => chance.below(256)))
      case "cut":
      case "hang up":
        return whole.subarray(0, Math.min(Math.floor(whole.length * spice), endOfSafety(text)))
      case "hang up late":
        return whole
      case "expect":
        return withHeader(`Expect: ${spice < 0.5 ? "100-continue" : "something"}`)
      case "upgrade":
        return withHeader(
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x",
        )
      case "absolute":
        return latin(text.replace(" /", ` http://${host}/`))
    }
  }
  return {
    ...shot,
    about: `${shot.about}, raw: ${kind}`,
    raw: made(),
    expectation: kind.startsWith("hang up") ? "hang up" : "anything",
    repeated: false,
  }
}
