/** The sending number: named, or chosen from the connected ones. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Sender } from "../../src/model/Auth.ts"
import { resolveNumber } from "../../src/model/accept.ts"
import type { SendingNumber } from "../../src/model/SendingNumber.ts"
import {
  aNumber,
  aSender,
  limitedTo,
  factsFor,
  aRequest,
  decide,
  getRefusal,
  to,
} from "./Accepting.ts"

describe("from", () => {
  /** Numbers 1 and 2 are WhatsApp phones, 11 and 12 Telegram accounts. */
  const connected = (whatsapp: number, telegram: number): ReadonlyArray<SendingNumber> => [
    ...[1, 2].slice(0, whatsapp).map((id) => aNumber(id)),
    ...[11, 12].slice(0, telegram).map((id) => aNumber(id, "telegram")),
  ]

  /** The chosen number, or the refusal. */
  const resolved = (
    recipients: unknown,
    numbers: ReadonlyArray<SendingNumber>,
    options: { readonly from?: number; readonly sender?: Sender } = {},
  ) => {
    const request = aRequest({
      to: recipients,
      ...(options.from === undefined ? {} : { from: options.from }),
    })
    return Result.match(
      resolveNumber(request, factsFor(request, { numbers }), options.sender ?? aSender()),
      {
        onFailure: ({ code, field }) => `${code} ${field}`,
        onSuccess: ({ number }) => number.id as number,
      },
    )
  }

  const counts: ReadonlyArray<readonly [whatsapp: number, telegram: number]> = [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
    [1, 2],
    [2, 0],
    [2, 1],
    [2, 2],
  ]

  const none = "from_required from"
  const anyOf = [none, 11, none, 1, 1, 1, none, none, none]
  const whatsappOf = [none, none, none, 1, 1, 1, none, none, none]
  const telegramOf = (field: string) => {
    const needed = `username_needs_telegram ${field}`
    return [needed, 11, needed, needed, 11, needed, needed, 11, needed]
  }
  /** For a batch that mixes usernames with others. */
  const mixedOf = (field: string) => {
    const needed = `username_needs_telegram ${field}`
    return [needed, 11, needed, none, none, none, none, none, none]
  }

  const omitted: ReadonlyArray<
    readonly [what: string, to: unknown, byCounts: ReadonlyArray<number | string>]
  > = [
    ["a phone", to.phone, anyOf],
    ["a contact with a phone", to.contactWithPhone, anyOf],
    ["an unknown contact", { contactId: 99 }, anyOf],
    ["a group", to.group, whatsappOf],
    ["a username", to.username, telegramOf("to.username")],
    ["a contact with only a username", to.contactWithUsername, telegramOf("to.contactId")],
    ["a batch of phones", [to.phone, to.contactWithPhone], anyOf],
    ["a batch with a group", [to.phone, to.group], whatsappOf],
    [
      "a batch with one username among phones",
      [to.phone, to.contactWithPhone, to.username],
      mixedOf("to[2].username"),
    ],
    [
      "a batch with one contact that has only a username",
      [to.phone, to.contactWithUsername, to.phone],
      mixedOf("to[1].contactId"),
    ],
    ["a batch of usernames", [to.username, to.contactWithUsername], telegramOf("to[0].username")],
    [
      "a batch with a group and a username",
      [to.group, to.phone, to.username],
      counts.map(() => none),
    ],
  ]

  describe("omitted, by connected WhatsApp numbers and Telegram accounts", () => {
    it.effect.each(omitted)("for %s", ([, recipients, expected]) =>
      Effect.sync(() =>
        assert.deepStrictEqual<unknown>(
          counts.map(([whatsapp, telegram]) => resolved(recipients, connected(whatsapp, telegram))),
          expected,
        ),
      ),
    )

    it.effect("ignores numbers that are logged out or connecting", () =>
      Effect.sync(() => {
        const numbers = [
          aNumber(1, "whatsapp", "disconnected"),
          aNumber(2, "whatsapp", "connecting"),
          aNumber(3),
          aNumber(11, "telegram", "disconnected"),
        ]
        assert.strictEqual(resolved(to.phone, numbers), 3)
        assert.strictEqual(resolved(to.username, numbers), "username_needs_telegram to.username")
        assert.strictEqual(resolved(to.phone, numbers.slice(0, 2)), none)
      }),
    )
  })

  describe("given", () => {
    const numbers = [
      aNumber(1),
      aNumber(2, "whatsapp", "disconnected"),
      aNumber(11, "telegram"),
      aNumber(12, "telegram", "disconnected"),
    ]
    const needed = "username_needs_telegram"
    const unfit = "validation_failed"
    const args: ReadonlyArray<
      readonly [what: string, to: unknown, whatsapp: string | null, telegram: string | null]
    > = [
      ["a phone", to.phone, null, null],
      ["a contact with a phone", to.contactWithPhone, null, null],
      ["a group", to.group, null, `${unfit} to.group`],
      ["a username", to.username, `${needed} to.username`, null],
      ["a contact with only a username", to.contactWithUsername, `${needed} to.contactId`, null],
      ["a batch with a group", [to.phone, to.group], null, `${unfit} to[1].group`],
      [
        "a batch with a username",
        [to.phone, to.phone, to.username],
        `${needed} to[2].username`,
        null,
      ],
      [
        "a batch with a group and a username",
        [to.username, to.group],
        `${needed} to[0].username`,
        `${unfit} to[1].group`,
      ],
    ]

    it.effect.each(args)("for %s, connected or logged out", ([, recipients, whatsapp, telegram]) =>
      Effect.sync(() => {
        for (const from of [1, 2]) {
          assert.strictEqual(resolved(recipients, numbers, { from }), whatsapp ?? from)
        }
        for (const from of [11, 12]) {
          assert.strictEqual(resolved(recipients, numbers, { from }), telegram ?? from)
        }
      }),
    )

    it.effect("a number outside the workspace is number_not_found", () =>
      Effect.sync(() => {
        for (const from of [99, 0, -1]) {
          for (const sender of [aSender(), limitedTo(1)]) {
            assert.strictEqual(
              resolved(to.phone, numbers, { from, sender }),
              "number_not_found from",
            )
          }
        }
      }),
    )
  })

  describe("with a key limited to some numbers", () => {
    const numbers = [aNumber(1), aNumber(2), aNumber(11, "telegram")]

    it.effect("another number of the workspace is number_not_allowed, to any recipient", () =>
      Effect.sync(() => {
        const sender = limitedTo(2)
        assert.strictEqual(
          resolved(to.phone, numbers, { from: 1, sender }),
          "number_not_allowed from",
        )
        assert.strictEqual(
          resolved(to.username, numbers, { from: 1, sender }),
          "number_not_allowed from",
        )
        assert.strictEqual(resolved(to.phone, numbers, { from: 2, sender }), 2)
      }),
    )

    it.effect("when omitted, the only connected number must be one of the key's", () =>
      Effect.sync(() => {
        const use = (sender: Sender, recipients: unknown, ...connectedNow: Array<SendingNumber>) =>
          resolved(recipients, connectedNow, { sender })
        assert.strictEqual(use(limitedTo(1, 2), to.phone, aNumber(1)), 1)
        assert.strictEqual(use(limitedTo(2), to.phone, aNumber(1)), none)
        assert.strictEqual(use(limitedTo(2), to.group, aNumber(1)), none)
        // The workspace has several, whatever the key may use.
        assert.strictEqual(use(limitedTo(1), to.phone, aNumber(1), aNumber(2)), none)
        const telegram = aNumber(11, "telegram")
        assert.strictEqual(use(limitedTo(11), to.username, aNumber(1), telegram), 11)
        assert.strictEqual(use(limitedTo(1), to.username, aNumber(1), telegram), none)
        // The WhatsApp number wins even where the key may use only the Telegram account.
        assert.strictEqual(use(limitedTo(11), to.phone, aNumber(1), telegram), none)
        assert.strictEqual(use(limitedTo(11), to.phone, telegram), 11)
        assert.strictEqual(use(limitedTo(), to.phone, aNumber(1)), none)
        // Only numbers of the chosen platform count as several.
        assert.strictEqual(use(limitedTo(1), to.phone, aNumber(1), telegram), 1)
        assert.strictEqual(use(limitedTo(11), to.username, telegram, aNumber(1), aNumber(2)), 11)
        assert.strictEqual(use(limitedTo(11), [to.username, to.phone], telegram), 11)
        assert.strictEqual(use(limitedTo(1), [to.username, to.phone], telegram), none)
        assert.strictEqual(use(limitedTo(1), [to.username, to.phone], telegram, aNumber(1)), none)
      }),
    )
  })

  it.effect("number_not_allowed is 403, the other refusals are 422 or 400", () =>
    Effect.sync(() => {
      const status = (from: number | null, recipients: unknown, numbers = [aNumber(1)]) =>
        getRefusal(
          decide(aRequest({ to: recipients, from }), { numbers }, { sender: limitedTo(2) }),
        ).status
      assert.strictEqual(status(1, to.phone), 403)
      assert.strictEqual(status(9, to.phone), 422)
      assert.strictEqual(status(null, to.phone), 422)
      assert.strictEqual(status(null, to.username), 422)
      assert.strictEqual(status(2, to.group, [aNumber(2, "telegram")]), 400)
    }),
  )
})
