/** The program itself: its failures and exit codes, sources of secrets, help and completion. */
import { assert, describe, layer } from "@effect/vitest"
import { MessagingError } from "@messaging-service/client"
import { version } from "@messaging-service/core"
import { Effect } from "effect"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import jsQR from "jsqr"
import { commands } from "../src/commands/index.ts"
import { endings } from "../src/ending.ts"
import { mainCommands } from "../src/help.ts"
import { qrCodeText } from "../src/qrCode.ts"
import { withAddressNamed } from "../src/run.ts"
import { Running, aWorkspace, anotherServer } from "./Running.ts"

layer(Running.layer, { excludeTestServices: true })("the program", (it) => {
  const test = (name: string, body: (running: typeof Running.Service) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Running, (running) => Effect.promise(() => body(running))))

  describe("ends with a code that tells why", () => {
    const wrong: ReadonlyArray<
      readonly [line: ReadonlyArray<string>, code: number, complaint: RegExp]
    > = [
      [["sned"], 2, /unknown command "sned"/],
      [
        ["reminders", "crate"],
        2,
        /unknown command "reminders crate"; did you mean "reminders create"\?/,
      ],
      [["profiles", "list"], 2, /did you mean "profile list"\?/],
      [["doctor"], 2, /did you mean "status", or "messaging-server doctor"/],
      [["messages", "list"], 2, /did you mean "list"\?/],
      [["list", "--service", "127.0.0.1:8080"], 2, /--service is an address with https:/],
      [["list", "--service", "localhost:8080"], 2, /--service is an address with https:/],
      [["send", "--to", "+15550100002", "--key-file", "/nowhere"], 2, /give --text, or media/],
      [["get"], 2, /ID is missing/],
      [["get", "x"], 2, /ID is a positive integer/],
      [["me", "extra"], 2, /unexpected argument "extra"/],
      [["list", "--color"], 2, /Unknown option '--color'/],
      [["list", "--status", "gone"], 2, /--status is one of queued, scheduled/],
      [["list", "--limit"], 2, /--limit/],
      [["send", "--text", "Hello"], 2, /give recipients with --to, --to-file or --chat/],
      [
        ["send", "--to", "+15550100002", "--text", "-"],
        2,
        /give the text of --text - on standard input/,
      ],
      [["send", "--to", "@soup", "--file", "/nowhere/at/all"], 2, /cannot read \/nowhere\/at\/all/],
      [["send", "--to", "@soup", "--file", "/"], 2, /cannot read \/: it is a directory/],
      [["send", "--to-file", "/nowhere/at/all"], 2, /cannot read \/nowhere\/at\/all/],
      [["send", "--to", "@soup", "--text", "a", "--idempotency-key", "№"], 2, /printable ASCII/],
      [["me", "--service", "ftp://127.0.0.1"], 2, /is an address with https:\/\/ or http:\/\//],
      [["me", "--service", "http://op:hush@127.0.0.1"], 2, /not contain a user name or password/],
      [["me", "--key-file", "/nowhere/at/all"], 2, /cannot read \/nowhere\/at\/all/],
      [["workspaces", "create", "Shop", "--plan", "gold"], 2, /--plan is the JSON of a plan/],
      [
        ["reminders", "create", "--name", "a", "--to", "@soup", "--text", "a", "--cron", "9 9"],
        3,
        /messaging: --cron: A cron pattern .*\(invalid_cron, schedule\.cron, req_/,
      ],
      [
        ["send", "--to", "+15550100002", "--text", "a", "--at", "2020-01-01T00:00:00Z"],
        3,
        /messaging: --at: This time is already past\. \(time_in_past, send_at, req_/,
      ],
      [["get", "1000000"], 5, /message_not_found/],
      [["me", "--service", "http://127.0.0.1:9", "--retries", "0"], 6, /got no answer/],
      [
        ["events", "--workspace", "1", "--service", "http://127.0.0.1:9", "--retries", "0"],
        6,
        /got no answer/,
      ],
    ]
    for (const [line, code, complaint] of wrong) {
      test(`${code}: ${line.join(" ")}`, async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const ran = await messaging(line)
        assert.match(ran.remarks, /^messaging: /)
        assert.match(ran.remarks, complaint)
        assert.strictEqual(ran.code, code)
        assert.strictEqual(ran.output, "")
        assert.notInclude(ran.remarks, "hush")
      })
    }

    test("5, with a hint when the url contains a path of the interface", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      const ran = await messaging(["me", "--service", `${url}/api/v2`])
      assert.include(ran.remarks, `has the path /api/v2: give ${url} alone`)
      assert.strictEqual(ran.code, 5)
    })

    test("4 and 5, with the address that the command needs where ADMIN_PORT makes two", async ({
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      const env = { MESSAGING_OPERATOR_KEY: "not the token of this service, or not its port" }
      const operator = await messaging(["workspaces", "list"], { env })
      assert.include(operator.remarks, `The address was ${url}.`)
      assert.include(operator.remarks, "name it with --operator-service")
      assert.strictEqual(operator.code, 4)
      const missing = { code: "not_found" as const, status: 404, text: "There is no such path." }
      const visible = withAddressNamed(new MessagingError(missing), { by: "key", url: () => url })
      assert.match(String(visible), /the customers' one, that of PORT, with --service/)
    })

    test("6, and not 5, when something answers at the url that is not the service", async ({
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      for (const status of [200, 301, 401, 404]) {
        const { close, url: elsewhere } = await anotherServer(status)
        const ran = await messaging(["get", "1", "--service", elsewhere])
        close()
        assert.match(ran.remarks, /that is not the service's.*unexpected_answer/)
        assert.strictEqual(ran.code, 6)
      }
    })

    for (const body of ["{}", "[]", "null", '{"data":[{"i']) {
      test(`6, without a stack, for any command that is answered ${body}`, async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const path = ["--workspace", "1"]
        const { close, url: elsewhere } = await anotherServer(200, {}, body)
        for (const line of [
          ["list", "--all"],
          ["reminders", "list"],
          ["reminders", "next"],
          ["cancel", "1"],
          ["send", "--to", "+15550100002", "--text", "Hello", "--wait"],
          ["tail"],
          ["workspaces", "list"],
          ["numbers", "list", ...path],
          ["numbers", "connections", ...path],
          ["checks", "create", "+15550100002", "--wait"],
          ["webhooks", "log", "1", "--follow", ...path],
          ["figures", "service"],
          ["figures", "workspace", ...path],
          ["held", "workspaces"],
          ["events", ...path],
          ["messages", "timeline", "1", ...path],
          ["status"],
        ]) {
          const ran = await messaging([...line, "--service", elsewhere, "--retries", "0"], {
            meanwhile: () => Promise.resolve(false),
          })
          assert.notMatch(ran.remarks, /\n +at /, line.join(" "))
          assert.notStrictEqual(ran.code, 1, line.join(" "))
        }
        close()
      })
    }

    test("6, and tells that a change without an answer may have taken effect", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      const doubt = /; it may have taken effect \(/
      for (const [status, body, line, isDoubtful] of [
        [200, "", ["cancel", "1"], true],
        [502, "<html>", ["cancel", "1"], true],
        [502, "<html>", ["get", "1"], false],
        [503, '{"error":{"code":"service_unavailable","message":"Busy."}}', ["cancel", "1"], false],
      ] as const) {
        const { close, url: elsewhere } = await anotherServer(status, {}, body)
        const ran = await messaging([...line, "--service", elsewhere, "--retries", "0"])
        close()
        assert.strictEqual(ran.code, 6)
        assert.strictEqual(doubt.test(ran.remarks), isDoubtful, ran.remarks)
      }
    })

    test("2, and sends nothing anywhere, when the service has its former name", async ({
      receiver,
      url,
    }) => {
      const { messaging } = await aWorkspace(url)
      for (const line of [
        ["webhooks", "test", "1", "--url", receiver],
        ["webhooks", "create", "--url", receiver],
        ["--url", receiver, "me"],
        ["--url", receiver, "webhooks", "change", "1"],
        [`--url=${receiver}`, "webhooks", "change", "1"],
        ["me", `--url=${receiver}`],
      ]) {
        const ran = await messaging(line)
        assert.match(ran.remarks, /^messaging: --url is --service now/)
        assert.deepInclude(ran, { code: 2, requests: [], output: "" })
      }
      const env = { MESSAGING_URL: receiver, MESSAGING_SERVICE: "" }
      const former = await messaging(["me"], { env })
      assert.match(former.remarks, /^messaging: MESSAGING_URL is MESSAGING_SERVICE now/)
      assert.deepInclude(former, { code: 2, requests: [] })
      // A user of the new name may keep the former one for other programs.
      const both = await messaging(["me"], { env: { MESSAGING_URL: receiver } })
      assert.deepInclude(both, { code: 0, remarks: "" })
    })

    test("6, and sends no key there, when the service redirects elsewhere", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      const elsewhere = await anotherServer(204)
      const pointing = await anotherServer(307, { location: `${elsewhere.url}api/v2/me` })
      const ran = await messaging(["me", "--service", pointing.url])
      pointing.close()
      elsewhere.close()
      assert.match(ran.remarks, /points to http/)
      assert.strictEqual(ran.code, 6)
      assert.deepStrictEqual([pointing.requests(), elsewhere.requests()], [1, 0])
    })

    test("0 with more seconds in --timeout than timers count", async ({ url }) => {
      const { messaging } = await aWorkspace(url)
      assert.deepInclude(await messaging(["me", "--timeout", "9999999"]), { code: 0, remarks: "" })
    })

    test("4: without a key, with a wrong one, and with one that may not", async ({ url }) => {
      const { messaging, operator, workspace } = await aWorkspace(url)
      const without = await messaging(["me"], { env: { MESSAGING_KEY: "" } })
      assert.deepInclude(without, { code: 4 })
      assert.match(without.remarks, /set MESSAGING_KEY or MESSAGING_KEY_FILE/)
      const wrong = `svc_live_${"a".repeat(38)}`
      const refused = await messaging(["me"], { env: { MESSAGING_KEY: wrong } })
      assert.deepInclude(refused, { code: 4 })
      assert.notInclude(refused.remarks, wrong)
      const narrow = await operator.keys.create(workspace, {
        version: 2,
        name: "Narrow",
        scopes: ["media"],
      })
      const scope = await messaging(["list", "--json"], { env: { MESSAGING_KEY: narrow.key } })
      assert.deepInclude(scope, { code: 4 })
      assert.deepInclude((JSON.parse(scope.remarks) as { readonly error: object }).error, {
        code: "missing_scope",
        required_scope: "messages:read",
      })
    })

    test("3, after printing what was accepted, when a later part is refused", async ({
      directory,
      url,
    }) => {
      const { messaging, operator, workspace } = await aWorkspace(url)
      const plan = { name: "Small", messages_remaining: 1000, reminders: true, qr_code_api: true }
      await operator.workspaces.update(workspace, {
        plan: { ...plan, max_numbers: null, media_storage_bytes: 0 },
      })
      const file = join(directory, "many.txt")
      await writeFile(file, "+15550100002\n".repeat(1001))
      const ran = await messaging(["send", "--to-file", file, "--text", "Hello", "--json"])
      assert.strictEqual(ran.code, 3)
      assert.lengthOf(ran.output.trimEnd().split("\n"), 1000)
      assert.match(ran.remarks, /no_credits/)
    })

    test("every code once, and in the guide", async () => {
      const codes = Object.values(endings).map(([code]) => code)
      assert.lengthOf(new Set(codes), codes.length)
      const guide = await readFile(resolve(import.meta.dirname, "../../../docs/clients.md"), "utf8")
      const received = [...guide.matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(
        ([, code, meaning]) => [Number(code), meaning],
      )
      assert.deepStrictEqual(
        received,
        Object.values(endings).map((each) => [...each]),
      )
    })
  })

  describe("takes secrets from the environment and from files", () => {
    test("prefers a file named by an option or the environment", async ({ directory, url }) => {
      const { key, messaging } = await aWorkspace(url)
      const file = join(directory, "key")
      await writeFile(file, `${key}\n`)
      const env = { MESSAGING_KEY: "nothing" }
      assert.strictEqual((await messaging(["me", "--key-file", file], { env })).code, 0)
      const named = { ...env, MESSAGING_KEY_FILE: file }
      assert.strictEqual((await messaging(["me"], { env: named })).code, 0)
    })

    test("no option takes one", async () => {
      const options = commands.flatMap((each) =>
        Object.keys({ ...each.options, ...each.arguments }),
      )
      for (const name of ["key", "token", "password", "operator-key"]) {
        assert.notInclude(options, name)
      }
    })
  })

  for (const line of [
    ["tail", "--every", "1", "--since", "2000-01-01T00:00:00Z"],
    ["send", "--to-file", "20", "--text", "Hello", "--at", "2100-01-01T00:00:00Z", "--wait"],
    ["numbers", "connect", "--json"],
  ]) {
    test(`${line.join(" ")} makes at most 20 requests a minute`, async ({ directory, url }) => {
      const { client, messaging } = await aWorkspace(url)
      const to = Array.from({ length: 450 }, () => ({ phone: "+15550100002" }))
      const later = { text: "Hello", send_at: "2100-01-01T00:00:00Z" }
      if (line[0] === "tail") await client.messages.sendBatch({ to, ...later })
      const file = join(directory, "twenty.txt")
      await writeFile(file, "+15550100002\n".repeat(20))
      const { requests } = await messaging(
        line.map((word) => (word === "20" ? file : word)),
        { meanwhile: (wait) => Promise.resolve(wait < (line[0] === "tail" ? 9 : 45)) },
      )
      // The service's clock does not advance while the command rests, so it takes no more in total.
      assert.isBelow(requests.length, 60)
      // The initial request comes in addition to those that follow it.
      const max = Math.max(
        ...requests.map(
          (at) => requests.filter((other) => other >= at && other < at + 60_000).length,
        ),
      )
      assert.isAtLeast(max, 10)
      assert.isAtMost(max, line[0] === "tail" ? 20 : 21)
    })
  }

  test("accepts options before the words", async ({ url }) => {
    const { key, messaging } = await aWorkspace(url)
    const env = { MESSAGING_SERVICE: "http://127.0.0.1:9", MESSAGING_KEY: key }
    const ran = await messaging(["--json", "--service", url, "reminders", "list"], { env })
    assert.deepInclude(ran, { code: 0, output: "", remarks: "" })
  })

  test("has help on the main jobs, on a group, on all commands, and on each", async ({ url }) => {
    const { messaging } = await aWorkspace(url)
    for (const line of [[], ["--help"], ["-h"], ["help"]]) {
      const { code, output } = await messaging(line)
      assert.strictEqual(code, 0)
      assert.isAtMost(output.split("\n").length, 30)
      for (const name of Object.values(mainCommands).flat()) assert.include(output, `  ${name} `)
      for (const { name } of commands.filter((each) => each.name.includes(" "))) {
        assert.match(output, new RegExp(`[ ,]${name.split(" ", 1).join()}[,\\n]`))
      }
    }
    const all = await messaging(["help", "all"])
    for (const { name } of commands) assert.include(all.output, `  ${name} `)
    const group = await messaging(["keys"])
    assert.strictEqual(group.code, 0)
    assert.include(group.output, "keys revoke")
    assert.notInclude(group.output, "reminders")
    assert.deepInclude(await messaging(["keys", "--help"]), group)
    for (const { options, name: tokens } of commands) {
      const { code, output } = await messaging([...tokens.split(" "), "--help"])
      assert.strictEqual(code, 0)
      for (const name of Object.keys(options)) assert.include(output, `--${name}`)
      assert.deepInclude(await messaging(["help", ...tokens.split(" ")]), { code, output })
    }
    // `login` checks the key that it saves; `profile set` saves without a request.
    assert.include((await messaging(["help", "login"])).output, "Sends one request")
    assert.include((await messaging(["help", "profile", "set"])).output, "Sends no request.")
    assert.deepInclude(await messaging(["--json", "help", "keys"]), group)
    assert.strictEqual((await messaging(["help", "nothing"])).code, 2)
  })

  test("prints its version", async ({ url }) => {
    const { messaging } = await aWorkspace(url)
    assert.deepInclude(await messaging(["--version"]), {
      code: 0,
      output: `messaging ${version}\n`,
    })
    const json = await messaging(["--json", "--version"])
    assert.deepStrictEqual(JSON.parse(json.output), { version })
  })

  test("prints no control characters of others", async ({ url }) => {
    const { client, messaging } = await aWorkspace(url)
    const { id } = await client.messages.send({
      to: { phone: "+15550100002" },
      text: "a\u001B]0;title\u0007b\u009B2Jc",
    })
    const { output } = await messaging(["get", String(id)])
    assert.include(output, "a\\u{1b}]0;title\\u{7}b\\u{9b}2Jc")
    assert.notMatch(output, /[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/)
  })

  test("prints a code that a phone reads", async ({ url }) => {
    const { client, operator } = await aWorkspace(url)
    const { id } = await client.numbers.connect({})
    await operator.simulator.settle()
    const link = (await client.numbers.get(id)).connect?.qr_code_url ?? ""
    const text = await qrCodeText(new Uint8Array(await (await fetch(link)).arrayBuffer()))
    // Each character is two modules, one above the other, of four by four points; it draws light ones.
    const rows = text
      .trimEnd()
      .split("\n")
      .flatMap((line) => [
        [...line].map((block) => block === "█" || block === "▀"),
        [...line].map((block) => block === "█" || block === "▄"),
      ])
    const side = rows.length * 4
    const points = new Uint8ClampedArray(side * side * 4)
    for (let at = 0; at < side * side; at++) {
      const isLight = rows[Math.floor(at / side / 4)]?.[Math.floor((at % side) / 4)] ?? true
      points.fill(isLight ? 255 : 0, at * 4, at * 4 + 3)
      points[at * 4 + 3] = 255
    }
    assert.isNotEmpty(jsQR.default(points, side, side)?.data)
  })

  describe("completes", () => {
    const cases: ReadonlyArray<
      readonly [words: ReadonlyArray<string>, offered: ReadonlyArray<string>]
    > = [
      [["rem"], ["reminders"]],
      [
        ["reminders", "r"],
        ["resume", "run", "runs"],
      ],
      [
        ["reminders", "list", "--a"],
        ["--active", "--all"],
      ],
      [
        ["list", "--status", "s"],
        ["scheduled", "sent"],
      ],
      [["list", "--status", "sent", "--l"], ["--limit"]],
      [["--json", "keys", "re"], ["revoke"]],
      [
        ["completion", ""],
        ["bash", "fish", "zsh"],
      ],
      [["get", ""], []],
      [["nothing", ""], []],
    ]
    for (const [tokens, offered] of cases) {
      test(tokens.join(" "), async ({ url }) => {
        const { messaging } = await aWorkspace(url)
        const { output } = await messaging(["complete", "--", ...tokens])
        assert.deepStrictEqual(output.split("\n").slice(0, -1), offered)
      })
    }

    test("completes files where a file is meant", async ({ directory, url }) => {
      const { messaging } = await aWorkspace(url)
      await mkdir(join(directory, "pictures"))
      await writeFile(join(directory, "picnic.png"), "")
      const { output } = await messaging([
        "complete",
        "--",
        "send",
        "--file",
        join(directory, "pic"),
      ])
      assert.deepStrictEqual(output.trimEnd().split("\n"), [
        join(directory, "picnic.png"),
        `${join(directory, "pictures")}/`,
      ])
    })
  })
})
