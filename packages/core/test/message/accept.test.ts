import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Contact } from "../../src/contact/Contacts.ts"
import type { Code } from "../../src/error/Catalogue.ts"
import type { Refusal } from "../../src/error/Refusal.ts"
import { fromIndexes } from "../../src/id/Ids.ts"
import type { ContactId, KeyId, MediaId, NumberId, WorkspaceId } from "../../src/id/Ids.ts"
import type { Sender } from "../../src/key/Caller.ts"
import type { MediaFile } from "../../src/media/Media.ts"
import {
  decideAcceptance,
  decideRefused,
  plannedQuota,
  resolveNumber,
} from "../../src/message/accept.ts"
import type { AcceptContext } from "../../src/message/accept.ts"
import type { Acceptance, AcceptanceFacts } from "../../src/message/MessageStore.ts"
import { dailyQuota } from "../../src/message/Quota.ts"
import type { QuotaFacts } from "../../src/message/Quota.ts"
import { sendRequestParser } from "../../src/message/SendRequest.ts"
import type { SendRequest } from "../../src/message/SendRequest.ts"
import type { NumberStatus, Platform, SendingNumber } from "../../src/number/SendingNumber.ts"
import type { Phone } from "../../src/recipient/Phone.ts"
import { formatInstant } from "../../src/time/Instant.ts"
import { unlimitedPlan } from "../../src/workspace/Workspace.ts"
import type { Plan } from "../../src/workspace/Workspace.ts"

const now = Date.UTC(2026, 2, 2, 12, 0, 0, 250)
const second = 1000
const day = 24 * 60 * 60 * second
const workspaceId = 1 as WorkspaceId

const aNumber = (
  id: number,
  platform: Platform = "whatsapp",
  status: NumberStatus = "connected",
): SendingNumber => ({
  id: id as NumberId,
  workspaceId,
  phone: `1555000${id}`,
  label: "",
  platform,
  status,
  loginMethod: "qr",
  mode: "live",
  createdAt: now - day,
})

const aContact = (id: number, given: Partial<Contact>): Contact => ({
  id: id as ContactId,
  workspaceId,
  name: "Jane",
  phone: null,
  username: null,
  createdAt: now - day,
  ...given,
})

const withPhone = aContact(61, { phone: "+15550000061" as Phone })
const withUsername = aContact(62, { username: "@jane_doe" })

const anImage: MediaFile = {
  id: 71 as MediaId,
  workspaceId,
  mode: "live",
  fileName: "photo.png",
  type: "image",
  mimeType: "image/png",
  size: 1024,
  storageKey: "photo",
  createdAt: now - day,
}

const aSender = (given: Partial<Sender> = {}): Sender => ({
  workspaceId,
  mode: "live",
  numberIds: null,
  ...given,
})

const limitedTo = (...ids: ReadonlyArray<number>) => aSender({ numberIds: ids as Array<NumberId> })

const emptyQuota: QuotaFacts = { bound: 0, fullUntil: null, exact: null }

interface World {
  readonly numbers?: ReadonlyArray<SendingNumber>
  readonly contacts?: ReadonlyArray<Contact>
  readonly media?: MediaFile | null
  readonly plan?: Plan | null
  readonly quota?: QuotaFacts
}

/** What a store tells about this world for a request, as its port says. */
const factsFor = (request: SendRequest, world: World): AcceptanceFacts => {
  const quota = world.quota ?? emptyQuota
  const all = (world.numbers ?? [aNumber(1)]).map((number) => ({ number, quota }))
  const connected = (platform: Platform) =>
    all
      .filter(({ number }) => number.platform === platform && number.status === "connected")
      .slice(0, 2)
  const contacts = world.contacts ?? [withPhone, withUsername]
  return {
    claim: null,
    plan: world.plan === undefined ? unlimitedPlan : world.plan,
    named: all.find(({ number }) => number.id === request.from) ?? null,
    connected: request.from === null ? [...connected("whatsapp"), ...connected("telegram")] : [],
    contactIdByPhone: new Map(
      contacts.flatMap(({ id, phone }) => (phone === null ? [] : [[phone, id] as const])),
    ),
    contacts: new Map(contacts.map((contact) => [contact.id, contact])),
    media: world.media ?? null,
  }
}

const parser = sendRequestParser({ allowPrivate: false })

/** A request from its JSON; a batch when `to` is a list. */
const aRequest = (given: Readonly<Record<string, unknown>>): SendRequest => {
  const body: Readonly<Record<string, unknown>> = { text: "Hello", ...given }
  return Result.getOrThrow(Array.isArray(body["to"]) ? parser.batch(body) : parser.single(body))
}

/** Ids that count up, so that no two are alike. */
const countingIds = () => {
  let drawn = 0
  return fromIndexes((bound) => drawn++ % bound)
}

const decide = (
  request: SendRequest,
  world: World = {},
  context: Partial<AcceptContext> = {},
): Result.Result<Acceptance, Refusal> =>
  decideAcceptance(request, factsFor(request, world), {
    sender: aSender(),
    now,
    ids: countingIds(),
    idempotency: null,
    linkAllowed: true,
    ...context,
  })

type Verdict = readonly [code: Code, field: string | null] | "accepted"

const verdict = (result: Result.Result<unknown, Refusal>): Verdict =>
  Result.match(result, {
    onFailure: ({ code, field }) => [code, field],
    onSuccess: () => "accepted",
  })

const refusalOf = (result: Result.Result<unknown, Refusal>): Refusal =>
  Result.getOrThrow(Result.flip(result))

/** ISO 8601 of a moment, to the millisecond. */
const iso = (millis: number, digits = "") =>
  formatInstant(millis).replace("Z", `.${String(millis % 1000).padStart(3, "0")}${digits}Z`)

const to = {
  phone: { phone: "+15550000001" },
  group: { group: "Team" },
  username: { username: "@jane_doe" },
  contactWithPhone: { contact_id: withPhone.id },
  contactWithUsername: { contact_id: withUsername.id },
}

describe("from", () => {
  /** Numbers 1 and 2 are WhatsApp phones, 11 and 12 Telegram accounts. */
  const connected = (whatsapp: number, telegram: number): ReadonlyArray<SendingNumber> => [
    ...[1, 2].slice(0, whatsapp).map((id) => aNumber(id)),
    ...[11, 12].slice(0, telegram).map((id) => aNumber(id, "telegram")),
  ]

  /** The number that is used, or the refusal. */
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
  /** Of a batch that mixes usernames with others. */
  const mixedOf = (field: string) => {
    const needed = `username_needs_telegram ${field}`
    return [needed, 11, needed, none, none, none, none, none, none]
  }

  const omitted: ReadonlyArray<
    readonly [what: string, to: unknown, byCounts: ReadonlyArray<number | string>]
  > = [
    ["a phone", to.phone, anyOf],
    ["a contact with a phone", to.contactWithPhone, anyOf],
    ["an unknown contact", { contact_id: 99 }, anyOf],
    ["a group", to.group, whatsappOf],
    ["a username", to.username, telegramOf("to.username")],
    ["a contact with only a username", to.contactWithUsername, telegramOf("to.contact_id")],
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
      mixedOf("to[1].contact_id"),
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

    it.effect("numbers that are logged out or being connected do not count", () =>
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
    const given: ReadonlyArray<
      readonly [what: string, to: unknown, whatsapp: string | null, telegram: string | null]
    > = [
      ["a phone", to.phone, null, null],
      ["a contact with a phone", to.contactWithPhone, null, null],
      ["a group", to.group, null, `${unfit} to.group`],
      ["a username", to.username, `${needed} to.username`, null],
      ["a contact with only a username", to.contactWithUsername, `${needed} to.contact_id`, null],
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

    it.effect.each(given)("for %s, connected or logged out", ([, recipients, whatsapp, telegram]) =>
      Effect.sync(() => {
        for (const from of [1, 2]) {
          assert.strictEqual(resolved(recipients, numbers, { from }), whatsapp ?? from)
        }
        for (const from of [11, 12]) {
          assert.strictEqual(resolved(recipients, numbers, { from }), telegram ?? from)
        }
      }),
    )

    it.effect("a number that is not the workspace's is number_not_found", () =>
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

    it.effect("omitted, the only connected number must be one of its numbers", () =>
      Effect.sync(() => {
        const use = (sender: Sender, recipients: unknown, ...connectedNow: Array<SendingNumber>) =>
          resolved(recipients, connectedNow, { sender })
        assert.strictEqual(use(limitedTo(1, 2), to.phone, aNumber(1)), 1)
        assert.strictEqual(use(limitedTo(2), to.phone, aNumber(1)), none)
        assert.strictEqual(use(limitedTo(2), to.group, aNumber(1)), none)
        // Several of the workspace are several, whatever the key may use of them.
        assert.strictEqual(use(limitedTo(1), to.phone, aNumber(1), aNumber(2)), none)
        const telegram = aNumber(11, "telegram")
        assert.strictEqual(use(limitedTo(11), to.username, aNumber(1), telegram), 11)
        assert.strictEqual(use(limitedTo(1), to.username, aNumber(1), telegram), none)
        // The WhatsApp number wins even where the key may use only the Telegram account.
        assert.strictEqual(use(limitedTo(11), to.phone, aNumber(1), telegram), none)
        assert.strictEqual(use(limitedTo(11), to.phone, telegram), 11)
        assert.strictEqual(use(limitedTo(), to.phone, aNumber(1)), none)
        // Several are several of the platform that would be used.
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
        refusalOf(decide(aRequest({ to: recipients, from }), { numbers }, { sender: limitedTo(2) }))
          .status
      assert.strictEqual(status(1, to.phone), 403)
      assert.strictEqual(status(9, to.phone), 422)
      assert.strictEqual(status(null, to.phone), 422)
      assert.strictEqual(status(null, to.username), 422)
      assert.strictEqual(status(2, to.group, [aNumber(2, "telegram")]), 400)
    }),
  )
})

describe("time_in_past", () => {
  const past = (given: Readonly<Record<string, unknown>>) =>
    verdict(decide(aRequest({ to: to.phone, ...given })))

  it.effect("send_at and expires_at must lie in the future, at full precision", () =>
    Effect.sync(() => {
      for (const field of ["send_at", "expires_at"]) {
        assert.deepStrictEqual(past({ [field]: iso(now - 1) }), ["time_in_past", field])
        assert.deepStrictEqual(past({ [field]: iso(now) }), ["time_in_past", field])
        assert.deepStrictEqual(past({ [field]: "2001-01-01T00:00:00Z" }), ["time_in_past", field])
        assert.strictEqual(past({ [field]: iso(now, "0001") }), "accepted")
        assert.strictEqual(past({ [field]: iso(now + 1) }), "accepted")
      }
    }),
  )

  it.effect("offsets are told apart from clock times", () =>
    Effect.sync(() => {
      assert.strictEqual(past({ send_at: "2026-03-02T12:00:01+00:00" }), "accepted")
      assert.strictEqual(past({ send_at: "2026-03-02T07:00:01-05:00" }), "accepted")
      assert.deepStrictEqual(past({ send_at: "2026-03-02T12:00:01+00:01" }), [
        "time_in_past",
        "send_at",
      ])
    }),
  )

  it.effect("of two past times the first of the table is named", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        past({ send_at: iso(now - 2 * second), expires_at: iso(now - second) }),
        ["time_in_past", "send_at"],
      ),
    ),
  )
})

describe("references", () => {
  it.effect("contact_not_found names the first unknown contact", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(verdict(decide(aRequest({ to: { contact_id: 99 } }))), [
        "contact_not_found",
        "to.contact_id",
      ])
      const batch = aRequest({
        to: [to.phone, to.contactWithPhone, { contact_id: 98 }, { contact_id: 99 }],
      })
      assert.deepStrictEqual(verdict(decide(batch)), ["contact_not_found", "to[2].contact_id"])
    }),
  )

  it.effect("media_not_found is 422 on a send", () =>
    Effect.sync(() => {
      const refusal = refusalOf(decide(aRequest({ to: to.phone, media: { media_id: 99 } })))
      assert.deepStrictEqual(
        [refusal.code, refusal.status, refusal.field],
        ["media_not_found", 422, "media.media_id"],
      )
    }),
  )

  it.effect("a link whose host resolves to a private address is invalid_media_url", () =>
    Effect.sync(() => {
      const request = aRequest({ to: to.phone, media: { url: "https://example.com/a.png" } })
      assert.deepStrictEqual(verdict(decide(request, {}, { linkAllowed: false })), [
        "invalid_media_url",
        "media.url",
      ])
      assert.strictEqual(verdict(decide(request)), "accepted")
    }),
  )
})

describe("plan allowance", () => {
  const plan = (messagesRemaining: number | null): Plan => ({ ...unlimitedPlan, messagesRemaining })
  const send = (count: number, given: Plan | null, sender = aSender()) =>
    verdict(
      decide(
        aRequest({ to: Array.from({ length: count }, () => to.phone) }),
        { plan: given },
        { sender },
      ),
    )

  it.effect("the whole list must fit the plan's remaining messages, else no_credits", () =>
    Effect.sync(() => {
      assert.strictEqual(send(3, plan(3)), "accepted")
      assert.deepStrictEqual(send(4, plan(3)), ["no_credits", null])
      assert.deepStrictEqual(send(1, plan(0)), ["no_credits", null])
      assert.strictEqual(send(1000, plan(null)), "accepted")
    }),
  )

  it.effect("a workspace without an active plan has no messages left", () =>
    Effect.sync(() => assert.deepStrictEqual(send(1, null), ["no_credits", null])),
  )

  it.effect("a test key is subject to it too", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(send(1, plan(0), aSender({ mode: "test" })), ["no_credits", null])
    }),
  )

  it.effect("no_credits is 402", () =>
    Effect.sync(() =>
      assert.strictEqual(refusalOf(decide(aRequest({ to: to.phone }), { plan: null })).status, 402),
    ),
  )
})

describe("the number's 24-hour quota", () => {
  const full = (roomAt: number, planned = 1000): QuotaFacts => ({
    bound: 1000,
    fullUntil: null,
    exact: { planned, roomAt },
  })
  const send = (count: number, quota: QuotaFacts, given: object = {}, sender = aSender()) =>
    decide(
      aRequest({ to: Array.from({ length: count }, () => to.phone), ...given }),
      { quota },
      { sender },
    )

  it.effect("a list that does not fit is refused as a whole", () =>
    Effect.sync(() => {
      assert.strictEqual(verdict(send(1000, emptyQuota)), "accepted")
      assert.strictEqual(verdict(send(1, full(now, 999))), "accepted")
      assert.strictEqual(verdict(send(2, full(now, 998))), "accepted")
      assert.deepStrictEqual(verdict(send(2, full(now + 1, 999))), [
        "number_daily_cap_reached",
        null,
      ])
    }),
  )

  it.effect("Retry-After is the seconds until the number has room, rounded up", () =>
    Effect.sync(() => {
      const retryAfter = (roomAt: number) => {
        const { retryAfter: seconds, status } = refusalOf(send(1, full(roomAt)))
        assert.strictEqual(status, 429)
        return seconds
      }
      assert.strictEqual(retryAfter(now + day), 86_400)
      assert.strictEqual(retryAfter(now + 10 * second), 10)
      assert.strictEqual(retryAfter(now + 10 * second + 1), 11)
      assert.strictEqual(retryAfter(now + 1), 1)
    }),
  )

  it.effect("the moment until which the number is known to be full refuses without counting", () =>
    Effect.sync(() => {
      const quota: QuotaFacts = { bound: 1000, fullUntil: now + 90 * second, exact: null }
      const refusal = refusalOf(send(1, quota))
      assert.deepStrictEqual([refusal.code, refusal.retryAfter], ["number_daily_cap_reached", 90])
      assert.strictEqual(verdict(send(1, quota, { send_at: iso(now + 90 * second) })), "accepted")
    }),
  )

  it.effect("planned time governs: send_at, else now", () =>
    Effect.sync(() => {
      const at = (given: object) =>
        plannedQuota(aRequest({ to: [to.phone, to.phone], ...given }), now)
      assert.deepStrictEqual(at({}), { plannedAt: now, count: 2, limit: dailyQuota })
      assert.deepStrictEqual(at({ send_at: iso(now + day) }), {
        plannedAt: now + day,
        count: 2,
        limit: dailyQuota,
      })
      assert.deepStrictEqual(dailyQuota, { messages: 1000, windowMillis: day })
    }),
  )

  it.effect("a test key is subject to it too", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(verdict(send(1, full(now + 1), {}, aSender({ mode: "test" }))), [
        "number_daily_cap_reached",
        null,
      ]),
    ),
  )
})

it.effect(
  "checks come in the contract's order: times, number, contact, media, allowance, quota",
  () =>
    Effect.sync(() => {
      let given: Readonly<Record<string, unknown>> = {
        to: { contact_id: 99 },
        from: 9,
        media: { media_id: 99 },
        send_at: iso(now - 2),
        expires_at: iso(now - 1),
      }
      let world: World = {
        plan: null,
        quota: { bound: 1000, fullUntil: null, exact: { planned: 1000, roomAt: now + 1 } },
      }
      const verdicts: Array<Verdict> = []
      const then = (fix: Readonly<Record<string, unknown>>, change: World = {}) => {
        given = { ...given, ...fix }
        world = { ...world, ...change }
        verdicts.push(verdict(decide(aRequest(given), world)))
      }
      then({})
      then({ send_at: null })
      then({ expires_at: null })
      then({ from: 1 })
      then({ to: to.phone })
      then({ media: null })
      then({}, { plan: unlimitedPlan })
      then({}, { quota: emptyQuota })
      assert.deepStrictEqual(verdicts, [
        ["time_in_past", "send_at"],
        ["time_in_past", "expires_at"],
        ["number_not_found", "from"],
        ["contact_not_found", "to.contact_id"],
        ["media_not_found", "media.media_id"],
        ["no_credits", null],
        ["number_daily_cap_reached", null],
        "accepted",
      ])
    }),
)

describe("an acceptance", () => {
  const accepted = (
    given: Readonly<Record<string, unknown>>,
    world: World = {},
    context: Partial<AcceptContext> = {},
  ) => Result.getOrThrow(decide(aRequest(given), world, context))

  it.effect("holds all that the message is to be, and what it takes", () =>
    Effect.sync(() => {
      const claim = {
        keyId: 5 as KeyId,
        key: "key",
        fingerprint: "fingerprint",
        token: "token",
      }
      const acceptance = accepted(
        { to: to.phone, send_at: iso(now + day), expires_at: iso(now + 2 * day, "5") },
        {},
        { idempotency: claim },
      )
      assert.deepStrictEqual<unknown>(acceptance, {
        now,
        workspaceId,
        numberId: 1,
        mode: "live",
        allowance: 1,
        quota: { plannedAt: now + day, count: 1, limit: dailyQuota },
        idempotency: claim,
        messages: [
          {
            workspaceId,
            mode: "live",
            from: { id: 1, phone: "15550001", platform: "whatsapp" },
            phoneAtAcceptance: "15550001",
            to: { kind: "phone", phone: "+15550000001", contactId: null },
            text: "Hello",
            media: null,
            foundMediaType: null,
            sendAt: now + day,
            expiresAt: now + 2 * day,
            createdAt: now,
            dueAt: now + day,
            transportId: acceptance.messages[0]?.transportId,
            callbackUrl: null,
          },
        ],
      })
    }),
  )

  it.effect("resolves each kind of recipient, in the order of to", () =>
    Effect.sync(() => {
      const recipients = (given: unknown, numbers = [aNumber(1), aNumber(11, "telegram")]) =>
        accepted({ to: given }, { numbers }).messages.map((message) => message.to)
      assert.deepStrictEqual<unknown>(
        recipients([to.phone, to.group, to.contactWithPhone, { phone: withPhone.phone }]),
        [
          { kind: "phone", phone: "+15550000001", contactId: null },
          { kind: "group", group: "Team" },
          { kind: "contact_phone", contactId: 61, phone: "+15550000061" },
          { kind: "phone", phone: "+15550000061", contactId: 61 },
        ],
      )
      assert.deepStrictEqual<unknown>(
        recipients(
          [{ username: "https://t.me/jane_doe" }, to.contactWithUsername, to.phone],
          [aNumber(11, "telegram")],
        ),
        [
          { kind: "username", username: "https://t.me/jane_doe" },
          { kind: "contact_username", contactId: 62, username: "@jane_doe" },
          { kind: "phone", phone: "+15550000001", contactId: null },
        ],
      )
    }),
  )

  it.effect("a recipient that appears twice receives two messages, each with ids of its own", () =>
    Effect.sync(() => {
      const { allowance, messages, quota } = accepted({ to: [to.phone, to.phone] })
      assert.lengthOf(messages, 2)
      assert.strictEqual(allowance, 2)
      assert.strictEqual(quota?.count, 2)
      const [first, again] = messages
      assert.deepStrictEqual(first?.to, again?.to)
      assert.notStrictEqual(first?.transportId, again?.transportId)
      for (const message of messages) {
        assert.match(message.transportId, /^[0-9A-F]{20}$/)
      }
    }),
  )

  it.effect("a message of a test key takes neither allowance nor quota", () =>
    Effect.sync(() => {
      const acceptance = accepted({ to: to.phone }, {}, { sender: aSender({ mode: "test" }) })
      assert.deepStrictEqual(
        [acceptance.mode, acceptance.allowance, acceptance.quota, acceptance.messages[0]?.mode],
        ["test", 0, null, "test"],
      )
    }),
  )

  it.effect("a file of the media directory tells its type and name unless the request does", () =>
    Effect.sync(() => {
      const media = (given: object) =>
        accepted({ to: to.phone, media: { media_id: 71, ...given } }, { media: anImage })
          .messages[0]?.media
      assert.deepStrictEqual<unknown>(media({}), {
        mediaId: 71,
        attachmentId: null,
        url: null,
        type: "image",
        fileName: "photo.png",
      })
      assert.deepStrictEqual<unknown>(media({ type: "file", file_name: "b.png" }), {
        mediaId: 71,
        attachmentId: null,
        url: null,
        type: "file",
        fileName: "b.png",
      })
    }),
  )

  it.effect("a link stays as it was given", () =>
    Effect.sync(() => {
      const url = "https://example.com/download"
      assert.deepStrictEqual(accepted({ to: to.phone, media: { url } }).messages[0]?.media, {
        mediaId: null,
        attachmentId: null,
        url,
        type: null,
        fileName: null,
      })
    }),
  )

  it.effect("keeps the number's phone of the moment, null before it was ever scanned", () =>
    Effect.sync(() => {
      const unscanned = { ...aNumber(1, "whatsapp", "disconnected"), phone: null }
      const { messages } = accepted({ to: to.phone, from: 1 }, { numbers: [unscanned] })
      assert.deepStrictEqual<unknown>(messages[0]?.from, {
        id: 1,
        phone: null,
        platform: "whatsapp",
      })
    }),
  )
})

describe("a request that is refused for want of room", () => {
  const context = () => ({
    sender: aSender(),
    now,
    ids: countingIds(),
    idempotency: null,
    linkAllowed: true,
  })
  const full = { bound: 1000, fullUntil: now + day, exact: null }

  it.effect("comes to the same messages as with room, but takes nothing", () =>
    Effect.sync(() => {
      const request = aRequest({ to: to.contactWithPhone, send_at: iso(now + second) })
      const refused = decideRefused(request, factsFor(request, { quota: full }), context())
      assert.deepStrictEqual(Result.getOrThrow(refused), {
        ...Result.getOrThrow(decide(request)),
        allowance: 0,
        quota: null,
      })
    }),
  )

  it.effect("is still refused for everything else", () =>
    Effect.sync(() => {
      const request = aRequest({ to: { contact_id: 99 } })
      const refused = decideRefused(request, factsFor(request, { quota: full }), context())
      assert.deepStrictEqual(verdict(refused), ["contact_not_found", "to.contact_id"])
    }),
  )
})
