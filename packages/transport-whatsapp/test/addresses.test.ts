/** Phones and the remote server's addresses of them. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { canonicalAddresses, toDigits, withoutDevice } from "../src/recipients.ts"
import { phone } from "./LiveWorld.ts"

it.effect("an address is the phone's digits, and a device of a person is that person", () =>
  Effect.sync(() => {
    assert.strictEqual(toDigits("4915112345678:12@s.whatsapp.net"), "4915112345678")
    assert.strictEqual(
      withoutDevice("4915112345678:12@s.whatsapp.net"),
      "4915112345678@s.whatsapp.net",
    )
    assert.strictEqual(withoutDevice("99:3@lid"), "99@lid")
  }),
)

it.effect("phones that the remote server omits, or denies, are not registered", () =>
  Effect.sync(() => {
    const [a, b, c] = ["+4915112345678", "+4915112345679", "+15550001234"].map(phone)
    const found = canonicalAddresses(
      [a, b, c].flatMap((one) => one ?? []),
      [
        { jid: "15550001234@s.whatsapp.net", exists: true, requests: "" },
        { jid: "4915112345679@s.whatsapp.net", exists: false, requests: "" },
      ],
    )
    assert.deepStrictEqual([...found], [[c, "15550001234@s.whatsapp.net"]])
  }),
)

it.effect.each([
  ["+5511987654321", "551187654321"],
  ["+551187654321", "5511987654321"],
  ["+525512345678", "5215512345678"],
  ["+541112345678", "5491112345678"],
] as const)("%s is known as %s", ([query, answered]) =>
  Effect.sync(() => {
    const jid = `${answered}:0@s.whatsapp.net`
    assert.deepStrictEqual(
      [...canonicalAddresses([phone(query)], [{ jid, exists: true, requests: "" }])],
      [[phone(query), `${answered}@s.whatsapp.net`]],
    )
  }),
)

it.effect("two phones that differ only there each get their own answer", () =>
  Effect.sync(() => {
    const requests = ["+5511987654321", "+551187654321"].map(phone)
    const found = canonicalAddresses(
      requests,
      requests.map((one) => ({
        jid: `${one.slice(1)}@s.whatsapp.net`,
        exists: true,
        requests: "",
      })),
    )
    assert.deepStrictEqual(
      [...found],
      requests.map((one) => [one, `${one.slice(1)}@s.whatsapp.net`]),
    )
  }),
)

it.effect("a phone that the remote server answered for keeps that answer", () =>
  Effect.sync(() => {
    const [landline, mobile] = [phone("+551187654321"), phone("+5511987654321")]
    const unknown = { jid: "551187654321@s.whatsapp.net", exists: false, requests: "" }
    const known = { jid: "5511987654321@s.whatsapp.net", exists: true, requests: "" }
    const registered = (...answers: Parameters<typeof canonicalAddresses>[1]) => [
      ...canonicalAddresses([landline, mobile], answers).keys(),
    ]
    assert.deepStrictEqual(registered(unknown, known), [mobile])
    assert.deepStrictEqual(registered(known, unknown), [mobile])
    // Without an answer of its own, a phone has that of the other spelling.
    assert.deepStrictEqual(registered(known), [landline, mobile])
    // One that repeats the phone is that phone's, whatever its address.
    const moved = { ...known, requests: "551187654321" }
    assert.deepStrictEqual(registered(moved), [landline, mobile])
    const denied = { ...known, exists: false, requests: "5511987654321" }
    assert.deepStrictEqual(registered(moved, denied), [landline])
  }),
)

it.effect("a landline of Brazil is no other spelling of a mobile phone", () =>
  Effect.sync(() => {
    const answer = { jid: "5511934567890@s.whatsapp.net", exists: true, requests: "" }
    assert.deepStrictEqual([...canonicalAddresses([phone("+551134567890")], [answer])], [])
  }),
)
