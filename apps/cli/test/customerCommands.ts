/** Commands of a key: messages, reminders, files and number checks. */
import { assert } from "@effect/vitest"
import { to } from "./Scene.ts"
import type { Entries, Scene } from "./Scene.ts"

const rent = ["--name", "Rent", "--to", to, "--text", "Rent is due", "--cron", "0 9 1 * *"]

const aMessage = (scene: Scene, more: object = {}) =>
  scene.client.messages.send({ to: { phone: to }, text: "Hello", ...more })

const later = { send_at: "2100-01-01T00:00:00Z" }

const sendsToChats = async ({ json, messaging, number, operator, text, workspace }: Scene) => {
  await operator.conversations.set(workspace, {})
  const from = { phone: to, name: "Ada" }
  const question = await operator.simulator.write(number, { from, text: "Open today?" })
  if (!("id" in question)) throw new Error("the message was not stored")
  const chat = ["--workspace", workspace, "--chat", question.chat.id, "--text", "Yes"]
  const [answer] = await json("send", [...chat, "--reply-to", question.id])
  assert.deepInclude(answer, {
    to: { chat_id: question.chat.id, phone: to },
    reply_to: { received_message_id: question.id },
  })
  await operator.simulator.settle()
  const [second] = await json("send", [...chat, "--reply-to-message", Number(answer?.["id"])])
  assert.deepInclude(second, { reply_to: { message_id: answer?.["id"] } })
  assert.match(await text("send", chat), /queued +\+1555/)
  for (const [more, why] of [
    [["--reply-to", "1", "--reply-to-message", "1"], /exclude one another/],
    [["--reply-to", "1", "--to", to], /for a single recipient/],
  ] as const) {
    const refused = await messaging(["send", ...chat.map(String), ...more])
    assert.strictEqual(refused.code, 2)
    assert.match(refused.remarks, why)
  }
}

export const customerCommands: Entries = {
  me: async ({ json, text, workspace }) => {
    assert.deepInclude((await json("me"))[0]?.["workspace"], { id: workspace, name: "Shop" })
    assert.match(await text("me"), /^workspace +id \d+, name Shop\n/)
  },

  send: async (scene) => {
    const { aFile, client, json, messaging, number, operator, text } = scene
    const [one] = await json("send", ["--to", to, "--text", "Hello", "--from", number])
    assert.deepInclude(one, { status: "queued", text: "Hello" })
    assert.match(
      await text("send", ["--to", to, "--text", "Hello"]),
      /ID +STATUS +TO .*\n\d+ +queued +\+1555/,
    )

    const list = await aFile("recipients.txt", `${to}\n\n+15550100003\n`)
    const many = ["--to", "group:Team", "--to-file", list, "--text", "-", "--at", later.send_at]
    const batch = await json("send", many, { input: "From a pipe\n" })
    assert.deepStrictEqual(
      batch.map(({ status, text: texts, to: whom }) => ({ status, texts, whom })),
      [
        { group: "Team" },
        { phone: to, contact_id: null },
        { phone: "+15550100003", contact_id: null },
      ].map((whom) => ({ status: "scheduled", texts: "From a pipe", whom })),
    )

    const picture = await aFile("menu.txt", "Soup")
    const once = ["--to", to, "--file", picture, "--idempotency-key", "order-7"]
    const [first] = await json("send", once)
    const [again] = await json("send", once)
    assert.deepStrictEqual(again, first)
    assert.deepInclude(first?.["media"], { file_name: "menu.txt" })
    assert.lengthOf((await client.media.list().page()).data, 1)

    const [sent] = await json("send", ["--to", to, "--text", "Hello", "--wait"], {
      meanwhile: async () => void (await operator.simulator.settle()),
    })
    assert.strictEqual(sent?.["status"], "sent")
    const failing = await messaging(["send", "--to", "+15550100000", "--text", "Hello", "--wait"], {
      meanwhile: async () => void (await operator.simulator.settle()),
    })
    assert.strictEqual(failing.code, 7)
    assert.match(failing.output, /failed .*recipient_not_found/)
    await sendsToChats(scene)
  },
  list: async (scene) => {
    const { client, json, messaging, operator, text } = scene
    await client.messages.sendBatch({
      to: Array.from({ length: 130 }, () => ({ phone: to })),
      text: "Hello",
    })
    await aMessage(scene, later)
    await operator.simulator.settle()
    assert.lengthOf(await json("list"), 50)
    assert.lengthOf(await json("list", ["--limit", 3]), 3)
    assert.lengthOf(await json("list", ["--all"]), 131)
    assert.lengthOf(await json("list", ["--status", "scheduled"]), 1)
    const both = ["--status", "sent", "--status", "scheduled", "--to", to]
    const since = ["--since", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"]
    assert.lengthOf(await json("list", [...both, ...since, "--all"]), 131)
    const lines = (await text("list", ["--all"])).trimEnd().split("\n")
    assert.lengthOf(lines, 132)
    assert.match(
      await text("list", ["--status", "scheduled"]),
      /^ID +STATUS +TO +CREATED +SEND AT +SENT .*\n\d+ +scheduled .* 01 Jan 2100 00:00:00 /,
    )
    for (const [rest, follows] of [
      [[], true],
      [["--limit", "3"], true],
      [["--limit", "130"], true],
      [["--limit", "131"], false],
      [["--limit", "132"], false],
      [["--all"], false],
      [["--status", "scheduled"], false],
    ] as const) {
      const { remarks } = await messaging(["list", ...rest])
      const message = "messaging: there are more; show them with --all or --limit\n"
      assert.strictEqual(remarks, follows ? message : "", rest.join(" "))
    }
    const { remarks } = await messaging(["list", "--json"])
    assert.deepInclude(JSON.parse(remarks), {
      remark: { message: "there are more; show them with --all or --limit", more: true },
    })
  },
  get: async (scene) => {
    const { id } = await aMessage(scene)
    assert.strictEqual((await scene.json("get", [id]))[0]?.["id"], id)
    assert.match(await scene.text("get", [id]), new RegExp(`^id +${id}\n`))
    const records = (await scene.text("get", [id, id])).split("\n\n")
    assert.lengthOf(records, 2)
    for (const record of records) assert.match(record, new RegExp(`^id +${id}\n`))
  },
  cancel: async (scene) => {
    const { id } = await aMessage(scene, later)
    assert.strictEqual((await scene.json("cancel", [id]))[0]?.["status"], "cancelled")
    const again = await scene.messaging(["cancel", String(id), "--json"])
    assert.strictEqual(again.code, 3)
    const { error } = JSON.parse(again.remarks) as {
      readonly error: Readonly<Record<"code" | "message" | "request_id" | "status", string>>
    }
    assert.deepInclude(error, { code: "not_cancellable", status: "cancelled" })
    // The message omits what has its own field.
    assert.match(error.request_id, /^req_/)
    assert.notMatch(error.message, /not_cancellable|req_/)
    assert.match(
      (await scene.messaging(["cancel", String(id)])).remarks,
      new RegExp(
        `^messaging: Message ${id} is cancelled, and no longer waits\\. \\(not_cancellable, req_`,
      ),
    )
  },
  tail: async (scene) => {
    const { messaging, operator } = scene
    const before = await aMessage(scene, later)
    let id = 0
    const { code, output } = await messaging(["tail", "--json"], {
      meanwhile: async (wait) => {
        if (wait === 1) id = (await aMessage(scene, later)).id
        if (wait === 2) await scene.client.messages.cancel(id)
        if (wait === 3) await scene.client.messages.cancel(before.id)
        if (wait === 4) id = (await aMessage(scene)).id
        if (wait === 5) await operator.simulator.settle()
        return wait < 6
      },
    })
    assert.strictEqual(code, 130)
    const events = output
      .trimEnd()
      .split("\n")
      .map(
        (line) =>
          JSON.parse(line) as { readonly event: string; readonly message: { readonly id: number } },
      )
    const own = events.filter(({ message }) => message.id > before.id).map(({ event }) => event)
    assert.deepStrictEqual(
      own.filter((event) => event !== "message.queued"),
      ["message.scheduled", "message.cancelled", "message.sent"],
    )
  },

  "reminders create": async ({ json }) => {
    const [created] = await json("reminders create", [
      ...rent,
      "--timezone",
      "Europe/London",
      "--paused",
    ])
    assert.deepInclude(created, {
      name: "Rent",
      active: false,
      schedule: { cron: "0 9 1 * *", timezone: "Europe/London" },
    })
  },
  "reminders list": async ({ json, text }) => {
    await json("reminders create", rent)
    await json("reminders create", [...rent, "--paused"])
    assert.lengthOf(await json("reminders list"), 2)
    assert.lengthOf(await json("reminders list", ["--active"]), 1)
    assert.match(
      await text("reminders list"),
      /NEXT RUN .*\n.* paused .*\n.* \d{4}-\d\d-01T09:00:00\+00:00/,
    )
  },
  ...Object.fromEntries(
    (["get", "pause", "resume"] as const).map((verb) => [
      `reminders ${verb}`,
      async ({ json }: Scene) => {
        const [created] = await json(
          "reminders create",
          verb === "resume" ? [...rent, "--paused"] : rent,
        )
        const [changed] = await json(`reminders ${verb}`, [Number(created?.["id"])])
        assert.strictEqual(changed?.["active"], verb !== "pause")
      },
    ]),
  ),
  "reminders delete": async ({ json }) => {
    const [created] = await json("reminders create", rent)
    const id = Number(created?.["id"])
    assert.deepStrictEqual(await json("reminders delete", [id]), [{ id, deleted: true }])
  },
  "reminders next": async ({ json, messaging, text }) => {
    const every = async (cron: string, ...more: ReadonlyArray<string>) =>
      Number((await json("reminders create", [...rent.slice(0, -1), cron, ...more]))[0]?.["id"])
    const getDue = async (...args: ReadonlyArray<string | number>) =>
      (await json("reminders next", args)).map(({ due_at }) => String(due_at))

    const newYear = await every("0 9 1 1 *")
    const years = (await getDue()).map((due) => Number(due.replace(/-01-01T09:00:00\+00:00$/, "")))
    const [first = 0] = years
    assert.deepStrictEqual(
      years,
      [0, 1, 2, 3, 4].map((more) => first + more),
    )
    assert.lengthOf(await getDue(newYear, "--count", 2), 2)
    assert.match(await text("reminders next"), /DUE +ID +NAME +TO\n\d{4}-01-01T09.* Rent /)
    await json("reminders pause", [newYear])
    assert.isEmpty(await getDue(newYear))

    // Of several the soonest come first.
    const [hour, half] = [await every("0 * * * *"), await every("30 * * * *")]
    await every("* * * * *", "--paused")
    const soon = await json("reminders next", ["--count", 6])
    const ids = soon.map(({ reminder }) => (reminder as { readonly id: number }).id)
    assert.sameMembers(ids.slice(0, 2), [hour, half])
    assert.deepStrictEqual(ids.slice(2), [...ids.slice(0, 2), ...ids.slice(0, 2)])
    const instants = soon.map(({ due_at }) => Date.parse(String(due_at)))
    for (const [at, instant] of instants.slice(1).entries()) {
      assert.strictEqual(instant - (instants[at] ?? 0), 1_800_000)
    }

    const berlin = await every("0 9 * * *", "--timezone", "Europe/Berlin")
    const days = await getDue(berlin, "--count", 365)
    assert.sameMembers(
      [...new Set(days.map((due) => due.slice(11)))],
      ["09:00:00+01:00", "09:00:00+02:00"],
    )
    const wrong = await messaging(["reminders", "next", "1000000"])
    assert.strictEqual(wrong.code, 5)
  },
  "reminders preview": async ({ json, text, workspace }) => {
    const requests = ["0 9 * * *", "--workspace", workspace, "--timezone", "Asia/Tokyo"]
    const runs = await json("reminders preview", [...requests, "--count", 3])
    assert.deepStrictEqual(
      runs.map(({ local }) => String(local).slice(10)),
      ["T09:00:00+09:00", "T09:00:00+09:00", "T09:00:00+09:00"],
    )
    assert.match(
      await text("reminders preview", requests),
      /LOCAL TIME .*\n(?:.*T09:00:00\+09:00 .*\n){10}$/,
    )
  },
  "reminders run": async ({ json, text, workspace }) => {
    const [created] = await json("reminders create", [...rent, "--paused"])
    const path = [Number(created?.["id"]), "--workspace", workspace]
    assert.strictEqual((await json("reminders run", path))[0]?.["outcome"], "accepted")
    assert.match(await text("reminders run", path), /\noutcome +accepted/)
  },
  "reminders runs": async ({ json, operator, text, workspace }) => {
    const [created] = await json("reminders create", [...rent.slice(0, -1), "* * * * *"])
    await operator.simulator.advance({ seconds: 60 })
    const path = [Number(created?.["id"]), "--workspace", workspace]
    assert.strictEqual((await json("reminders runs", path))[0]?.["outcome"], "accepted")
    assert.match(await text("reminders runs", path), /OUTCOME .*\n.* accepted +\d+ +-/)
  },

  "media upload": async ({ aFile, json, messaging }) => {
    const file = await aFile("list.csv", "a,b\n")
    assert.deepInclude((await json("media upload", [file]))[0], { file_name: "list.csv", size: 4 })
    const watched = await messaging(["media", "upload", file], { isWatched: true })
    assert.match(watched.remarks, /list\.csv: 100 % of 4 bytes/)
    assert.match(watched.output, /^id +\d+\nname +list\.csv\n/)
  },
  "media list": async ({ aFile, json, text }) => {
    await json("media upload", [await aFile("a.csv", "a"), await aFile("b.csv", "b")])
    assert.lengthOf(await json("media list", ["--type", "file"]), 2)
    assert.match(await text("media list", ["--type", "image"]), /^none\n$/)
  },
  ...Object.fromEntries(
    (["get", "delete"] as const).map((verb) => [
      `media ${verb}`,
      async ({ aFile, json }: Scene) => {
        const [created] = await json("media upload", [await aFile("a.csv", "a")])
        const id = Number(created?.["id"])
        assert.strictEqual((await json(`media ${verb}`, [id]))[0]?.["id"], id)
      },
    ]),
  ),

  "checks create": async ({ aFile, json, operator, text }) => {
    const phones = await aFile("phones.txt", "+15550100003\n+15550100000\n")
    assert.strictEqual((await json("checks create", [to, "--file", phones]))[0]?.["total"], 3)
    const found = await json("checks create", [to, "+15550100000", "--wait"], {
      meanwhile: async () => void (await operator.simulator.settle()),
    })
    assert.sameMembers(
      found.map(({ phone, status }) => `${phone} ${status}`),
      [`${to} registered`, "+15550100000 not_registered"],
    )
    assert.match(await text("checks create", [to, "--name", "Guests"]), /name +Guests\n/)
  },
  "checks list": async ({ json }) => {
    await json("checks create", [to])
    assert.lengthOf(await json("checks list"), 1)
  },
  "checks get": async ({ json }) => {
    const id = Number((await json("checks create", [to]))[0]?.["id"])
    assert.strictEqual((await json("checks get", [id]))[0]?.["id"], id)
  },
  "checks results": async ({ json, operator }) => {
    const id = Number((await json("checks create", [to]))[0]?.["id"])
    await operator.simulator.settle()
    assert.lengthOf(await json("checks results", [id, "--status", "registered"]), 1)
    assert.lengthOf(await json("checks results", [id, "--status", "failed"]), 0)
  },
}
