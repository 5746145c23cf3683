/** Headers of every kind: credentials, content type, the client's own ids, roles, ranges. */
import type { Chance } from "../Chance.ts"
import type { KeyName, Inventory } from "../world/Inventory.ts"
import type { Credentials, Shot } from "./Shot.ts"

export type Headers = ReadonlyArray<readonly [name: string, value: string]>

const strangeAuthorizations = [
  "",
  "Bearer",
  "Bearer ",
  "bearer x",
  "Basic dXNlcjpwYXNz",
  "Bearer svc_live_",
  `Bearer svc_live_${"A".repeat(38)}`,
  `Bearer svc_test_${"z".repeat(37)}`,
  `Bearer svc_live_${"A".repeat(37)}\u00e9`,
  `Bearer ${"0123456789abcdef".repeat(3).slice(0, 40)}`,
  `Bearer ${"x".repeat(6000)}`,
  "Bearer a b",
  "Bearer a,Bearer b",
  "Bearer \t ",
  "Digest x",
  "svc_live_x",
]

/** A key in an unusual form; `key` is a valid one. */
const strangeAuthorization = (chance: Chance, key: string): string => {
  const own = chance.pick([
    `bearer ${key}`,
    `Bearer  ${key}`,
    `Bearer ${key} `,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer "${key}"`,
    `Token ${key}`,
    `Bearer ${key},`,
  ])
  const foreign = chance.pick(strangeAuthorizations)
  return chance.is(0.4) ? own : foreign
}

export const isKeyName = (credentials: Credentials): credentials is KeyName =>
  credentials !== "operator" && credentials !== "none" && credentials !== "strange"

/** The header with these credentials. */
export const authorization = (
  credentials: Credentials,
  chance: Chance,
  { keys, operatorToken }: Inventory,
): Headers => {
  const strange = strangeAuthorization(chance, chance.pick([keys.live, keys.v1, operatorToken]))
  if (credentials === "none") return []
  if (credentials === "strange") return [["Authorization", strange]]
  return [
    ["Authorization", `Bearer ${credentials === "operator" ? operatorToken : keys[credentials]}`],
  ]
}

/** Headers with the values to try. */
const strangeHeaders: ReadonlyArray<readonly [name: string, values: ReadonlyArray<string>]> = [
  [
    "Content-Type",
    [
      "",
      "application/json; charset=utf-16",
      "application/json; charset=UTF-8",
      'application/json; charset="utf-8"',
      "application/json;charset=",
      "APPLICATION/JSON",
      "application/json, text/plain",
      "application/problem+json",
      "text/plain",
      "text/json",
      "application/x-www-form-urlencoded",
      "application/x-www-form-urlencoded; charset=latin1",
      "multipart/form-data; boundary=x",
      "multipart/form-data",
      `application/json; x=${"y".repeat(3000)}`,
      ";",
      "/",
    ],
  ],
  ["Content-Encoding", ["gzip", "br", "identity", "IDENTITY ", "gzip, identity", "x"]],
  [
    "Idempotency-Key",
    [
      "",
      " ",
      "a",
      "a".repeat(255),
      "a".repeat(256),
      "\u00e9",
      "a\tb",
      '"a"',
      "__proto__",
      "k1",
      "k2",
    ],
  ],
  [
    "X-Request-Id",
    ["", "a", "a".repeat(100), "a".repeat(101), "\u00e9", "a\tb", "req_1", "<b>", "%0d%0aX: y"],
  ],
  [
    "Acting-Role",
    ["owner", "administrator", "member", "Owner", "", "root", "__proto__", "owner, member"],
  ],
  [
    "Range",
    [
      "bytes=0-0",
      "bytes=-1",
      "bytes=5-",
      "bytes=0-0,2-3",
      "bytes=9-1",
      "bytes=99999999999999999999-",
      "lines=1-2",
      "bytes=",
      "bytes=-0",
    ],
  ],
  ["If-Range", ['"x"', "W/x", "Sun, 06 Nov 1994 08:49:37 GMT"]],
  ["If-None-Match", ["*", '"x"']],
  ["Accept", ["text/html", "application/xml", "", "*/*;q=0"]],
  ["Accept-Encoding", ["gzip", "br", "*;q=0", "identity;q=0"]],
  ["X-Forwarded-For", ["1.2.3.4", "::1", "x", "127.0.0.1, 10.0.0.1"]],
  ["Forwarded", ["for=1.2.3.4"]],
  ["X-HTTP-Method-Override", ["DELETE"]],
  ["Origin", ["null", "https://elsewhere.invalid"]],
  ["Cookie", ["a=b", "x".repeat(4000)]],
  ["Connection", ["close", "keep-alive", "upgrade", "x-request-id"]],
  ["Upgrade", ["websocket", "h2c"]],
  ["Expect", ["100-continue", "200-ok", ""]],
  ["Content-Length", ["0"]],
  ["Transfer-Encoding", ["identity"]],
  ["Host", ["", "elsewhere.invalid", "a b", "127.0.0.1:99999"]],
  ["Authorization", ["Bearer second"]],
  ["X-Many", ["x".repeat(9000)]],
]

/** These may make the request one that HTTP itself refuses. */
const ofHttp = new Set([
  "Content-Length",
  "Transfer-Encoding",
  "Expect",
  "Host",
  "Connection",
  "Upgrade",
  "X-Many",
])

/** The request with one more header, which replaces or follows another one of the same name. */
export const mutateHeaders = (shot: Shot, chance: Chance): Shot => {
  const [name, values] = chance.pick(strangeHeaders)
  const value = chance.pick(values)
  const isBeside = chance.is(0.25)
  const lower = name.toLowerCase()
  const others = shot.headers.filter(([other]) => isBeside || other.toLowerCase() !== lower)
  return {
    ...shot,
    about: `${shot.about}, ${name}: ${value.slice(0, 30)}`,
    headers: [...others, [name, value]],
    credentials: name === "Authorization" ? "strange" : shot.credentials,
    expectation: ofHttp.has(name) ? "anything" : shot.expectation,
  }
}
