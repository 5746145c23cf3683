/** The generator is repeatable and varied, and addresses no host but the fuzzer's own. */
import { assert, describe, it } from "@effect/vitest"
import { generate } from "../src/request/generate.ts"
import { getBytes } from "../src/request/Shot.ts"
import { anInventory, document } from "./aDocument.ts"

const shots = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) =>
    generate({
      document,
      inventory: anInventory(),
      seed,
      index,
      profile: index % 16 === 15 ? "intruding" : "usual",
    }),
  )

const texts = (seed: number, count: number) =>
  shots(seed, count).map((shot) => getBytes(shot, "127.0.0.1:8080").toString("latin1"))

/** Hosts of links, in whatever encoding. */
const hostsIn = (text: string): ReadonlyArray<string> => {
  const plain = text.replaceAll(/%3a/gi, ":").replaceAll(/%2f/gi, "/").replaceAll(/%40/g, "@")
  return [...plain.matchAll(/(?:https?|ftp|wss?):\/\/([^\s/"'&;?#\\]*)/gi)].map(([, host = ""]) =>
    host.replace(/^.*@/, "").replace(/:\d*$/, "").replace(/%5b/i, "[").replace(/%5d.*/i, "]"),
  )
}

const isOwn = (host: string): boolean =>
  [
    "",
    "127.0.0.1",
    "127.1",
    "0x7f000001",
    "[::1]",
    "[",
    "127.0.0.1%3A9999",
    "elsewhere.invalid",
  ].includes(host)

describe("generating", () => {
  it("gives the same requests for the same seed", () => {
    assert.deepStrictEqual(texts(5, 500), texts(5, 500))
  })

  it("gives a request that does not depend on those before it", () => {
    const alone = generate({
      document,
      inventory: anInventory(),
      seed: 5,
      index: 321,
      profile: "usual",
    })
    assert.deepStrictEqual(alone, shots(5, 322)[321])
  })

  it("gives other requests for another seed", () => {
    const [one, other] = [texts(5, 200), texts(6, 200)]
    assert.isBelow(one.filter((text, at) => text === other[at]).length, 20)
  })

  it("names no host but those of the loopback interface, in any link", () => {
    for (const text of texts(7, 5000)) {
      for (const host of hostsIn(text))
        assert.isTrue(isOwn(host), `${host} in ${text.slice(0, 500)}`)
    }
  })

  it("covers every kind of request", () => {
    const all = shots(8, 5000)
    const has = (holds: (shot: (typeof all)[number]) => boolean, what: string) =>
      assert.isAbove(all.filter(holds).length, 10, what)
    has((shot) => shot.raw !== undefined, "broken HTTP")
    has((shot) => shot.expectation === "hang up", "hanging up")
    has((shot) => shot.framing === "chunked", "chunked bodies")
    has((shot) => shot.repeated, "repeats")
    has((shot) => shot.credentials === "strange", "strange keys")
    has((shot) => shot.headers.some(([, value]) => value.startsWith("multipart/")), "multipart")
    has((shot) => (shot.body?.length ?? 0) > 1_048_576, "large bodies")
    has((shot) => shot.body?.includes("__proto__") ?? false, "prototype names")
    has((shot) => shot.body?.includes("\\ud800") ?? false, "lone surrogates")
    has((shot) => shot.target.includes("?limit"), "queries")
    has((shot) => shot.about === "plain", "plain requests")
  })
})
