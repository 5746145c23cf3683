/** What every command takes alike: times from now on, chosen fields, and words that were mistyped. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Running, aWorkspace } from "./Running.ts"

const to = ["--to", "+15550100002", "--text", "Hello"]

layer(Running.layer, { excludeTestServices: true })("the options", (it) => {
  const test = (name: string, body: (running: typeof Running.Service) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Running, (running) => Effect.promise(() => body(running))))

  describe("times from now on", () => {
    for (const [text, millis] of [
      ["+2h", 7_200_000],
      ["+1d12h", 129_600_000],
      ["+90m", 5_400_000],
      ["+1d2h3m4s", 93_784_000],
    ] as const) {
      test(`--at ${text}`, async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const before = Date.now()
        const { output } = await messaging(["send", ...to, "--at", text, "--json"])
        const { send_at: due } = JSON.parse(output) as { readonly send_at: string }
        assert.closeTo(Date.parse(due), before + millis, 3000)
      })
    }

    test("--since=-1h lists the messages since an hour ago", async ({ url }) => {
      const { client, messaging } = await aWorkspace(url)
      await client.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
      const listed = await messaging(["list", "--since=-1h", "--json"])
      assert.lengthOf(listed.output.trimEnd().split("\n"), 1)
      const later = await messaging(["list", "--since", "+1h", "--json"])
      assert.strictEqual(later.output, "")
    })

    for (const text of ["+", "+2", "+2hours", "+h", "+1h1d", "-", "+9999999d"]) {
      test(`refuses ${text}`, async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const ran = await messaging(["send", ...to, `--at=${text}`])
        assert.deepInclude(ran, { code: 2, requests: [] })
        assert.match(
          ran.remarks,
          /--at is ISO 8601 with an offset, such as .*, or from now on, such as \+2h/,
        )
      })
    }

    test("are refused with --idempotency-key, since a repeat would differ", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      for (const option of ["--at", "--expires"]) {
        const line = ["send", ...to, option, "+2h", "--idempotency-key", "a"]
        const ran = await messaging(line)
        assert.deepInclude(ran, { code: 2, requests: [] })
        assert.match(
          ran.remarks,
          new RegExp(`${option} is an absolute time with --idempotency-key`),
        )
      }
    })
  })

  describe("are judged before a request, in their own words:", () => {
    const reminder = ["reminders", "create", "--name", "Rent", "--cron", "0 9 1 * *"]
    const recipient =
      /^messaging: --to is a phone with \+ and a country code, @username, group:NAME/
    const phone = /^messaging: (--)?(to|phone|PHONE) is a phone with \+ and a country code/
    const time = /^messaging: --(at|expires|since|until) is ISO 8601 with an offset/
    const link = /^messaging: (--(media-)?url|URL|--return-url|--metrics) is an address with https/
    const change = /^messaging: give what to change/
    const inOne = ["--workspace", "1"]
    const cases: ReadonlyArray<readonly [line: ReadonlyArray<string>, complaint: RegExp]> = [
      ...["0155", "+1", "soup", "contact:soup", "contact:0", "group:", "", "@"].map(
        (text) => [["send", "--to", text, "--text", "Hello"], recipient] as const,
      ),
      [[...reminder, "--to", "0155", "--text", "Hello"], recipient],
      [["list", "--to", "0155"], phone],
      [["messages", "cancel", "--to", "0155", ...inOne], phone],
      [["checks", "create", "0155"], phone],
      [["numbers", "add", "0155", ...inOne], phone],
      [["numbers", "connect", "--phone", "0155"], phone],
      [["contacts", "add", "Soup", "--phone", "0155", ...inOne], phone],
      [["telegram", "begin", "1", "--phone", "0155", ...inOne], phone],
      [["phones", "scan", "1", "--phone", "0155"], phone],
      [["phones", "registered", "0155"], phone],
      [["send", ...to, "--at", "10:30"], time],
      [["send", ...to, "--at", "2030-01-31T09:00:00"], time],
      [["send", ...to, "--expires", "tomorrow"], time],
      [["list", "--since", "2030-02-30T09:00:00Z"], time],
      [["webhooks", "recover", "1", "--since", "10:30", ...inOne], time],
      [["send", "--to", "@soup"], /^messaging: give --text, or media with --file/],
      [["send", "--to", "@soup", "--text", " "], /^messaging: --text is blank/],
      [[...reminder, "--to", "@soup"], /^messaging: --text is missing/],
      [[...reminder, "--to", "@soup", "--file", "/etc/hosts"], /^messaging: --text is missing/],
      [["send", ...to, "--media-type", "image"], /^messaging: --media-type needs --media-url/],
      [["send", ...to, "--media-url", "menu.png"], link],
      [["webhooks", "create", "shop.example"], link],
      [["webhooks", "change", "1", "--url", "shop.example", ...inOne], link],
      [["portal", "create", "--role", "member", "--return-url", "/account", ...inOne], link],
      [["status", "--metrics", "127.0.0.1:9090"], link],
      [
        ["portal", "create", "--role", "member", "--expires-in", "5", ...inOne],
        /--expires-in is a whole number from 60 to 86400/,
      ],
      [["webhooks", "redeliver", "1", ...inOne], /^messaging: EVENT is missing/],
      [["reminders", "delete"], /^messaging: ID is missing/],
      [["webhooks", "change", "1", ...inOne], change],
      [["workspaces", "update", "1"], change],
      [["numbers", "update", "1", ...inOne], change],
      [["workspaces", "update", "1", "--retention", "0"], /--retention is a number of days from 1/],
      [["workspaces", "create", "Soup", "--plan", "[1]"], /--plan is the JSON of a plan/],
      [["workspaces", "create", " "], /^messaging: NAME is blank/],
      [
        ["keys", "create", "--version-1", "--mode", "test", ...inOne],
        /version 1 has no other options/,
      ],
      [["messages", "cancel", "1", "--mode", "test", ...inOne], /--mode is for filters/],
      [["list", "--all", "--limit", "5"], /--all and --limit exclude one another/],
      [
        ["webhooks", "log", "1", "--follow", "--limit", "5", ...inOne],
        /--follow excludes --all and --limit/,
      ],
    ]
    for (const [line, complaint] of cases) {
      test(line.join(" "), async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const ran = await messaging(line)
        assert.deepInclude(ran, { code: 2, requests: [], output: "" })
        assert.match(ran.remarks, complaint)
      })
    }

    test("a line of a file", async ({ directory, url }) => {
      const { messaging } = await aWorkspace(url)
      const file = join(directory, "phones.txt")
      await writeFile(file, "+15550100002\n\n 0155 \n")
      for (const line of [
        ["send", "--to-file", file, "--text", "Hello"],
        ["checks", "create", "--file", file],
      ]) {
        const ran = await messaging(line)
        assert.deepInclude(ran, { code: 2, requests: [] })
        assert.include(ran.remarks, `line 3 of ${file} is a phone with + and a country code`)
      }
    })
  })

  describe("--fields", () => {
    test("shows only those, in their order, to people and to programs", async ({ url }) => {
      const { client, messaging } = await aWorkspace(url)
      const { id } = await client.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
      const json = await messaging(["get", String(id), "--fields", "text,id,to.phone", "--json"])
      assert.strictEqual(json.output, `{"text":"Hello","id":${id},"to.phone":"+15550100002"}\n`)
      const table = await messaging(["list", "--fields", "id, text"])
      assert.match(table.output, new RegExp(`^ID +TEXT\n${id} +Hello\n$`))
      const one = await messaging(["get", String(id), "--fields", "text"])
      assert.strictEqual(one.output, "text  Hello\n")
      for (const ran of [json, table, one]) assert.strictEqual(ran.remarks, "")
    })

    test("names a field that is not there once, and the fields that are", async ({ url }) => {
      const { client, messaging } = await aWorkspace(url)
      const batch = { to: [{ phone: "+15550100002" }, { phone: "+15550100003" }], text: "Hello" }
      await client.messages.sendBatch(batch)
      const ran = await messaging(["list", "--fields", "id,txet", "--json"])
      assert.strictEqual(ran.code, 0)
      const lines = ran.output.trimEnd().split("\n")
      assert.deepStrictEqual(
        lines.map((line) => (JSON.parse(line) as { readonly txet: unknown }).txet),
        [null, null],
      )
      const [text, ...more] = ran.remarks.trimEnd().split("\n")
      assert.isEmpty(more)
      const { remark } = JSON.parse(text ?? "") as { readonly remark: { readonly message: string } }
      assert.match(remark.message, /^unknown field txet; there are id, status, /)
    })

    test("is a list of names", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      const ran = await messaging(["list", "--fields", "id,,text"])
      assert.deepInclude(ran, { code: 2, requests: [] })
    })
  })

  for (const [line, meant] of [
    [["sned"], 'did you mean "send"?'],
    [["reminders", "crate"], 'did you mean "reminders create"?'],
    [["webhook", "list"], 'did you mean "webhooks list"?'],
    [["workspace", "rename"], 'did you mean "workspaces"?'],
    [["sned", "--to", "+15550100002"], 'did you mean "send"?'],
    [["send", "--txet", "Hello"], "did you mean --text?"],
    [["list", "--filds", "id"], "did you mean --fields?"],
  ] as const) {
    test(`${line.join(" ")}: ${meant}`, async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      const ran = await messaging(line)
      assert.deepInclude(ran, { code: 2, requests: [] })
      assert.include(ran.remarks, meant)
    })
  }

  for (const line of [["frobnicate"], ["reminders"], ["list", "--color"]]) {
    test(`${line.join(" ")}: nothing is near`, async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      assert.notInclude((await messaging(line)).remarks, "did you mean")
    })
  }
})
