/** How the program ends early: by a signal, or when its output closes; and how often it polls. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Running, aWorkspace } from "./Running.ts"

layer(Running.layer, { excludeTestServices: true })("the program", (it) => {
  const test = (name: string, body: (running: typeof Running.Service) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Running, (running) => Effect.promise(() => body(running))))

  describe("names what continues when a signal ends it", () => {
    const later = ["--at", "2100-01-01T00:00:00Z"]
    const to = ["--to", "+15550100002", "--text", "Hello"]

    test("exits with 130 after Ctrl-C and 143 after SIGTERM, with no other complaint", async ({
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      for (const [endedBy, code] of [
        ["SIGINT", 130],
        ["SIGTERM", 143],
      ] as const) {
        const ran = await messaging(["me"], { endedBy, request: () => false })
        assert.deepInclude(ran, { code, output: "", remarks: "messaging: interrupted\n" })
      }
    })

    test("send --wait shows the accepted messages, and which of them are still waiting", async ({
      url,
    }) => {
      const { client, messaging } = await aWorkspace(url)
      const wait = ["send", ...to, "--to", "+15550100003", ...later, "--wait"]
      const ran = await messaging(wait, { meanwhile: () => Promise.resolve(false) })
      const [second, first] = (await client.messages.list().page()).data.map(({ id }) => id)
      assert.match(ran.output, new RegExp(`\n${first} +scheduled .*\n${second} +scheduled `))
      assert.include(
        ran.remarks,
        `interrupted; 2 of 2 messages are still waiting, and continue without this command; messaging cancel ${first} ${second} cancels them\n`,
      )
      assert.strictEqual(ran.code, 130)
    })

    test("send reports how many were accepted, and how many may have been", async ({
      directory,
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      const one = await messaging(["send", ...to], { request: () => false })
      assert.match(one.remarks, /interrupted; 0 of 1 messages were accepted, and possibly 1 more\n/)

      const file = join(directory, "parts.txt")
      await writeFile(file, "+15550100002\n".repeat(1001))
      let requests = 0
      const parts = ["send", "--to-file", file, "--text", "Hello", "--json"]
      const ran = await messaging([...parts, "--idempotency-key", "a"], {
        request: () => ++requests < 2,
      })
      assert.deepStrictEqual(JSON.parse(ran.remarks), {
        error: {
          message:
            "interrupted; 1000 of 1001 messages were accepted, and possibly 1 more; repeat the command with the same --idempotency-key to continue",
        },
      })
      assert.lengthOf(ran.output.trimEnd().split("\n"), 1000)
    })

    test("send reports that nothing was sent while its file is uploaded", async ({
      directory,
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      const file = join(directory, "menu.txt")
      await writeFile(file, "Soup")
      const ran = await messaging(["send", ...to, "--file", file], { request: () => false })
      assert.match(ran.remarks, /interrupted; nothing was sent\n/)
    })

    for (const [line, goesOn] of [
      [["numbers", "connect"], /number \d+ is still connecting; messaging numbers get \d+ shows/],
      [
        ["checks", "create", "+15550100002", "--wait"],
        /check \d+ continues; messaging checks get \d+ shows/,
      ],
      [["tail"], /0 of the followed messages are still waiting/],
    ] as const) {
      test(line.join(" "), async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const ran = await messaging(line, { meanwhile: () => Promise.resolve(false) })
        assert.match(ran.remarks, goesOn)
        assert.strictEqual(ran.code, 130)
      })
    }

    test("a change may have taken effect, and the report says so", async ({ url }) => {
      const { client, messaging } = await aWorkspace(url)
      const { id } = await client.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
      const ran = await messaging(["cancel", String(id)], { request: () => false })
      assert.match(ran.remarks, /interrupted; the last request may have taken effect\n/)
    })
  })

  describe("writing to a closed output", () => {
    const many = async (url: string) => {
      const shop = await aWorkspace(url)
      const to = Array.from({ length: 300 }, () => ({ phone: "+15550100002" }))
      await shop.client.messages.sendBatch({ to, text: "Hello", send_at: "2100-01-01T00:00:00Z" })
      return shop
    }

    for (const json of [[], ["--json"]]) {
      for (const [failure, code, remarks] of [
        ["EPIPE", 0, /^$/],
        ["ENOSPC", 8, /cannot write to standard output: ENOSPC.*\n$/],
      ] as const) {
        test(`exits with ${code} after ${failure}, and requests no further page: ${json.join(" ")}`, async ({
          url,
        }) => {
          const { messaging } = await many(url)
          for (const line of [
            ["list", "--all"],
            ["tail", "--since", "2000-01-01T00:00:00Z"],
          ]) {
            const ran = await messaging([...line, ...json], {
              outputAccepts: [0, failure],
              meanwhile: () => Promise.resolve(false),
            })
            assert.deepInclude(ran, { code, output: "" })
            assert.match(ran.remarks, remarks)
            if (line[0] === "list") assert.lengthOf(ran.requests, 1)
          }
        })
      }
    }

    test("following ends with its reader, even with nothing more to write", async ({ url }) => {
      const { client, messaging, workspace } = await aWorkspace(url)
      const { id } = await client.webhooks.create({ url: "https://example.org/hook" })
      const log = ["webhooks", "log", String(id), "--workspace", String(workspace), "--follow"]
      for (const line of [["tail"], log]) {
        const meanwhile = (wait: number) => Promise.resolve(wait < 5)
        const ran = await messaging(line, { unreadAt: 3, meanwhile })
        assert.deepInclude(ran, { code: 0, remarks: "" })
        assert.lengthOf(ran.requests, 3)
      }
    })

    test("linking continues without the reader of its codes", async ({ url }) => {
      const { client, messaging } = await aWorkspace(url)
      const ran = await messaging(["numbers", "connect", "--json"], { outputAccepts: [1, "EPIPE"] })
      assert.deepInclude(ran, { code: 0, remarks: "" })
      const { id } = JSON.parse(ran.output) as { readonly id: number }
      assert.strictEqual((await client.numbers.get(id)).status, "connecting")
    })

    test("a change finishes all the same", async ({ url }) => {
      const { client, messaging } = await many(url)
      const waiting = async () =>
        (await client.messages.list({ status: ["scheduled"] }).page()).data
      const [one, other, third, last] = (await waiting()).map(({ id }) => String(id))
      const closed = ["cancel", String(one), String(other)]
      assert.deepInclude(await messaging(closed, { outputAccepts: [1, "EPIPE"] }), {
        code: 0,
        remarks: "",
      })
      const full = ["cancel", String(third), String(last)]
      assert.deepInclude(await messaging(full, { outputAccepts: [1, "ENOSPC"] }), { code: 8 })
      for (const id of [one, other, third, last]) {
        assert.strictEqual((await client.messages.get(Number(id))).status, "cancelled")
      }
      // The run has already reported other problems.
      const again = await messaging(["cancel", String(one)], { outputAccepts: [0, "ENOSPC"] })
      assert.strictEqual(again.code, 3)
    })
  })

  test("send --at --wait says until when it waits, in one line", async ({ url }) => {
    const { messaging } = await aWorkspace(url)
    const line = [
      "send",
      "--to",
      "+15550100002",
      "--text",
      "a",
      "--at",
      "2100-01-01T01:00:00+01:00",
    ]
    const meanwhile = () => Promise.resolve(false)
    const text = "waits until 2100-01-01T00:00:00Z, when it is due; Ctrl-C only ends the waiting"
    const ran = await messaging([...line, "--wait"], { meanwhile })
    assert.strictEqual(ran.remarks.split("\n")[0], `messaging: ${text}`)
    const json = await messaging([...line, "--wait", "--json"], { meanwhile })
    assert.deepStrictEqual(JSON.parse(json.remarks.split("\n")[0] ?? ""), {
      remark: { message: text, until: "2100-01-01T00:00:00Z" },
    })
    const notLater = await messaging([...line.slice(0, -2), "--wait"], { meanwhile })
    assert.notInclude(notLater.remarks, "waits until")
  })
})
