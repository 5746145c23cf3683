import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Refusal } from "../../src/error/Refusal.ts"
import { sendRequestParser } from "../../src/message/SendRequest.ts"
import type { SendRequest } from "../../src/message/SendRequest.ts"
import { parseStrictJson } from "../../src/request/StrictJson.ts"

const { batch, single } = sendRequestParser({ allowPrivate: false })

const phone = { phone: "+15550000001" }

/** A body that is right but for what the test is about. */
const body = (given: Readonly<Record<string, unknown>>) => ({ to: phone, text: "Hello", ...given })

type Told = ReadonlyArray<readonly [code: string, field: string | null]>

/** Every problem that a refusal names, the error first; nothing when it was taken. */
const told = (result: Result.Result<SendRequest, Refusal>): Told =>
  Result.match(result, {
    onSuccess: () => [],
    onFailure: ({ code, errors, field }) => [
      [code, field],
      ...errors.map((each): Told[number] => [each.code, each.field]),
    ],
  })

const taken = (result: Result.Result<SendRequest, Refusal>): SendRequest => {
  assert.deepStrictEqual(told(result), [])
  return Result.getOrThrow(result)
}

const refusals = (
  cases: ReadonlyArray<readonly [what: string, body: unknown, told: Told]>,
  parse = single,
) =>
  it.effect.each(cases)("refuses %s", ([, given, expected]) =>
    Effect.sync(() => assert.deepStrictEqual(told(parse(given)), expected)),
  )

describe("POST /messages", () => {
  it.effect("takes the least that a message needs", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(taken(single({ to: phone, text: "Hello" })), {
        recipients: [{ kind: "phone", phone: "+15550000001" }],
        batch: false,
        from: null,
        text: "Hello",
        media: null,
        sendAt: null,
        expiresAt: null,
        callbackUrl: null,
      }),
    ),
  )

  it.effect("takes every field", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(
        taken(
          single({
            to: { group: "Team" },
            from: 7,
            text: "*bold*",
            media: { url: "https://example.com/a", type: "file", file_name: "a.pdf" },
            send_at: "2030-01-01T10:00:00+02:00",
            expires_at: "2030-01-01T08:00:00.0005Z",
          }),
        ),
        {
          recipients: [{ kind: "group", group: "Team" }],
          batch: false,
          from: 7,
          text: "*bold*",
          media: {
            mediaId: null,
            attachmentId: null,
            url: "https://example.com/a",
            type: "file",
            fileName: "a.pdf",
          },
          sendAt: { millis: Date.UTC(2030, 0, 1, 8), beyond: "" },
          expiresAt: { millis: Date.UTC(2030, 0, 1, 8), beyond: "5" },
          callbackUrl: null,
        },
      ),
    ),
  )

  it.effect(
    "from, media, send_at and expires_at may be null, which is as if they were missing",
    () =>
      Effect.sync(() =>
        assert.deepStrictEqual(
          taken(single(body({ from: null, media: null, send_at: null, expires_at: null }))),
          taken(single(body({}))),
        ),
      ),
  )

  it.effect("takes what StrictJson read, which has no prototype", () =>
    Effect.gen(function* () {
      const text = '{"to":{"phone":"+1 555-000-0001"},"text":"Hello","media":{"media_id":3}}'
      const json = yield* Effect.fromResult(parseStrictJson(new TextEncoder().encode(text)))
      const request = taken(single(json))
      assert.deepStrictEqual<unknown>(request.recipients, [
        { kind: "phone", phone: "+15550000001" },
      ])
      assert.strictEqual(request.media?.mediaId, 3)
    }),
  )

  describe("a body that is JSON but no object is validation_failed", () => {
    refusals(
      [null, [], [body({})], "text", 5, true].map(
        (given) => [JSON.stringify(given), given, [["validation_failed", null]]] as const,
      ),
    )
  })

  describe("to", () => {
    const to = (what: string, given: unknown, told: Told) =>
      [what, body({ to: given }), told] as const

    refusals([
      ["a missing one", { text: "Hello" }, [["validation_failed", "to"]]],
      to("null", null, [["validation_failed", "to"]]),
      to("text", "+15550000001", [["validation_failed", "to"]]),
      to("a list", [phone], [["validation_failed", "to"]]),
      to("no recipient key", {}, [["validation_failed", "to"]]),
      to("two recipient keys", { ...phone, group: "Team" }, [["validation_failed", "to"]]),
      to("two recipient keys, one of them bad", { phone: "0123", username: "@name" }, [
        ["validation_failed", "to"],
      ]),
      to("all recipient keys", { ...phone, group: "a", contact_id: 1, username: "@name" }, [
        ["validation_failed", "to"],
      ]),
      to("a second key that is null", { ...phone, group: null }, [
        ["validation_failed", "to.group"],
      ]),
      to("an unknown key beside the one", { ...phone, country_code: "1" }, [
        ["validation_failed", "to.country_code"],
      ]),
      to("an unknown key alone", { number: "+15550000001" }, [["validation_failed", "to.number"]]),
      to("a phone without +", { phone: "15550000001" }, [["invalid_phone", "to.phone"]]),
      to("a phone with a leading 0", { phone: "+05550000001" }, [["invalid_phone", "to.phone"]]),
      to("an empty phone", { phone: "" }, [["invalid_phone", "to.phone"]]),
      to("a phone that is a number", { phone: 15550000001 }, [["validation_failed", "to.phone"]]),
      to("a phone that is null", { phone: null }, [["validation_failed", "to.phone"]]),
      to("an empty group name", { group: "" }, [["validation_failed", "to.group"]]),
      to("a group name of 101 characters", { group: "g".repeat(101) }, [
        ["validation_failed", "to.group"],
      ]),
      to("a group that is a number", { group: 7 }, [["validation_failed", "to.group"]]),
      to("a contact_id that is text", { contact_id: "7" }, [
        ["validation_failed", "to.contact_id"],
      ]),
      to("a contact_id with a fraction", { contact_id: 1.5 }, [
        ["validation_failed", "to.contact_id"],
      ]),
      to("a contact_id past the safe integers", { contact_id: 2 ** 53 }, [
        ["validation_failed", "to.contact_id"],
      ]),
      to("a contact_id that is null", { contact_id: null }, [
        ["validation_failed", "to.contact_id"],
      ]),
      to("a bare name as username", { username: "name" }, [["invalid_username", "to.username"]]),
      to("an invite link", { username: "https://t.me/+AbCd" }, [
        ["invalid_username", "to.username"],
      ]),
      to("an empty username", { username: "" }, [["invalid_username", "to.username"]]),
      to("a username that is a number", { username: 5 }, [["validation_failed", "to.username"]]),
    ])

    it.effect("takes each kind of recipient", () =>
      Effect.sync(() => {
        const recipient = (to: unknown) => taken(single(body({ to }))).recipients[0]
        assert.deepStrictEqual<unknown>(recipient({ phone: "+44 20-7946 0958" }), {
          kind: "phone",
          phone: "+442079460958",
        })
        assert.deepStrictEqual(recipient({ group: " Team \u{1F680} " }), {
          kind: "group",
          group: " Team \u{1F680} ",
        })
        assert.deepStrictEqual(recipient({ group: "\u{1F680}".repeat(100) }), {
          kind: "group",
          group: "\u{1F680}".repeat(100),
        })
        assert.deepStrictEqual<unknown>(recipient({ contact_id: 12 }), {
          kind: "contact",
          contactId: 12,
        })
        assert.deepStrictEqual(recipient({ username: "t.me/name" }), {
          kind: "username",
          username: { given: "t.me/name", target: { kind: "name", name: "name" } },
        })
        assert.deepStrictEqual(recipient({ username: "tg:42" }), {
          kind: "username",
          username: { given: "tg:42", target: { kind: "id", id: 42 } },
        })
      }),
    )
  })

  describe("from is an integer or null", () => {
    refusals(
      ["7", 1.5, true, {}, [7], 2 ** 53, -(2 ** 53)].map(
        (from) => [JSON.stringify(from), body({ from }), [["validation_failed", "from"]]] as const,
      ),
    )
  })

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
      [
        "blank text beside media null",
        body({ text: " ", media: null }),
        [["text_required", "text"]],
      ],
      ["3,001 characters", body({ text: "x".repeat(3001) }), [["text_too_long", "text"]]],
      [
        "3,001 characters outside the basic plane",
        body({ text: rocket.repeat(3001) }),
        [["text_too_long", "text"]],
      ],
      [
        "3,001 characters beside media",
        body({ text: "x".repeat(3001), media: { media_id: 1 } }),
        [["text_too_long", "text"]],
      ],
      ["null", body({ text: null }), [["validation_failed", "text"]]],
      [
        "null beside media",
        body({ text: null, media: { media_id: 1 } }),
        [["validation_failed", "text"]],
      ],
      ["a number", body({ text: 5 }), [["validation_failed", "text"]]],
      ["a list", body({ text: ["Hello"] }), [["validation_failed", "text"]]],
    ])

    it.effect("takes 3,000 code points, and keeps text unchanged", () =>
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

    it.effect("beside media it may be missing, empty or blank", () =>
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
      media("a null beside the one", { url: null, media_id: 1 }, [
        ["validation_failed", "media.url"],
      ]),
      media("a url that is no text", { url: 5 }, [["validation_failed", "media.url"]]),
      media("an empty url", { url: "" }, [["invalid_media_url", "media.url"]]),
      media("a url without a scheme", { url: "example.com/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("another scheme", { url: "ftp://example.com/a.png" }, [
        ["invalid_media_url", "media.url"],
      ]),
      media("a file of the machine", { url: "file:///etc/passwd" }, [
        ["invalid_media_url", "media.url"],
      ]),
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

    it.effect("keeps what was given, and the type that the link's ending tells", () =>
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

    it.effect("ALLOW_PRIVATE_TARGETS lets a link be private or local", () =>
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

    it.effect("expires_at may be after send_at by less than a millisecond", () =>
      Effect.sync(() =>
        taken(single(body({ send_at: `${at}.0000001Z`, expires_at: `${at}.00000011Z` }))),
      ),
    )

    it.effect("times in the past are no matter of the fields", () =>
      Effect.sync(() => taken(single(body({ send_at: "2001-01-01T00:00:00Z" })))),
    )
  })

  describe("several problems", () => {
    refusals([
      [
        "in the order of the field table, unknown fields last and by their path",
        {
          zone: 1,
          expires_at: 5,
          send_at: "soon",
          media: { media_id: "1", kind: 2 },
          text: 5,
          from: "7",
          to: { phone: "bad", country: 1 },
          alias: 2,
        },
        [
          ["validation_failed", "from"],
          ["validation_failed", "text"],
          ["validation_failed", "media.media_id"],
          ["invalid_datetime", "send_at"],
          ["validation_failed", "expires_at"],
          ["validation_failed", "zone"],
          ["validation_failed", "alias"],
          ["validation_failed", "to.country"],
          ["validation_failed", "media.kind"],
        ],
      ],
      [
        "of which those that read several fields stand at their own field",
        {
          to: { phone: "bad" },
          from: "7",
          send_at: "2030-01-01T00:00:00Z",
          expires_at: "2030-01-01T00:00:00Z",
        },
        [
          ["invalid_phone", "to.phone"],
          ["validation_failed", "from"],
          ["text_required", "text"],
          ["validation_failed", "expires_at"],
        ],
      ],
      [
        "an empty body",
        {},
        [
          ["validation_failed", "to"],
          ["text_required", "text"],
        ],
      ],
    ])

    it.effect("each carries a message, and the first one's code gives the status", () =>
      Effect.gen(function* () {
        const refusal = yield* Effect.flip(
          Effect.fromResult(single({ to: { phone: "bad" }, text: 5 })),
        )
        assert.strictEqual(refusal.status, 422)
        assert.isAbove(refusal.message.length, 0)
        assert.isAbove(refusal.errors[0]?.message.length ?? 0, 0)
        assert.isNull(refusal.retryAfter)
        assert.deepStrictEqual(refusal.details, {})
      }),
    )

    it.effect("repeats nothing of the request in its messages", () =>
      Effect.gen(function* () {
        const secret = "s3cr3t"
        const refusal = yield* Effect.flip(
          Effect.fromResult(
            single({
              to: { phone: secret },
              from: secret,
              text: { secret },
              media: secret,
              send_at: secret,
              expires_at: [secret],
            }),
          ),
        )
        const messages = [refusal.message, ...refusal.errors.map(({ message }) => message)]
        assert.lengthOf(messages, 6)
        for (const message of messages) assert.notInclude(message, secret)
      }),
    )
  })

  describe("unknown fields are refused", () => {
    const strange = (json: string) =>
      Result.getOrThrow(parseStrictJson(new TextEncoder().encode(json)))
    const start = '{"to":{"phone":"+15550000001"},"text":"Hello"'
    refusals([
      ["a field of version 1", body({ msg: "Hello" }), [["validation_failed", "msg"]]],
      [
        "__proto__",
        strange(`${start},"__proto__":{"from":7}}`),
        [["validation_failed", "__proto__"]],
      ],
      ["constructor", strange(`${start},"constructor":1}`), [["validation_failed", "constructor"]]],
      ["an empty name", strange(`${start},"":1}`), [["validation_failed", ""]]],
      ["one that is null", body({ webhook: null }), [["validation_failed", "webhook"]]],
    ])
  })
})

describe("POST /messages/batch", () => {
  const list = (to: unknown, rest: Readonly<Record<string, unknown>> = {}) => ({
    to,
    text: "Hello",
    ...rest,
  })

  it.effect("one message for each recipient, in the order of to, doubles included", () =>
    Effect.sync(() => {
      const request = taken(batch(list([phone, { group: "Team" }, phone])))
      assert.isTrue(request.batch)
      assert.deepStrictEqual<unknown>(request.recipients, [
        { kind: "phone", phone: "+15550000001" },
        { kind: "group", group: "Team" },
        { kind: "phone", phone: "+15550000001" },
      ])
    }),
  )

  it.effect("takes 1,000 recipients", () =>
    Effect.sync(() => {
      const request = taken(batch(list(Array.from({ length: 1000 }, () => phone))))
      assert.lengthOf(request.recipients, 1000)
    }),
  )

  refusals(
    [
      ["a to that is no list", list(phone), [["validation_failed", "to"]]],
      ["a missing to", { text: "Hello" }, [["validation_failed", "to"]]],
      ["an empty to", list([]), [["validation_failed", "to"]]],
      [
        "1,001 recipients",
        list(Array.from({ length: 1001 }, () => phone)),
        [["too_many_recipients", "to"]],
      ],
      [
        "1,001 recipients whatever they are",
        list(Array.from({ length: 1001 }, () => 5)),
        [["too_many_recipients", "to"]],
      ],
      [
        "1,001 recipients and names the other problems too",
        list(
          Array.from({ length: 1001 }, () => phone),
          { from: "7", text: " ", zone: 1 },
        ),
        [
          ["too_many_recipients", "to"],
          ["validation_failed", "from"],
          ["text_required", "text"],
          ["validation_failed", "zone"],
        ],
      ],
      [
        "one bad phone",
        list([phone, phone, phone, { phone: "0123" }]),
        [["invalid_phone", "to[3].phone"]],
      ],
      [
        "each bad recipient by its index",
        list([{ username: "name" }, phone, {}, 5, null, { contact_id: 1.5 }, { group: "" }]),
        [
          ["invalid_username", "to[0].username"],
          ["validation_failed", "to[2]"],
          ["validation_failed", "to[3]"],
          ["validation_failed", "to[4]"],
          ["validation_failed", "to[5].contact_id"],
          ["validation_failed", "to[6].group"],
        ],
      ],
      [
        "two keys and an unknown key in a recipient",
        list([
          { ...phone, group: "Team" },
          { ...phone, name: "Jane" },
        ]),
        [
          ["validation_failed", "to[0]"],
          ["validation_failed", "to[1].name"],
        ],
      ],
      [
        "what a single send refuses",
        list([phone], { from: "7", text: "", send_at: "soon", cc: [] }),
        [
          ["validation_failed", "from"],
          ["text_required", "text"],
          ["invalid_datetime", "send_at"],
          ["validation_failed", "cc"],
        ],
      ],
    ],
    batch,
  )
})
