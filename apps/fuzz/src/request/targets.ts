/** The request line's target: paths and queries, encoded and repeated in every way. */
import type { Chance } from "../Chance.ts"
import type { Shot } from "./Shot.ts"
import { strangeText } from "./texts.ts"

export const withQuery = (
  path: string,
  query: ReadonlyArray<readonly [string, unknown]>,
): string => {
  if (query.length === 0) return path
  const written = query.map(
    ([name, value]) =>
      `${encodeURIComponent(name)}=${encodeURIComponent(String(value).toWellFormed())}`,
  )
  return `${path}?${written.join("&")}`
}

const strangeSegments = [
  "0",
  "-1",
  "1.0",
  "1e3",
  "01",
  "+1",
  "9007199254740991",
  "9007199254740992",
  "99999999999999999999",
  "abc",
  "%31",
  "%00",
  "%ff",
  "%",
  "%zz",
  "..",
  ".",
  "%2e%2e",
  "%2f",
  "a%2fb",
  "__proto__",
  "constructor",
  "batch",
  "1;a=b",
  "1,2",
  "*",
  "null",
  "{id}",
  "~",
  "a".repeat(3000),
]

const strangePaths = [
  "/",
  "//",
  "/api",
  "/api/",
  "/api/v2",
  "/api/v2/",
  "/api/v3/messages",
  "/API/V2/me",
  "/api//v2/me",
  "//api/v2/me",
  "/./api/v2/me",
  "/api/v2/../v1/me",
  "/api/v2/me//",
  "/api/v2/me/.",
  "/api/v2/%6de",
  "/api/v2/me%2f",
  "/api/v2/me;x=y",
  "/api/v2\\me",
  "/api/v1",
  "/api/v1/send_msg//",
  "/admin",
  "/admin/v1",
  "/admin/v1/",
  "/admin/v1/workspaces/1/keys/",
  "/media",
  "/media/",
  "/media/x",
  "/media/x/",
  "/media/x/y/z",
  "/media/../api/v2/me",
  "/qr/",
  "/qr/x.png",
  "/qr/%2e%2e.png",
  "/docs/",
  "/docs/errors/x",
  "/health",
  "/metrics/x",
  "/favicon.ico",
  "/robots.txt",
  "/.env",
  "/__proto__",
  "/constructor/prototype",
  "/%c0%ae%c0%ae/",
]

/** The path with one thing changed. */
export const mutatePath = (shot: Shot, chance: Chance): Shot => {
  const mark = shot.target.indexOf("?")
  const path = mark === -1 ? shot.target : shot.target.slice(0, mark)
  const query = mark === -1 ? "" : shot.target.slice(mark)
  const segments = path.split("/")
  const at = 1 + chance.below(segments.length - 1)
  const segment = chance.pick(strangeSegments)
  const other = chance.pick(strangePaths)
  const what = chance.pick([
    "segment",
    "segment",
    "other",
    "other",
    "slash",
    "more",
    "fewer",
    "case",
  ] as const)
  const created = {
    segment: segments.with(at, segment).join("/"),
    other,
    slash: `${path}/`,
    more: `${path}/${segment}`,
    fewer: segments.toSpliced(at, 1).join("/") || "/",
    case: path.toUpperCase(),
  }[what]
  return { ...shot, about: `${shot.about}, path: ${what}`, target: `${created}${query}` }
}

const strangeQueries = [
  "?",
  "?&&&",
  "?=",
  "?limit",
  "?limit=",
  "?limit=0",
  "?limit=101",
  "?limit=-1",
  "?limit=1.5",
  "?limit=1e1",
  "?limit=%31",
  "?limit=99999999999999999999",
  "?limit=1&limit=2",
  "?cursor=",
  "?cursor=abc",
  "?cursor=%00",
  "?cursor=eyJhIjoxfQ",
  "?colour=red",
  "?__proto__=1",
  "?constructor=1",
  "?status=queued",
  "?status=queued,sent",
  "?status=queued,,sent",
  "?status=,",
  "?status=QUEUED",
  "?from=0",
  "?from=x",
  "?to=%2B15550100001",
  "?to=+15550100001",
  "?since=2020-01-31T09:00:00+02:00",
  "?since=2020-01-31T09:00:00%2B02:00",
  "?since=x",
  "?until=9999-12-31T23:59:59Z",
  "?since=2020-01-31T09:00:00Z&until=2010-01-31T09:00:00Z",
  "?active=1",
  "?active=true",
  "?type=video",
  "?page=0",
  "?%",
  "?x=%ff",
  "?x=%zz",
  "?a=1;b=2",
  "?limit[]=1",
  "?limit[$gt]=1",
  `?x=${"y".repeat(6000)}`,
  `?${"limit=1&".repeat(500)}`,
  "??limit=1",
  "?limit=1#x",
]

/** The query with an extra part, which replaces an existing one or follows it. */
export const mutateQuery = (shot: Shot, chance: Chance): Shot => {
  const [path = "", query = ""] = shot.target.split("?", 2)
  const strange = chance.pick(strangeQueries)
  const isBeside = chance.is(0.4) && query !== ""
  return {
    ...shot,
    about: `${shot.about}, query: ${strange.slice(0, 20)}`,
    target: isBeside ? `${path}?${query}&${strange.slice(1)}` : `${path}${strange}`,
  }
}

const methods = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "QUERY",
  "M-SEARCH",
  "LOCK",
]

export const mutateMethod = (shot: Shot, chance: Chance): Shot => {
  const method = chance.pick(methods)
  return { ...shot, about: `${shot.about}, method`, method }
}

/** A value of a query, short enough for a request line even when it is percent-encoded. */
export const strangeValue = (chance: Chance): string => strangeText(chance).slice(0, 1000)
