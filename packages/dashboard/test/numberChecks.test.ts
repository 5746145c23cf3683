/** Phones of a form as checks: whatever fails, none is asked twice. */
import type { NumberCheck } from "@messaging-service/client"
import { assert, describe, it } from "vitest"
import { requestParts, partsFor, phonesIn } from "../pages/checks/parts.ts"
import type { Part } from "../pages/checks/parts.ts"

const phones = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `+1555024${String(from + index).padStart(4, "0")}`)

const expected = (list: ReadonlyArray<string>) => ({ phones: list, from: null, name: "Guests" })

/** A service that takes every part but those that a test refuses. */
const aService = () => {
  const requests: Array<string> = []
  const keys = new Map<string, number>()
  let next = 0
  const newKey = () => `key ${(next += 1)}`
  const send =
    (fail: (part: Part) => Error | null = () => null, isLost = false) =>
    (part: Part): Promise<NumberCheck> => {
      const error = fail(part)
      if (error !== null && !isLost) return Promise.reject(error)
      if (!keys.has(part.key)) requests.push(...part.body.phones)
      keys.set(part.key, keys.get(part.key) ?? keys.size + 1)
      return error === null
        ? Promise.resolve({ id: keys.get(part.key), name: part.body.name } as NumberCheck)
        : Promise.reject(error)
    }
  return { requests, newKey, send }
}

const refusedPhone = (phone: string) => (part: Part) => {
  const at = part.body.phones.indexOf(phone)
  return at < 0 ? null : Object.assign(new Error("no phone"), { field: `phones[${at}]` })
}

describe("number checks of a form", () => {
  it("finds each phone once, at its first line", () =>
    assert.deepStrictEqual(phonesIn("+1 555-1\n\n+15552, +15551;(+1)5553\r\n"), [
      { phone: "+15551", line: 1 },
      { phone: "+15552", line: 3 },
      { phone: "+15553", line: 3 },
    ]))

  it("asks for each 1,000 under a name and a key of its own", async () => {
    const { requests, newKey, send } = aService()
    const parts = partsFor(expected(phones(2001)), [], newKey)
    assert.deepStrictEqual(
      parts.map(({ body, key }) => [key, body.name, body.phones.length]),
      [
        ["key 1", "Guests 1/3", 1000],
        ["key 2", "Guests 2/3", 1000],
        ["key 3", "Guests 3/3", 1],
      ],
    )
    const { failed } = await requestParts(parts, send())
    assert.isNull(failed)
    assert.deepStrictEqual(requests, phones(2001))
  })

  it.each([
    ["repaired", [...phones(1099), "+15550249999"]],
    ["taken out", phones(1099)],
    ["among others that are new", [...phones(50, 5000), ...phones(1099)]],
  ])("asks nothing again once a refused phone is %s", async (_, repaired) => {
    const { requests, newKey, send } = aService()
    const bad = "+999000000"
    const parts = partsFor(expected([...phones(1099), bad]), [], newKey)
    const first = await requestParts(parts, send(refusedPhone(bad)))
    assert.strictEqual(first.failed, parts[1])
    assert.strictEqual(requests.length, 1000)
    const second = await requestParts(partsFor(expected(repaired), first.known, newKey), send())
    assert.isNull(second.failed)
    assert.sameMembers(requests, repaired)
  })

  it("repeats a part whose answer was lost with its key, whatever else has changed", async () => {
    const { requests, newKey, send } = aService()
    const parts = partsFor(expected(phones(1500)), [], newKey)
    const lost = ({ key }: Part) => (key === parts[1]?.key ? new TypeError("no answer") : null)
    const first = await requestParts(parts, send(lost, true))
    assert.strictEqual(first.failed, parts[1])
    const more = partsFor(expected(phones(1600)), first.known, newKey)
    assert.deepStrictEqual(
      more.slice(0, 2).map(({ key }) => key),
      [parts[0]?.key, parts[1]?.key],
    )
    assert.isNull((await requestParts(more, send())).failed)
    assert.deepStrictEqual(requests, phones(1600))
  })

  it("asks another number for all of them", () => {
    const { newKey } = aService()
    const parts = partsFor(expected(phones(2)), [], newKey)
    const others = partsFor({ ...expected(phones(2)), from: 7 }, parts, newKey)
    assert.deepStrictEqual(
      others.map(({ body, key }) => [key, body.from]),
      [["key 2", 7]],
    )
  })
})
