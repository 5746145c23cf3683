/** Broken HTTP, or none: request lines, header lines, lengths and chunks that lie. */
import type { Chance } from "../Chance.ts"
import { getBytes } from "./Shot.ts"
import type { Shot } from "./Shot.ts"
import { endOfSafety, holdsLink } from "./texts.ts"

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

/** Whether such a request may take effect beyond the answer that the client has seen, if any. */
export const mayBeDoneUnseen = ({ about }: Shot, isAnswered: boolean): boolean =>
  about.endsWith("raw: pipeline") || (!isAnswered && !isBrokenOff.test(about))

const strangeLengths = [
  "-1",
  "+5",
  "0x10",
  "1e3",
  "",
  "5, 5",
  "99999999999999999999999",
  " 5 5",
  "abc",
]

const versions = ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1x"]

const latin = (created: string): Buffer => Buffer.from(created, "latin1")

/** The parts of a broken request: the whole one and its parts, and a random choice. */
interface Parts {
  readonly whole: Buffer
  readonly text: string
  /** The request line. */
  readonly first: string
  /** Everything after the request line. */
  readonly rest: string
  readonly body: Buffer
  readonly host: string
  readonly chance: Chance
  /** From 0 to 1. */
  readonly spice: number
  readonly line: string
  readonly header: string
  readonly strangeLength: string
}

const withLength = ({ text }: Parts, length: string): Buffer =>
  latin(text.replace(/Content-Length: \d+/, `Content-Length: ${length}`))

const withHeader = ({ first, rest }: Parts, lines: string): Buffer =>
  latin(`${first}\r\n${lines}${rest}`)

const chunked = ({ text }: Parts, tail: string): Buffer =>
  latin(
    `${text.slice(0, text.indexOf("\r\n\r\n")).replace(/\r\nContent-Length: \d+/, "")}\r\nTransfer-Encoding: chunked\r\n\r\n${tail}`,
  )

const formatSize = ({ body }: Parts): string => body.length.toString(16)

const getContent = ({ body }: Parts): string => body.toString("latin1")

const ofSpice = <A>(spice: number, all: ReadonlyArray<A>): A | undefined =>
  all[Math.floor(spice * all.length)]

const cutShort = ({ spice, text, whole }: Parts): Buffer =>
  whole.subarray(0, Math.min(Math.floor(whole.length * spice), endOfSafety(text)))

/** The ways to break a request, by the report's name for them. */
const breaks: Readonly<Record<string, (parts: Parts) => Buffer>> = {
  line: ({ line, rest }) => latin(`${line}${rest}`),
  version: ({ spice, text }) => latin(text.replace("HTTP/1.1", ofSpice(spice, versions) ?? "")),
  "no host": ({ text }) => latin(text.replace(/Host: [^\r]*\r\n/, "")),
  "two hosts": (parts) => withHeader(parts, "Host: elsewhere.invalid"),
  header: (parts) => withHeader(parts, parts.header),
  "long header": (parts) =>
    withHeader(parts, `X-Long: ${"x".repeat(parts.spice < 0.5 ? 17_000 : 70_000)}`),
  "many headers": (parts) =>
    withHeader(
      parts,
      Array.from({ length: parts.spice < 0.5 ? 500 : 3000 }, (_, n) => `X-${n}: 1`).join("\r\n"),
    ),
  "length too short": (parts) =>
    holdsLink(parts.body)
      ? parts.whole
      : withLength(parts, String(Math.floor(parts.body.length * parts.spice))),
  "length too long": (parts) =>
    withLength(parts, String(parts.body.length + 1 + Math.floor(parts.spice * 1e6))),
  "length strange": (parts) => withLength(parts, parts.strangeLength),
  "two lengths": (parts) => withHeader(parts, "Content-Length: 3"),
  "length and chunks": (parts) => withHeader(parts, "Transfer-Encoding: chunked"),
  "chunk size": (parts) => {
    const size = formatSize(parts)
    const sizes = ["zz", "-1", "fffffffffffffffff", "", `${size};ext=1`, ` ${size}`]
    return chunked(parts, `${ofSpice(parts.spice, sizes)}\r\n${getContent(parts)}\r\n0\r\n\r\n`)
  },
  "chunk end": (parts) => {
    const end = ofSpice(parts.spice, ["", "\r\n", "\r\n0\r\n", " x0\r\n\r\n"])
    return chunked(parts, `${formatSize(parts)}\r\n${getContent(parts)}${end}`)
  },
  trailer: (parts) =>
    chunked(
      parts,
      `${formatSize(parts)}\r\n${getContent(parts)}\r\n0\r\nContent-Length: 5\r\nAuthorization: Bearer x\r\n\r\n`,
    ),
  "line feeds": ({ text }) => latin(text.replaceAll("\r\n", "\n")),
  pipeline: ({ spice, whole }) =>
    Buffer.concat(Array.from({ length: 1 + Math.floor(spice * 3) }, () => whole)),
  noise: ({ chance }) => Buffer.from(Array.from({ length: 300 }, () => chance.below(256))),
  cut: cutShort,
  "hang up": cutShort,
  "hang up late": ({ whole }) => whole,
  expect: (parts) =>
    withHeader(parts, `Expect: ${parts.spice < 0.5 ? "100-continue" : "something"}`),
  upgrade: (parts) =>
    withHeader(
      parts,
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x",
    ),
  absolute: ({ host, text }) => latin(text.replace(" /", ` http://${host}/`)),
}

const kinds = Object.entries(breaks)

/** The request with its bytes changed. */
export const rawShot = (shot: Shot, chance: Chance, host: string): Shot => {
  const [kind, broken] = chance.pick(kinds)
  const whole = getBytes({ ...shot, framing: "length" }, host)
  const text = whole.toString("latin1")
  const headEnd = text.indexOf("\r\n")
  const raw = broken({
    whole,
    text,
    first: text.slice(0, headEnd),
    rest: text.slice(headEnd),
    body: shot.body ?? Buffer.alloc(0),
    host,
    chance,
    // In this order: random draws depend on it.
    spice: chance.unit(),
    line: chance.pick(requestLines),
    header: chance.pick(headerLines),
    strangeLength: chance.pick(strangeLengths),
  })
  return {
    ...shot,
    about: `${shot.about}, raw: ${kind}`,
    raw,
    expectation: kind.startsWith("hang up") ? "hang up" : "anything",
    repeated: false,
  }
}
