import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { isPublicAddress, parseOutboundUrl } from "../../src/model/Egress.ts"
import type { TargetRule } from "../../src/model/Egress.ts"

const webhook: TargetRule = { allowHttp: false, allowPrivate: false }

const media: TargetRule = { allowHttp: true, allowPrivate: false }

const development: TargetRule = { allowHttp: false, allowPrivate: true }

const outcome = (text: string, rule: TargetRule) =>
  Result.match(parseOutboundUrl(text, rule), {
    onFailure: (problem): string => problem,
    onSuccess: (url) => url.href,
  })

const assertRefused = (problem: string, rule: TargetRule, texts: ReadonlyArray<string>) => {
  for (const text of texts) assert.strictEqual(outcome(text, rule), problem, JSON.stringify(text))
}

const privateHosts = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "api.localhost",
  "api.localhost.",
  "printer.local",
  "printer.local.",
  "Printer.Local",
  "db.internal",
  "a.b.internal.",
  "home.arpa",
  "nas.home.arpa",
  "nas.home.arpa.",
  "intranet",
  "intranet.",
  "local",
  "%6cocalhost",
  "ｌｏｃａｌｈｏｓｔ",
  "printer。local",
  "lo\u00adcalhost",
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "127.0.1",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0x7F.0x0.0x0.0x1",
  "017700000001",
  "0177.0.0.1",
  "0177.0.0.01",
  "１２７.0.0.1",
  "127%2e0.0.1",
  "0",
  "0.0.0.0",
  "10.1.2.3",
  "169.254.169.254",
  "192.168.1.1",
  "172.16.0.1",
  "100.64.0.1",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:8.8.8.8]",
  "[64:ff9b::8.8.8.8]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd00::1]",
]

describe("a URL that the service may call", () => {
  it.effect("is a public https:// address on any port but a blocked one", () =>
    Effect.sync(() => {
      const accepted: ReadonlyArray<readonly [text: string, href: string]> = [
        ["https://example.com", "https://example.com/"],
        ["https://example.com/", "https://example.com/"],
        ["HTTPS://Example.COM/Path", "https://example.com/Path"],
        ["https://example.com.", "https://example.com./"],
        [
          "https://example.com:8443/hook?a=b&c=%20#top",
          "https://example.com:8443/hook?a=b&c=%20#top",
        ],
        ["https://example.com:443/", "https://example.com/"],
        ["https://example.com:80/", "https://example.com:80/"],
        ["https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"],
        ["https://hooks_1.example.com/", "https://hooks_1.example.com/"],
        ["https://example.com/a@b", "https://example.com/a@b"],
        ["https://example.com?user@host", "https://example.com/?user@host"],
        ["https://8.8.8.8/", "https://8.8.8.8/"],
        ["https://[2606:4700:4700::1111]:8443/", "https://[2606:4700:4700::1111]:8443/"],
        ["https://localhost.example.com/", "https://localhost.example.com/"],
        ["https://notlocal.example/", "https://notlocal.example/"],
        ["https://mylocal.co/", "https://mylocal.co/"],
        ["https://xlocalhost.xlocal/", "https://xlocalhost.xlocal/"],
        ["https://127.0.0.1.example.com/", "https://127.0.0.1.example.com/"],
      ]
      for (const [text, href] of accepted) assert.strictEqual(outcome(text, webhook), href)
    }),
  )

  it.effect("splits into the parts of a request", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        parseOutboundUrl("https://Example.com:8443/a/b.png?c=d#e", webhook),
        Result.succeed({
          href: "https://example.com:8443/a/b.png?c=d#e",
          protocol: "https:" as const,
          hostname: "example.com",
          port: "8443",
          pathname: "/a/b.png",
          search: "?c=d",
        }),
      )
    }),
  )

  it.effect("is http:// only where the rule allows it", () =>
    Effect.sync(() => {
      assertRefused("scheme", webhook, ["http://example.com/", "HTTP://example.com/"])
      assert.strictEqual(outcome("http://example.com/", media), "http://example.com/")
      assert.strictEqual(outcome("https://example.com/", media), "https://example.com/")
      assert.strictEqual(outcome("http://example.com/", development), "http://example.com/")
    }),
  )

  it.effect("has no other scheme", () =>
    Effect.sync(() => {
      const others = [
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/plain,x",
        "mailto:a@example.com",
        "wss://example.com/",
        "blob:https://example.com/1",
        "httpss://example.com/",
      ]
      for (const rule of [webhook, media, development]) assertRefused("scheme", rule, others)
    }),
  )

  it.effect("is absolute and well-formed", () =>
    Effect.sync(() => {
      assertRefused("not_a_url", development, [
        "",
        "example.com",
        "example.com/path",
        "/path",
        "//example.com/",
        "https:",
        "https://",
        "https:///",
        "https:example.com",
        "https:/example.com",
        "https:///example.com",
        "https://?a",
        "https://#a",
        "https://:443/",
        "https://exa mple.com/",
        "https://exa<mple.com/",
        "https://exa%00mple.com/",
        "https://example.com:65536/",
        "https://example.com:http/",
        "https://1.2.3.256/",
        "https://1.2.3.4.5/",
        "https://example.0x7f/",
        "https://[::1/",
        "https://[::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "https://./",
        "https://../",
        "https://.example.com/",
        "https://example..com/",
        "https://example.com../",
      ])
    }),
  )

  it.effect("contains nothing that the URL standard would drop or repair silently", () =>
    Effect.sync(() => {
      assertRefused("not_a_url", development, [
        " https://example.com/",
        "https://example.com/ ",
        "https://example.com/\n",
        "ht\ntps://example.com/",
        "https://exam\tple.com/",
        "https://example.com/a\r\nHost: b",
        "https://example.com/a b",
        "https://example.com/a\u0000",
        "https://example.com/a\u007f",
        "https://example.com/a\u0085",
        "https://example.com/a\u00a0",
        "https://example.com/a\u2028",
        "\u3000https://example.com/",
        "https:\\\\example.com\\",
        "https://example.com\\@evil.example/",
        "https://example.com/\ud800",
      ])
    }),
  )

  it.effect("carries no user information, not even empty", () =>
    Effect.sync(() => {
      const texts = [
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://:password@example.com/",
        "https://@example.com/",
        "https://:@example.com/",
        "https://user%40@example.com/",
        "https://example.com@8.8.8.8/",
      ]
      for (const rule of [webhook, media, development]) assertRefused("userinfo", rule, texts)
    }),
  )

  it.effect("names no private or local host, however it is written", () =>
    Effect.sync(() => {
      for (const rule of [webhook, media]) {
        assertRefused(
          "private_address",
          rule,
          privateHosts.flatMap((host) => [`https://${host}/`, `https://${host}:8443/hook`]),
        )
      }
    }),
  )

  it.effect("names no port of another protocol, even with private targets allowed", () =>
    Effect.sync(() => {
      const ports = [0, 1, 7, 22, 25, 53, 143, 465, 587, 993, 2049, 5060, 6000, 6566, 6679, 10080]
      const more = [6665, 6666, 6667, 6668, 6669, 6697]
      for (const rule of [webhook, media, development]) {
        const texts = [...ports, ...more].map((port) => `https://example.com:${port}/`)
        assertRefused("port", rule, [...texts, "https://example.com:0025/", "https://8.8.8.8:25"])
      }
      for (const port of [81, 1024, 5432, 6001, 6670, 8080, 10081, 65535]) {
        assert.strictEqual(
          outcome(`https://example.com:${port}/`, webhook),
          `https://example.com:${port}/`,
        )
      }
      assert.strictEqual(outcome("http://example.com:25/", development), "port")
      assert.strictEqual(outcome("http://127.0.0.1:6000/", development), "port")
    }),
  )

  it.effect("may be private, local and http:// when private targets are allowed", () =>
    Effect.sync(() => {
      for (const host of privateHosts) {
        for (const scheme of ["http", "https"]) {
          const result = parseOutboundUrl(`${scheme}://${host}:8080/hook`, development)
          assert.isTrue(Result.isSuccess(result), host)
        }
      }
      assert.strictEqual(outcome("http://127.1:9000/a", development), "http://127.0.0.1:9000/a")
    }),
  )
})

const octet = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))

const group = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))

const remarkable = Schema.Literals([
  0, 0x64, 0x2000, 0x2001, 0x2002, 0x2620, 0x3fff, 0x5f00, 0xfe80,
])

describe("for any input", () => {
  it.effect.prop(
    "judges every spelling of an IPv4 address alike",
    [octet, octet, octet, octet],
    ([a, b, c, d]) =>
      Effect.sync(() => {
        const dotted = `${a}.${b}.${c}.${d}`
        const number = ((a * 256 + b) * 256 + c) * 256 + d
        const hex = (part: number) => `0x${part.toString(16)}`
        const octal = (part: number) => `0${part.toString(8)}`
        const expected = isPublicAddress(dotted) ? `https://${dotted}/` : "private_address"
        const spellings = [
          dotted,
          `${dotted}.`,
          `${number}`,
          hex(number),
          octal(number),
          [a, b, c, d].map(hex).join("."),
          [a, b, c, d].map(octal).join("."),
          `${a}.${hex(b)}.${c * 256 + d}`,
          `${octal(a)}.${(b * 256 + c) * 256 + d}`,
        ]
        for (const host of spellings)
          assert.strictEqual(outcome(`https://${host}/`, webhook), expected, host)
        const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
        const wrapped = [
          `::ffff:${dotted}`,
          `::${groups}`,
          `64:ff9b::${dotted}`,
          `2002:${groups}::1`,
        ]
        for (const ip of wrapped) {
          assert.isFalse(isPublicAddress(ip), ip)
          assert.strictEqual(outcome(`https://[${ip}]/`, webhook), "private_address", ip)
        }
      }),
  )

  it.effect.prop(
    "judges every spelling of an IPv6 address alike; only 2000::/3 is public",
    [
      Schema.Union([remarkable, group]),
      Schema.Tuple([group, group, group, group, group, group, group]),
    ],
    ([first, others]) =>
      Effect.sync(() => {
        const groups = [first, ...others].map((part) => part.toString(16))
        const long = groups.map((part) => part.padStart(4, "0").toUpperCase()).join(":")
        const verdict = isPublicAddress(groups.join(":"))
        assert.strictEqual(isPublicAddress(long), verdict)
        const shortest = URL.parse(`https://[${long}]/`)!.hostname.slice(1, -1)
        assert.strictEqual(isPublicAddress(shortest), verdict, shortest)
        if (verdict) assert.isTrue(first >= 0x2000 && first <= 0x3fff && first !== 0x2002)
      }),
  )

  it.effect.prop("never throws, and an accepted URL stays accepted", [Schema.String], ([text]) =>
    Effect.sync(() => {
      for (const candidate of [
        text,
        `https://${text}`,
        `https://a.example/${text}`,
        `http://${text}.b`,
      ]) {
        for (const rule of [webhook, media, development]) {
          const result = parseOutboundUrl(candidate, rule)
          if (Result.isSuccess(result)) {
            assert.deepStrictEqual(parseOutboundUrl(result.success.href, rule), result, candidate)
          }
        }
        assert.isBoolean(isPublicAddress(candidate))
      }
    }),
  )
})
