/** Whom the form of a message offers. */
import { assert, describe, it } from "vitest"
import { suggestRecipients } from "../pages/messages/recipients.ts"

const messages = ["+15550100002", "+15550100003", "+15550100002"].map((phone) => ({
  to: { phone, contact_id: null },
}))
const contacts = [
  { name: "Ada", phone: "+15550100003", username: null },
  { name: "Bob", phone: null, username: "@bob" },
]

const suggest = (text: string) =>
  suggestRecipients(text, messages, contacts).map(({ address, name }) => `${name} ${address}`)

describe("suggested recipients", () => {
  it("are the last ones, each once, then the contacts", () => {
    assert.deepStrictEqual(suggest(""), [" +15550100002", "Ada +15550100003", "Bob @bob"])
  })

  it("match the name or address that is being typed, behind those that are complete", () => {
    assert.deepStrictEqual(suggest("bo"), ["Bob @bob"])
    assert.deepStrictEqual(suggest("+15550100002, 0003"), ["Ada +15550100003"])
    assert.deepStrictEqual(suggest("unknown"), [])
  })

  it("leave out those that the text has", () => {
    assert.deepStrictEqual(suggest("+1 555 010-0003\n"), [" +15550100002", "Bob @bob"])
  })
})
