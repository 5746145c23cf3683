/** The content of a send: text, media and times. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sendRequestParser } from "../../src/model/SendRequest.ts"
import { single, phone, body, getProblems, getSuccess, refusals } from "./SendBodies.ts"
import type { Told } from "./SendBodies.ts"

describe("the content of POST /messages", () => {
  describe("text", () => {
    const rocket = "\u{1F680}"
    refusals([
      ["neither text nor media", { to: phone }, [["text_required", "text"]]],
      ["empty text", body({ text: "" }), [["text_required", "text"]]],
      [
        "text of white space only, Unicode's included",
        body({ text: " \t\r\n\u0085\u00A0\u2003\u2028\u3000" }),
        [["text_required", "text"]],
      ],
      ["blank text with media null", body({ text: " ", media: null }), [["text_required", "text"]]],
      ["3,001 characters", body({ text: "x".repeat(3001) }), [["text_too_long", "text"]]],
      [
        "3,001 characters outside the basic plane",
        body({ text: rocket.repeat(3001) }),
        [["text_too_long", "text"]],
      ],
      [
        "3,001 characters with media",
        body({ text: "x".repeat(3001), media: { mediaId: 1 } }),
        [["text_too_long", "text"]],
      ],
      ["null", body({ text: null }), [["validation_failed", "text"]]],
      [
        "null with media",
        body({ text: null, media: { mediaId: 1 } }),
        [["validation_failed", "text"]],
      ],
      ["a number", body({ text: 5 }), [["validation_failed", "text"]]],
      ["a list", body({ text: ["Hello"] }), [["validation_failed", "text"]]],
    ])

    it.effect("accepts 3,000 code points, and keeps text unchanged", () =>
      Effect.sync(() => {
        for (const text of [
          "x".repeat(3000),
          rocket.repeat(3000),
          " Hello\n",
          // Neither has the property White_Space.
          "\u200B",
          "\uFEFF",
        ]) {
          assert.strictEqual(getSuccess(single(body({ text }))).text, text)
        }
      }),
    )

    it.effect("with media it may be missing, empty or blank", () =>
      Effect.sync(() => {
        const media = { mediaId: 1 }
        assert.strictEqual(getSuccess(single({ to: phone, media })).text, "")
        assert.strictEqual(getSuccess(single(body({ text: "", media }))).text, "")
        assert.strictEqual(getSuccess(single(body({ text: " \n ", media }))).text, " \n ")
      }),
    )
  })

  describe("media", () => {
    const media = (what: string, value: unknown, told: Told) =>
      [what, body({ media: value }), told] as const

    refusals([
      media("text", "https://example.com/a.png", [["validation_failed", "media"]]),
      media("a list", [], [["validation_failed", "media"]]),
      media("neither url nor mediaId", {}, [["validation_failed", "media"]]),
      media("a type alone", { type: "image" }, [["validation_failed", "media"]]),
      media("both url and mediaId", { url: "https://example.com/a", mediaId: 1 }, [
        ["validation_failed", "media"],
      ]),
      media("an extra null", { url: null, mediaId: 1 }, [["validation_failed", "media.url"]]),
      media("a url that is not a string", { url: 5 }, [["validation_failed", "media.url"]]),
      media("an empty url", { url: "" }, [["invalid_media_url", "media.url"]]),
      media("a url without a scheme", { url: "example.com/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("another scheme", { url: "ftp://example.com/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("a local file", { url: "file:///etc/passwd" }, [["invalid_media_url", "media.url"]]),
      media("a private address", { url: "http://10.0.0.1/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("a port of another protocol", { url: "https://example.com:25/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("a local name", { url: "http://localhost/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("user information in the link", { url: "https://user:pass@example.com/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("a mediaId that is text", { mediaId: "1" }, [["validation_failed", "media.mediaId"]]),
      media("an unknown type", { mediaId: 1, type: "video" }, [
        ["validation_failed", "media.type"],
      ]),
      media("a type that is null", { mediaId: 1, type: null }, [
        ["validation_failed", "media.type"],
      ]),
      media("an empty fileName", { mediaId: 1, fileName: "" }, [
        ["validation_failed", "media.fileName"],
      ]),
      media("a fileName that is null", { mediaId: 1, fileName: null }, [
        ["validation_failed", "media.fileName"],
      ]),
      media("an unknown field", { mediaId: 1, caption: "Hello" }, [
        ["validation_failed", "media.caption"],
      ]),
      media(
        "its fields in the order of their table",
        { note: 1, fileName: 5, type: "video", url: "nowhere" },
        [
          ["invalid_media_url", "media.url"],
          ["validation_failed", "media.type"],
          ["validation_failed", "media.fileName"],
          ["validation_failed", "media.note"],
        ],
      ),
    ])

    it.effect("keeps the media and the type implied by the link's extension", () =>
      Effect.sync(() => {
        const reference = (media: unknown) => getSuccess(single(body({ media }))).media
        const link = "https://example.com/photo.PNG?size=2"
        assert.deepStrictEqual(reference({ url: link }), {
          mediaId: null,
          attachmentId: null,
          url: link,
          type: "image",
          fileName: null,
        })
        assert.strictEqual(reference({ url: "http://example.com/a.pdf" })?.type, "file")
        assert.strictEqual(reference({ url: link, type: "file" })?.type, "file")
        assert.isNull(reference({ url: "https://example.com/download" })?.type)
        const named = (fileName: string) => reference({ mediaId: 9, fileName })?.fileName
        assert.strictEqual(named("../../etc/passwd"), "passwd")
        assert.strictEqual(named("C:\\files\\of\r\nfer.pdf "), "offer.pdf")
        assert.strictEqual(named("100%22.pdf"), "100%22.pdf")
        for (const empty of ["files/", "\u0007", "\\ "]) assert.isNull(named(empty))
        assert.deepStrictEqual<unknown>(
          reference({ mediaId: 9, type: "image", fileName: "a.png" }),
          {
            mediaId: 9,
            attachmentId: null,
            url: null,
            type: "image",
            fileName: "a.png",
          },
        )
      }),
    )

    it.effect("ALLOW_PRIVATE_TARGETS permits private and local links", () =>
      Effect.sync(() => {
        const open = sendRequestParser({ allowPrivate: true })
        for (const url of ["http://127.0.0.1:8080/a.png", "http://localhost/a", "http://[::1]/"]) {
          assert.strictEqual(getSuccess(open.single(body({ media: { url } }))).media?.url, url)
        }
        const ftp = body({ media: { url: "ftp://127.0.0.1/a" } })
        assert.deepStrictEqual(getProblems(open.single(ftp)), [["invalid_media_url", "media.url"]])
      }),
    )
  })

  describe("sendAt and expiresAt", () => {
    const at = "2030-01-01T00:00:00"
    refusals([
      ["a sendAt without an offset", body({ sendAt: at }), [["invalid_datetime", "sendAt"]]],
      ["a sendAt that is a date", body({ sendAt: "2030-01-01" }), [["invalid_datetime", "sendAt"]]],
      ["an empty sendAt", body({ sendAt: "" }), [["invalid_datetime", "sendAt"]]],
      [
        "a day that does not exist",
        body({ expiresAt: "2030-02-29T00:00:00Z" }),
        [["invalid_datetime", "expiresAt"]],
      ],
      [
        "an hour that does not exist",
        body({ sendAt: "2030-01-01T24:00:00Z" }),
        [["invalid_datetime", "sendAt"]],
      ],
      [
        "a sendAt that is a number",
        body({ sendAt: 1893456000 }),
        [["validation_failed", "sendAt"]],
      ],
      [
        "an expiresAt that is a number",
        body({ expiresAt: 1893456000 }),
        [["validation_failed", "expiresAt"]],
      ],
      [
        "both of them bad",
        body({ expiresAt: "soon", sendAt: "later" }),
        [
          ["invalid_datetime", "sendAt"],
          ["invalid_datetime", "expiresAt"],
        ],
      ],
      [
        "an expiresAt at sendAt",
        body({ sendAt: `${at}Z`, expiresAt: `${at}Z` }),
        [["validation_failed", "expiresAt"]],
      ],
      [
        "an expiresAt before sendAt, whatever the offsets",
        body({ sendAt: "2030-01-01T00:30:00-01:00", expiresAt: "2030-01-01T02:00:00+01:00" }),
        [["validation_failed", "expiresAt"]],
      ],
      [
        "an expiresAt that equals sendAt at full precision",
        body({ sendAt: `${at}.00000010Z`, expiresAt: `${at}.0000001Z` }),
        [["validation_failed", "expiresAt"]],
      ],
      [
        "an expiresAt that is earlier by less than a millisecond",
        body({ sendAt: `${at}.0000002Z`, expiresAt: `${at}.00000019Z` }),
        [["validation_failed", "expiresAt"]],
      ],
    ])

    it.effect("expiresAt may be less than a millisecond after sendAt", () =>
      Effect.sync(() =>
        getSuccess(single(body({ sendAt: `${at}.0000001Z`, expiresAt: `${at}.00000011Z` }))),
      ),
    )

    it.effect("accepts times in the past: acceptance checks them", () =>
      Effect.sync(() => getSuccess(single(body({ sendAt: "2001-01-01T00:00:00Z" })))),
    )
  })
})
