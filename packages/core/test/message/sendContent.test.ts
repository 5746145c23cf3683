/** The content of a send: text, media and times. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sendRequestParser } from "../../src/message/SendRequest.ts"
import { single, phone, body, told, taken, refusals } from "./SendBodies.ts"
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
        body({ text: "x".repeat(3001), media: { media_id: 1 } }),
        [["text_too_long", "text"]],
      ],
      ["null", body({ text: null }), [["validation_failed", "text"]]],
      [
        "null with media",
        body({ text: null, media: { media_id: 1 } }),
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
          assert.strictEqual(taken(single(body({ text }))).text, text)
        }
      }),
    )

    it.effect("with media it may be missing, empty or blank", () =>
      Effect.sync(() => {
        const media = { media_id: 1 }
        assert.strictEqual(taken(single({ to: phone, media })).text, "")
        assert.strictEqual(taken(single(body({ text: "", media }))).text, "")
        assert.strictEqual(taken(single(body({ text: " \n ", media }))).text, " \n ")
      }),
    )
  })

  describe("media", () => {
    const media = (what: string, given: unknown, told: Told) =>
      [what, body({ media: given }), told] as const

    refusals([
      media("text", "https://example.com/a.png", [["validation_failed", "media"]]),
      media("a list", [], [["validation_failed", "media"]]),
      media("neither url nor media_id", {}, [["validation_failed", "media"]]),
      media("a type alone", { type: "image" }, [["validation_failed", "media"]]),
      media("both url and media_id", { url: "https://example.com/a", media_id: 1 }, [
        ["validation_failed", "media"],
      ]),
      media("an extra null", { url: null, media_id: 1 }, [["validation_failed", "media.url"]]),
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
      media("a media_id that is text", { media_id: "1" }, [
        ["validation_failed", "media.media_id"],
      ]),
      media("an unknown type", { media_id: 1, type: "video" }, [
        ["validation_failed", "media.type"],
      ]),
      media("a type that is null", { media_id: 1, type: null }, [
        ["validation_failed", "media.type"],
      ]),
      media("an empty file_name", { media_id: 1, file_name: "" }, [
        ["validation_failed", "media.file_name"],
      ]),
      media("a file_name that is null", { media_id: 1, file_name: null }, [
        ["validation_failed", "media.file_name"],
      ]),
      media("an unknown field", { media_id: 1, caption: "Hello" }, [
        ["validation_failed", "media.caption"],
      ]),
      media(
        "its fields in the order of their table",
        { note: 1, file_name: 5, type: "video", url: "nowhere" },
        [
          ["invalid_media_url", "media.url"],
          ["validation_failed", "media.type"],
          ["validation_failed", "media.file_name"],
          ["validation_failed", "media.note"],
        ],
      ),
    ])

    it.effect("keeps the media and the type implied by the link's extension", () =>
      Effect.sync(() => {
        const reference = (media: unknown) => taken(single(body({ media }))).media
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
        assert.deepStrictEqual<unknown>(
          reference({ media_id: 9, type: "image", file_name: "a.png" }),
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
          assert.strictEqual(taken(open.single(body({ media: { url } }))).media?.url, url)
        }
        const ftp = body({ media: { url: "ftp://127.0.0.1/a" } })
        assert.deepStrictEqual(told(open.single(ftp)), [["invalid_media_url", "media.url"]])
      }),
    )
  })

  describe("send_at and expires_at", () => {
    const at = "2030-01-01T00:00:00"
    refusals([
      ["a send_at without an offset", body({ send_at: at }), [["invalid_datetime", "send_at"]]],
      [
        "a send_at that is a date",
        body({ send_at: "2030-01-01" }),
        [["invalid_datetime", "send_at"]],
      ],
      ["an empty send_at", body({ send_at: "" }), [["invalid_datetime", "send_at"]]],
      [
        "a day that does not exist",
        body({ expires_at: "2030-02-29T00:00:00Z" }),
        [["invalid_datetime", "expires_at"]],
      ],
      [
        "an hour that does not exist",
        body({ send_at: "2030-01-01T24:00:00Z" }),
        [["invalid_datetime", "send_at"]],
      ],
      [
        "a send_at that is a number",
        body({ send_at: 1893456000 }),
        [["validation_failed", "send_at"]],
      ],
      [
        "an expires_at that is a number",
        body({ expires_at: 1893456000 }),
        [["validation_failed", "expires_at"]],
      ],
      [
        "both of them bad",
        body({ expires_at: "soon", send_at: "later" }),
        [
          ["invalid_datetime", "send_at"],
          ["invalid_datetime", "expires_at"],
        ],
      ],
      [
        "an expires_at at send_at",
        body({ send_at: `${at}Z`, expires_at: `${at}Z` }),
        [["validation_failed", "expires_at"]],
      ],
      [
        "an expires_at before send_at, whatever the offsets",
        body({ send_at: "2030-01-01T00:30:00-01:00", expires_at: "2030-01-01T02:00:00+01:00" }),
        [["validation_failed", "expires_at"]],
      ],
      [
        "an expires_at that equals send_at at full precision",
        body({ send_at: `${at}.00000010Z`, expires_at: `${at}.0000001Z` }),
        [["validation_failed", "expires_at"]],
      ],
      [
        "an expires_at that is earlier by less than a millisecond",
        body({ send_at: `${at}.0000002Z`, expires_at: `${at}.00000019Z` }),
        [["validation_failed", "expires_at"]],
      ],
    ])

    it.effect("expires_at may be less than a millisecond after send_at", () =>
      Effect.sync(() =>
        taken(single(body({ send_at: `${at}.0000001Z`, expires_at: `${at}.00000011Z` }))),
      ),
    )

    it.effect("accepts times in the past: acceptance checks them", () =>
      Effect.sync(() => taken(single(body({ send_at: "2001-01-01T00:00:00Z" })))),
    )
  })
})
