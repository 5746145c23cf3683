/**
 * Texts that break programs. None of them names a host: the service resolves and calls what looks like a
 * link, and the fuzzer must cause no traffic beyond the loopback interface. Links come from `links` alone.
 */
import type { Chance } from "../Chance.ts"

const shortTexts = [
  "",
  " ",
  "\t\n\u2003",
  "\u200b",
  "0",
  "-1",
  "null",
  "true",
  "undefined",
  "NaN",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  "%00",
  "%2e%2e%2f",
  "${7*7}",
  "{{7*7}}",
  "'; drop table messages; --",
  '"><script>alert(1)</script>',
  "a\u0000b",
  "\ufeffbom",
  "\ud83d\ude00",
  "e\u0301",
  "\u202eabc",
  "\u{10ffff}",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "İıſK",
  "ﬀ",
  "١٢٣",
  "+1555",
  "+0555123456789",
  "+999999999999999",
  "@a",
  "@valid_name",
  "tg:0",
  "tg:9007199254740993",
  "t.me/joinchat/x",
  "9007199254740993",
  "1e3",
  "0x10",
  "1.0",
  "00012",
  "2030-02-30T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "+275760-09-13T00:00:00Z",
  "2030-01-31T09:00:00+0200",
  "2030-01-31T24:00:00Z",
  "0000-01-01T00:00:00Z",
  "2030-01-31T09:00:00.123456789123456789Z",
  "0 0 30 2 *",
  "*/0 * * * *",
  "*/15 1-5 * jan mon",
  "* * * * * *",
  "@daily",
  "Europe/Berlin",
  "europe/berlin",
  "GMT+25",
  "Etc/GMT+12",
  "svc_live_",
  "data:text/plain,x",
  "file:///etc/passwd",
  "javascript:alert(1)",
] as const

/** Some length beyond a limit (contract: Limits): names, links, keys, texts. */
const lengths = [49, 50, 51, 100, 101, 255, 256, 500, 501, 2999, 3000, 3001, 20_000, 200_000]

/** A text that may be refused. */
export const strangeText = (chance: Chance): string => {
  const isLong = chance.is(0.15)
  const letter = chance.pick(["x", "é", "😀", " ", "\u0001", "%", '"'])
  const length = chance.pick(lengths)
  const short = chance.pick(shortTexts)
  return isLong ? letter.repeat(length) : short
}

/** Links of the fuzzer's own listener, in several spellings, and some that are refused without a call. */
export const links = (chance: Chance, receiver: string): string => {
  const { port } = new URL(receiver)
  return chance.weighted([
    [6, `${receiver}/a.png`],
    [4, `${receiver}/a.txt`],
    [3, `${receiver}/hook`],
    [1, `${receiver}/missing`],
    [1, `${receiver}/empty`],
    [1, `${receiver}/broken`],
    [1, `${receiver}/around`],
    [1, `http://127.1:${port}/a.png`],
    [1, `http://0x7f000001:${port}/a.png`],
    [1, `http://[::1]:${port}/a.png`],
    [1, `http://user:word@127.0.0.1:${port}/a.png`],
    [1, `https://127.0.0.1:${port}/a.png`],
    [1, `http://127.0.0.1:1/`],
    [1, `ftp://127.0.0.1:${port}/a.png`],
    [1, `http://127.0.0.1:99999/`],
    [1, "http://"],
    [1, "//"],
    [1, `${receiver}/${"x".repeat(500)}`],
    [1, `${receiver}/a b?c=%zz#\u{1f600}`],
  ])
}

/** Names of fields that hold links; only `links` and texts without a host go into them. */
export const isLinkField = (name: string): boolean => /url|webhook|link|proxy/i.test(name)

/** The start of the first link: truncated after it, it could lead to a stranger. */
export const endOfSafety = (text: string): number => {
  const at = text.search(linkForm)
  return at === -1 ? text.length : at
}

const linkForm = /:\/\/|%3a%2f%2f/i

/** Whether a body holds a link: its bytes must not be changed at random. */
export const holdsLink = (body: Buffer): boolean => linkForm.test(body.toString("latin1"))
