import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { parseUsername } from "../../src/model/Recipient.ts"

const longest = "a".repeat(32)

const names: ReadonlyArray<readonly [text: string, name: string]> = [
  ["@name", "name"],
  ["@Jane_Doe_99", "Jane_Doe_99"],
  ["@a123", "a123"],
  ["@a___", "a___"],
  [`@${longest}`, longest],
  ["@joinchat", "joinchat"],
  ["t.me/name", "name"],
  ["http://t.me/name", "name"],
  ["https://t.me/Name", "Name"],
  ["https://t.me/name/", "name"],
  ["www.t.me/name", "name"],
  ["https://www.t.me/name", "name"],
  ["HTTPS://WWW.T.ME/Name", "Name"],
  ["T.me/name", "name"],
  ["t.me/joinchats", "joinchats"],
  [`t.me/${longest}`, longest],
]

const ids: ReadonlyArray<readonly [text: string, id: number]> = [
  ["tg:1", 1],
  ["tg:123456789", 123456789],
  ["tg:9007199254740991", 9007199254740991],
]

const refused = [
  "",
  "@",
  "name",
  "@abc",
  `@${longest}a`,
  "@1name",
  "@_name",
  "@na-me",
  "@na me",
  "@na.me",
  "@näme",
  "@\u212aname",
  "@@name",
  " @name",
  "@name ",
  "@name\n",
  "@name/",
  "t.me",
  "t.me/",
  "t.me/abc",
  "t.me//name",
  "t.me/name//",
  "t.me/@name",
  "t.me/1name",
  `t.me/${longest}a`,
  "t.me/na\u017fme",
  "t.me/+AbCdEfGhIjK",
  "https://t.me/+AbCdEfGhIjK",
  "t.me/joinchat/AbCdEfGh",
  "t.me/joinchat",
  "t.me/JoinChat/",
  "t.me/name/12",
  "t.me/s/name",
  "t.me/name?start=1",
  "t.me/name#top",
  "t.me:443/name",
  "user@t.me/name",
  "ftp://t.me/name",
  "https:t.me/name",
  "https:/t.me/name",
  "//t.me/name",
  "https://https://t.me/name",
  "www.www.t.me/name",
  "xt.me/name",
  "t.me.example.com/name",
  "txme/name",
  "telegram.me/name",
  "tg:",
  "tg:0",
  "tg:-1",
  "tg:+1",
  "tg:01",
  "tg:1.0",
  "tg:1e3",
  "tg: 1",
  "tg:1 ",
  "tg:name",
  "tg:@name",
  "TG:1",
  "tg://user?id=1",
  "tg:9007199254740992",
  "tg:99999999999999999999",
  "tg:\u0661",
]

describe("a username", () => {
  it.effect("is @name or a t.me link with it", () =>
    Effect.sync(() => {
      for (const [text, name] of names) {
        assert.deepStrictEqual(parseUsername(text), { text, target: { kind: "name", name } }, text)
      }
    }),
  )

  it.effect("is tg: and a positive integer", () =>
    Effect.sync(() => {
      for (const [text, id] of ids) {
        assert.deepStrictEqual(parseUsername(text), { text, target: { kind: "id", id } }, text)
      }
    }),
  )

  it.effect("has no other form: no bare name, no invite link", () =>
    Effect.sync(() => {
      for (const text of refused) assert.isUndefined(parseUsername(text), JSON.stringify(text))
    }),
  )

  it.effect.prop(
    "is the same name in every spelling",
    [Schema.Literals(["", "http://", "https://"]), Schema.Literals(["", "www."]), Schema.String],
    ([scheme, www, suffix]) =>
      Effect.sync(() => {
        const link = parseUsername(`${scheme}${www}t.me/name${suffix}`)
        const plain = parseUsername(`@name${suffix.replace(/\/$/, "")}`)
        assert.deepStrictEqual(link?.target, plain?.target)
      }),
  )

  it.effect.prop(
    "parsing never throws, and an accepted one is shown unchanged",
    [Schema.String],
    ([text]) =>
      Effect.sync(() => {
        for (const candidate of [text, `@${text}`, `t.me/${text}`, `tg:${text}`]) {
          const username = parseUsername(candidate)
          if (username !== undefined) assert.strictEqual(username.text, candidate)
        }
      }),
  )
})
