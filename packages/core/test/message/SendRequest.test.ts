/** The body of a send: required fields, recipients, batches. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bare, single, batch, phone, body, getSuccess, refusals } from "./SendBodies.ts"
import type { Told } from "./SendBodies.ts"

describe("POST /messages", () => {
  it.effect("accepts the minimum of a message", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(getSuccess(single({ to: phone, text: "Hello" })), {
        recipients: [{ kind: "phone", phone: "+15550000001" }],
        batch: false,
        from: null,
        text: "Hello",
        media: null,
        sendAt: null,
        expiresAt: null,
        callbackUrl: null,
        replyTo: null,
        reference: null,
      }),
    ),
  )

  it.effect("takes every field", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(
        getSuccess(
          single({
            to: { group: "Team" },
            from: 7,
            text: "*bold*",
            media: { url: "https://example.com/a", type: "file", fileName: "a.pdf" },
            sendAt: "2030-01-01T10:00:00+02:00",
            expiresAt: "2030-01-01T08:00:00.0005Z",
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
          replyTo: null,
          reference: null,
        },
      ),
    ),
  )

  it.effect("from, media, sendAt and expiresAt may be null, which means missing", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        getSuccess(single(body({ from: null, media: null, sendAt: null, expiresAt: null }))),
        getSuccess(single(body({}))),
      ),
    ),
  )

  it.effect("accepts objects without a prototype, as a JSON reader may build them", () =>
    Effect.sync(() => {
      const json = {
        to: bare({ phone: "+1 555-000-0001" }),
        text: "Hello",
        media: bare({ mediaId: 3 }),
      }
      const request = getSuccess(single(bare(json)))
      assert.deepStrictEqual<unknown>(request.recipients, [
        { kind: "phone", phone: "+15550000001" },
      ])
      assert.strictEqual(request.media?.mediaId, 3)
    }),
  )

  describe("a JSON body that is not an object is validation_failed", () => {
    refusals(
      [null, [], [body({})], "text", 5, true].map(
        (input) => [JSON.stringify(input), input, [["validation_failed", null]]] as const,
      ),
    )
  })

  describe("to", () => {
    const to = (what: string, value: unknown, told: Told) =>
      [what, body({ to: value }), told] as const

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
      to("all recipient keys", { ...phone, group: "a", contactId: 1, username: "@name" }, [
        ["validation_failed", "to"],
      ]),
      to("a second key that is null", { ...phone, group: null }, [
        ["validation_failed", "to.group"],
      ]),
      to("an unknown key as well", { ...phone, country_code: "1" }, [
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
      to("a contactId that is text", { contactId: "7" }, [["validation_failed", "to.contactId"]]),
      to("a contactId with a fraction", { contactId: 1.5 }, [
        ["validation_failed", "to.contactId"],
      ]),
      to("a contactId past the safe integers", { contactId: 2 ** 53 }, [
        ["validation_failed", "to.contactId"],
      ]),
      to("a contactId that is null", { contactId: null }, [["validation_failed", "to.contactId"]]),
      to("a bare name as username", { username: "name" }, [["invalid_username", "to.username"]]),
      to("an invite link", { username: "https://t.me/+AbCd" }, [
        ["invalid_username", "to.username"],
      ]),
      to("an empty username", { username: "" }, [["invalid_username", "to.username"]]),
      to("a username that is a number", { username: 5 }, [["validation_failed", "to.username"]]),
    ])

    it.effect("takes each kind of recipient", () =>
      Effect.sync(() => {
        const recipient = (to: unknown) => getSuccess(single(body({ to }))).recipients[0]
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
        assert.deepStrictEqual<unknown>(recipient({ contactId: 12 }), {
          kind: "contact",
          contactId: 12,
        })
        assert.deepStrictEqual(recipient({ username: "t.me/name" }), {
          kind: "username",
          username: { text: "t.me/name", target: { kind: "name", name: "name" } },
        })
        assert.deepStrictEqual(recipient({ username: "tg:42" }), {
          kind: "username",
          username: { text: "tg:42", target: { kind: "id", id: 42 } },
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
})

describe("POST /messages/batch", () => {
  const list = (to: unknown, rest: Readonly<Record<string, unknown>> = {}) => ({
    to,
    text: "Hello",
    ...rest,
  })

  it.effect("makes one message for each recipient, in the order of to, duplicates included", () =>
    Effect.sync(() => {
      const request = getSuccess(batch(list([phone, { group: "Team" }, phone])))
      assert.isTrue(request.batch)
      assert.deepStrictEqual<unknown>(request.recipients, [
        { kind: "phone", phone: "+15550000001" },
        { kind: "group", group: "Team" },
        { kind: "phone", phone: "+15550000001" },
      ])
    }),
  )

  it.effect("accepts 1,000 recipients", () =>
    Effect.sync(() => {
      const request = getSuccess(batch(list(Array.from({ length: 1000 }, () => phone))))
      assert.lengthOf(request.recipients, 1000)
    }),
  )

  refusals(
    [
      ["a to that is not a list", list(phone), [["validation_failed", "to"]]],
      ["a missing to", { text: "Hello" }, [["validation_failed", "to"]]],
      ["an empty to", list([]), [["validation_failed", "to"]]],
      [
        "1,001 recipients",
        list(Array.from({ length: 1001 }, () => phone)),
        [["too_many_recipients", "to"]],
      ],
      [
        "1,001 recipients of any kind",
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
        list([{ username: "name" }, phone, {}, 5, null, { contactId: 1.5 }, { group: "" }]),
        [
          ["invalid_username", "to[0].username"],
          ["validation_failed", "to[2]"],
          ["validation_failed", "to[3]"],
          ["validation_failed", "to[4]"],
          ["validation_failed", "to[5].contactId"],
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
        list([phone], { from: "7", text: "", sendAt: "soon", cc: [] }),
        [
          ["validation_failed", "from"],
          ["text_required", "text"],
          ["invalid_datetime", "sendAt"],
          ["validation_failed", "cc"],
        ],
      ],
    ],
    batch,
  )
})
