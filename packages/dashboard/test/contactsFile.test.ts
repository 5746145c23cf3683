/** Which rows of a file become contacts. */
import { assert, it } from "vitest"
import { readContacts } from "../pages/contacts/contactsFile.ts"

it("takes names and addresses by the header, whatever their order", () => {
  const { contacts, incomplete } = readContacts("id,phone,name\n7,+15550100001,Ada\n8,@bob,Bob\n")
  assert.deepStrictEqual(contacts, [
    { row: 2, name: "Ada", address: "+15550100001" },
    { row: 3, name: "Bob", address: "@bob" },
  ])
  assert.deepStrictEqual(incomplete, [])
})

it("takes them by what they look like without a header, and an address once", () => {
  const { contacts, incomplete } = readContacts("Ada;+15550100001\nBob;\nEve;+15550100001\n")
  assert.deepStrictEqual(contacts, [{ row: 1, name: "Ada", address: "+15550100001" }])
  assert.deepStrictEqual(incomplete, [2])
})

it("has no contacts where there are no names", () => {
  assert.deepStrictEqual(readContacts("+15550100001\n").incomplete, [1])
  assert.deepStrictEqual(readContacts("").contacts, [])
})
