/** Commands about parts of a workspace: numbers, webhooks, keys and contacts; and about workspaces. */
import { setTimeout } from "node:timers/promises"
import { assert } from "@effect/vitest"
import type { NewsEvent } from "@messaging-service/client"
import { to } from "./Scene.ts"
import type { Entries, Scene } from "./Scene.ts"

/** An endpoint, and a delivered event. */
const aDelivery = async ({ client, operator, receiver, workspace }: Scene) => {
  const { id } = await client.webhooks.create({ url: receiver })
  await client.messages.send({ to: { phone: to }, text: "Hello" })
  await operator.simulator.settle()
  const { data } = await operator.webhooks.deliveries(workspace, id).page()
  return { webhook: id, event: data[0]?.event_id ?? "" }
}

/** A person writes to a number. */
const write = async (
  { simulator }: Scene["operator"],
  number: number,
  body: Parameters<typeof simulator.write>[1],
) => {
  const message = await simulator.write(number, body)
  if (!("id" in message)) throw new Error("it waits")
  return message
}

/** A held message; returns its id. */
const held = async ({ client, operator }: Scene) => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  const { id } = await client.messages.send({ to: { phone: to }, text: "Hello", send_at: tomorrow })
  await operator.store.restored({ again: true })
  return id
}

/** A Telegram number that is not logged in, and the words that name it. */
const anAccount = async ({ operator, workspace }: Scene, phone = "+15550100021") => {
  const account = { platform: "telegram", phone, status: "disconnected" } as const
  const { id } = await operator.numbers.create(workspace, account)
  return { phone, target: [id, "--workspace", workspace] as const }
}

const telegramCommands: Entries = {
  "telegram begin": async (scene) => {
    const { operator } = scene
    const { target } = await anAccount(scene)
    const begin = ["telegram", "begin", ...target.map(String)]
    // Scans its code after the next one has replaced it.
    const scan = async (wait: number) => {
      if (wait === 2) await operator.simulator.advance({ seconds: 31 })
      if (wait === 3) await operator.simulator.scan(target[0])
    }
    const visible = await scene.messaging(begin, { meanwhile: scan, isWatched: true })
    assert.strictEqual(visible.code, 0)
    assert.match(visible.output, /^(?:Scan this with [^\n]+\n[█▀▄ \n]+){2}state +connected\n/)
    assert.match(visible.remarks, /waiting for the phone/)

    const other = await anAccount(scene, "+15550100022")
    const checks = await scene.json("telegram begin", other.target, {
      meanwhile: async () => void (await operator.simulator.scan(other.target[0])),
    })
    assert.deepStrictEqual(
      checks.map(({ state }) => state),
      ["showing_qr", "connected"],
    )

    const third = await anAccount(scene, "+15550100023")
    const line = ["telegram", "begin", ...third.target.map(String)]
    const left = await scene.messaging(line, { meanwhile: () => Promise.resolve(false) })
    assert.match(left.remarks, /the login continues; messaging telegram get \d+ --workspace \d+/)
    const again = await scene.messaging(line)
    assert.strictEqual(again.code, 3)
    assert.match(again.remarks, /connect_in_progress/)
    await scene.messaging(["telegram", "cancel", ...third.target.map(String)])
    const lapsed = await scene.messaging(line, {
      meanwhile: async () => void (await operator.simulator.advance({ seconds: 601 })),
    })
    assert.strictEqual(lapsed.code, 7)
    assert.match(lapsed.remarks, /login failed: /)
  },
  "telegram get": async (scene) => {
    const { phone, target } = await anAccount(scene)
    await scene.json("telegram begin", [...target, "--phone", phone])
    assert.match(await scene.text("telegram get", target), /^state +code_sent\n/)
  },
  "telegram code": async (scene) => {
    const { phone, target } = await anAccount(scene)
    await scene.json("telegram begin", [...target, "--phone", phone])
    const line = ["telegram", "code", ...target.map(String)]
    const wrong = await scene.messaging(line, { input: "99999\n" })
    assert.strictEqual(wrong.code, 3)
    assert.match(wrong.remarks, /invalid_code/)
    const right = await scene.messaging(line, { input: "12345\n" })
    assert.deepInclude(right, { code: 0, remarks: "" })
    assert.match(right.output, /^state +connected\n/)
  },
  "telegram password": async (scene) => {
    const { phone, target } = await anAccount(scene)
    await scene.json("telegram begin", [...target, "--phone", phone])
    const [login] = await scene.json("telegram code", target, { input: "22222" })
    assert.strictEqual(login?.["state"], "password_needed")
    const typed = await scene.messaging(["telegram", "password", ...target.map(String)])
    assert.strictEqual(typed.code, 2)
    assert.match(typed.remarks, /on standard input/)
    const [done] = await scene.json("telegram password", target, { input: "password\n" })
    assert.strictEqual(done?.["state"], "connected")
  },
  "telegram cancel": async (scene) => {
    const { phone, target } = await anAccount(scene)
    await scene.json("telegram begin", [...target, "--phone", phone])
    await scene.json("telegram cancel", target)
    const deleted = await scene.messaging(["telegram", "get", ...target.map(String)])
    assert.strictEqual(deleted.code, 5)
  },
}

export const operatorCommands: Entries = {
  "numbers list": async ({ json, number, workspace }) => {
    assert.strictEqual((await json("numbers list"))[0]?.["id"], number)
    const inWorkspace = await json("numbers list", ["--workspace", workspace])
    assert.strictEqual(inWorkspace[0]?.["id"], number)
  },
  "numbers get": async ({ json, number }) =>
    assert.strictEqual((await json("numbers get", [number]))[0]?.["status"], "connected"),
  "numbers restrictions": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    for (const inside of [[], ["--workspace", workspace]]) {
      const [shown] = await json("numbers restrictions", [number, ...inside])
      assert.deepInclude(shown, { number_id: number, state: "unknown", until: null })
    }
  },
  "numbers connect": async ({ client, json, messaging, operator, workspace }) => {
    // Scans the code as soon as it appears.
    const scan = async (wait: number) => {
      await operator.simulator.settle()
      const connecting = (await client.numbers.list()).find(({ status }) => status === "connecting")
      if (wait === 2 && connecting !== undefined) await operator.simulator.scan(connecting.id)
    }
    const checks = await json("numbers connect", [], { meanwhile: scan })
    assert.strictEqual(checks.at(-1)?.["status"], "connected")
    const path = ["--workspace", workspace]
    const inside = await json("numbers connect", path, { meanwhile: scan })
    assert.strictEqual(inside.at(-1)?.["status"], "connected")
    const visible = await messaging(["numbers", "connect"], { meanwhile: scan, isWatched: true })
    assert.strictEqual(visible.code, 0)
    assert.match(visible.output, /Scan this with the phone[^]*█[^]*status +connected/)
    assert.match(visible.remarks, /waiting for the phone/)
    const typed = await messaging(["numbers", "connect", "--phone", "+15550100009"], {
      meanwhile: scan,
    })
    assert.match(typed.output, /Type this code .*: [A-Z0-9]{8}\n/)
    const lapsed = await messaging(["numbers", "connect"], {
      meanwhile: async () => void (await operator.simulator.advance({ seconds: 601 })),
    })
    assert.strictEqual(lapsed.code, 7)
    assert.match(lapsed.remarks, /was not linked/)
  },
  ...telegramCommands,
  "numbers add": async ({ json, workspace }) =>
    assert.deepInclude(
      (
        await json("numbers add", ["+15550100008", "--workspace", workspace, "--label", "Second"])
      )[0],
      { phone: "15550100008", label: "Second", status: "connected" },
    ),
  "numbers update": async ({ json, number, workspace }) => {
    const limits = ["--per-minute", "30", "--rest", "0", "--label", "First", "--proxy", "-"]
    const [changed] = await json("numbers update", [number, "--workspace", workspace, ...limits], {
      input: "http://user:secret@127.0.0.1:3128\n",
    })
    assert.deepInclude(changed, { label: "First", proxy: { host: "127.0.0.1", port: 3128 } })
    assert.deepInclude(changed?.["pacing"], { per_minute: 30, min_interval_ms: null })
  },
  "numbers remove": async ({ json, number, workspace }) =>
    assert.deepStrictEqual(await json("numbers remove", [number, "--workspace", workspace]), [
      { id: number, deleted: true },
    ]),
  "numbers connections": async ({ json, text, workspace }) => {
    const path = ["--workspace", workspace]
    assert.deepInclude((await json("numbers connections", path))[0], { state: "connected" })
    assert.match(await text("numbers connections", path), /\d+\/1000/)
  },
  "numbers connection": async ({ json, number, text, workspace }) => {
    const path = [number, "--workspace", workspace]
    assert.deepInclude((await json("numbers connection", path))[0], {
      state: "connected",
      waiting: 0,
    })
    // Labels for people are words.
    const labels = await text("numbers connection", path)
    assert.match(labels, /^paused until +-$/m)
    assert.notMatch(labels, /[a-z]_[a-z]/)
  },
  "numbers pause": async ({ json, number, workspace }) =>
    assert.deepInclude(
      (
        await json("numbers pause", [
          number,
          "--workspace",
          workspace,
          "--until",
          "2100-01-01T00:00:00Z",
        ])
      )[0],
      { reason: "paused", paused_until: "2100-01-01T00:00:00Z" },
    ),
  "numbers resume": async ({ json, number, workspace }) => {
    const path = [number, "--workspace", workspace]
    await json("numbers pause", path)
    assert.isNull((await json("numbers resume", path))[0]?.["reason"])
  },
  "numbers check-proxy": async ({ json, number, workspace }) => {
    const path = [number, "--workspace", workspace]
    await json("numbers update", [...path, "--proxy", "-"], { input: "http://127.0.0.1:3128\n" })
    assert.deepStrictEqual(await json("numbers check-proxy", path), [
      { ok: false, error: "no_remote", duration_ms: 0 },
    ])
  },
  "numbers logout": async ({ json, number, workspace }) =>
    assert.strictEqual(
      (await json("numbers logout", [number, "--workspace", workspace]))[0]?.["status"],
      "disconnected",
    ),

  events: async ({ messaging, operator, workspace }) => {
    const line = ["events", "--workspace", String(workspace)]
    const sent: Array<number> = []
    const send = async () => {
      const hello = { to: { phone: to }, text: "Hello" }
      sent.push((await operator.messages.send(workspace, hello)).id)
    }
    // Messages come until the reader of the first lines has gone, few enough for their number's quota.
    const format = async (lines: number, ...more: ReadonlyArray<string>) => {
      const over = new AbortController()
      const ran = messaging([...line, ...more, "--json"], { outputAccepts: [lines, "EPIPE"] })
      const ended = ran.finally(() => over.abort())
      while (!over.signal.aborted) await Promise.all([send(), setTimeout(50)])
      const { code, output, remarks } = await ended
      assert.strictEqual(code, 0, remarks)
      return output
        .trimEnd()
        .split("\n")
        .map((each) => JSON.parse(each) as NewsEvent)
    }
    const [first] = await format(1)
    assert.hasAllKeys(first, ["topic", "id", "ids", "now"])

    await send()
    const before = new Set(sent)
    const missed = await format(2, "--after", first?.id ?? "")
    assert.isTrue(missed.some(({ ids }) => ids.some((id) => before.has(id))))
    const ended = await messaging(line, { request: () => false })
    assert.strictEqual(ended.code, 130)
  },

  "webhooks create": async ({ json, receiver, workspace }) => {
    for (const path of [[], ["--workspace", workspace]]) {
      const [created] = await json("webhooks create", [
        receiver,
        "--event",
        "message.failed",
        ...path,
      ])
      assert.deepInclude(created, { events: ["message.failed"], url: receiver })
      assert.match(String(created?.["secret"]), /^[0-9a-f]{64}$/)
    }
  },
  "webhooks list": async ({ client, json, receiver, workspace }) => {
    const { id } = await client.webhooks.create({ url: receiver })
    assert.strictEqual((await json("webhooks list"))[0]?.["id"], id)
    assert.strictEqual((await json("webhooks list", ["--workspace", workspace]))[0]?.["id"], id)
  },
  ...Object.fromEntries(
    (["get", "delete", "rotate-secret"] as const).map((verb) => [
      `webhooks ${verb}`,
      async ({ client, json, receiver, workspace }: Scene) => {
        const { id } = await client.webhooks.create({ url: receiver })
        assert.strictEqual((await json(`webhooks ${verb}`, [id]))[0]?.["id"], id)
        if (verb === "get") return
        const { id: other } = await client.webhooks.create({ url: receiver })
        const [visible] = await json(`webhooks ${verb}`, [other, "--workspace", workspace])
        assert.strictEqual(visible?.["id"], other)
      },
    ]),
  ),
  "webhooks test": async ({ client, json, receiver, workspace }) => {
    const { id } = await client.webhooks.create({ url: receiver })
    for (const path of [[], ["--workspace", workspace]]) {
      const [queued] = await json("webhooks test", [id, ...path])
      assert.deepInclude(queued, { type: "ping", queued: true })
    }
  },
  "webhooks log": async (scene) => {
    const { json, messaging, text, workspace } = scene
    const { event, webhook } = await aDelivery(scene)
    const path = [webhook, "--workspace", workspace]
    assert.deepInclude((await json("webhooks log", path))[0], {
      event_id: event,
      response_status: 204,
    })
    assert.match(await text("webhooks log", path), /TYPE .*\n.* message\.sent +1 +204 /)
    assert.isEmpty(await json("webhooks log", [...path, "--failed", "--type", "message.sent"]))
    const followed = await messaging(
      ["webhooks", "log", ...path.map(String), "--follow", "--json"],
      {
        meanwhile: async (wait) => {
          if (wait === 1) await aDelivery(scene)
          return wait < 3
        },
      },
    )
    assert.strictEqual(followed.code, 130)
    assert.lengthOf(followed.output.trimEnd().split("\n"), 2)
  },
  "webhooks delivery": async (scene) => {
    const { json, operator, workspace } = scene
    const { event, webhook } = await aDelivery(scene)
    const { data } = await operator.webhooks.deliveries(workspace, webhook).page()
    const path = [webhook, data[0]?.id ?? 0, "--workspace", workspace]
    const [visible] = await json("webhooks delivery", path)
    assert.include(visible?.["request_body"], event)
  },
  "webhooks change": async ({ client, json, receiver, workspace }) => {
    const { id } = await client.webhooks.create({ url: receiver })
    const url = `${receiver}till`
    const path = [id, "--workspace", workspace, "--event", "message.failed"]
    const changes = [...path, "--description", "Till", "--url", url]
    const [changed] = await json("webhooks change", changes)
    assert.deepInclude(changed, { url, events: ["message.failed"], description: "Till" })
  },
  "webhooks recover": async (scene) => {
    const { webhook } = await aDelivery(scene)
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const path = [webhook, "--workspace", scene.workspace, "--since", since]
    assert.deepStrictEqual(await scene.json("webhooks recover", path), [{ queued: 0 }])
  },
  "webhooks redeliver": async (scene) => {
    const { event, webhook } = await aDelivery(scene)
    const path = [webhook, event, "--workspace", scene.workspace]
    assert.deepInclude((await scene.json("webhooks redeliver", path))[0], { event_id: event })
  },
  "webhooks resume": async (scene) => {
    const { webhook } = await aDelivery(scene)
    const path = [webhook, "--workspace", scene.workspace]
    assert.isTrue((await scene.json("webhooks resume", path))[0]?.["active"])
  },
  "callbacks log": async ({ json, workspace }) =>
    assert.deepStrictEqual(await json("callbacks log", ["--workspace", workspace]), []),
  "callbacks secret": async ({ json, workspace }) => {
    const path = ["--workspace", workspace]
    const before = await json("callbacks secret", path)
    assert.deepStrictEqual(await json("callbacks secret", path), before)
    assert.notDeepEqual(await json("callbacks secret", [...path, "--rotate"]), before)
  },

  "workspaces create": async ({ json }) => {
    assert.deepInclude((await json("workspaces create", ["Café"]))[0], { name: "Café" })
    const [without] = await json("workspaces create", ["Free", "--plan", "none"])
    assert.isNull(without?.["plan"])
  },
  "workspaces list": async ({ json, text, workspace }) => {
    assert.strictEqual((await json("workspaces list", ["--limit", 1]))[0]?.["id"], workspace)
    assert.match(
      await text("workspaces list", ["--limit", 1]),
      /NAME .*\n\d+ +Shop +\d+ +Unlimited +unlimited /,
    )
  },
  "workspaces get": async ({ json, workspace }) =>
    assert.strictEqual((await json("workspaces get", [workspace]))[0]?.["name"], "Shop"),
  "workspaces update": async ({ json, messaging, workspace }) => {
    const changes = [workspace, "--name", "Closed", "--disabled", "on", "--retention", 30]
    assert.deepInclude((await json("workspaces update", changes))[0], {
      name: "Closed",
      account_disabled: true,
      retention_days: 30,
    })
    const [stored] = await json("workspaces update", [workspace, "--retention", "none"])
    assert.isNull(stored?.["retention_days"])
    assert.strictEqual((await messaging(["me"])).code, 4)
  },
  "conversations on": async ({ json, workspace }) => {
    const settings = ["--groups", "on", "--retention", 7, "--media", "off"]
    assert.deepInclude((await json("conversations on", [workspace, ...settings]))[0], {
      groups: true,
      retention_days: 7,
      media: "off",
      hold_new_chats: false,
    })
  },
  "conversations show": async ({ json, messaging, workspace }) => {
    assert.strictEqual((await messaging(["conversations", "show", String(workspace)])).code, 5)
    await json("conversations on", [workspace])
    assert.deepInclude((await json("conversations show", [workspace]))[0], { retention_days: 30 })
  },
  "messages received": async ({ json, number, operator, text, workspace }) => {
    await operator.conversations.set(workspace, {})
    const from = { phone: to, name: "Ada" }
    const { id } = await write(operator, number, { from, text: "Hello" })
    const inside = ["--workspace", workspace]
    const listed = await json("messages received", [...inside, "--number", number])
    assert.deepStrictEqual(
      listed.map((message) => message["id"]),
      [id],
    )
    assert.match(await text("messages received", inside), /Ada +text +Hello/)
  },
  "chats list": async ({ json, number, operator, text, workspace }) => {
    await operator.conversations.set(workspace, {})
    const from = { phone: to, name: "Ada" }
    const { chat } = await write(operator, number, { from, text: "Hello" })
    const inside = ["--workspace", workspace, "--unread", "true", "--phone", to]
    assert.deepInclude((await json("chats list", inside))[0], { id: chat.id, unread: 1 })
    assert.match(await text("chats list", inside), /person +Ada/)
  },
  "chats show": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const { chat } = await write(operator, number, { from: { lid: "77" }, text: "Hello" })
    const [shown] = await json("chats show", [chat.id, "--workspace", workspace])
    assert.deepInclude(shown, { id: chat.id, lid: "77", type: "person" })
  },
  "chats messages": async ({ json, number, operator, text, workspace }) => {
    await operator.conversations.set(workspace, {})
    const from = { phone: to, name: "Ada" }
    const { chat, id } = await write(operator, number, { from, text: "Hello" })
    const options = ["--workspace", workspace]
    await text("send", ["--to", to, "--text", "Yes", "--wait", ...options])
    const [sent, received, ...others] = await json("chats messages", [chat.id, ...options])
    assert.deepInclude(sent?.["message"], { status: "sent", text: "Yes" })
    assert.deepInclude(received?.["received_message"], { id, text: "Hello" })
    assert.deepStrictEqual(
      [sent?.["received_message"], received?.["message"], others],
      [null, null, []],
    )
    const rows = await text("chats messages", [chat.id, ...options])
    assert.match(rows, new RegExp(`sent +\\d+ +- +sent +Yes[^]+received +${id} +Ada +- +Hello`))
  },
  "chats read": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const { chat, id } = await write(operator, number, { from: { lid: "77" } })
    const inside = ["--workspace", workspace]
    const [marked] = await json("chats read", [chat.id, "--up-to", id, ...inside])
    assert.deepInclude(marked, { chat_id: chat.id, up_to: id })
    assert.deepInclude((await json("chats show", [chat.id, ...inside]))[0], { unread: 0 })
  },
  "messages erase": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const { id } = await write(operator, number, { from: { lid: "77" }, text: "Hello" })
    const inside = ["--workspace", workspace]
    assert.deepStrictEqual(await json("messages erase", [id, ...inside]), [{ id, deleted: true }])
    assert.deepStrictEqual(await json("messages received", inside), [])
  },
  "chats erase": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const { chat } = await write(operator, number, { from: { lid: "77" }, text: "Hello" })
    const inside = ["--workspace", workspace]
    assert.deepStrictEqual(await json("chats erase", [chat.id, ...inside]), [
      { id: chat.id, deleted: true },
    ])
    assert.deepStrictEqual(await json("chats list", inside), [])
  },
  "conversations off": async ({ json, messaging, workspace }) => {
    await json("conversations on", [workspace])
    assert.strictEqual((await messaging(["conversations", "off", String(workspace)])).code, 2)
    assert.deepStrictEqual(await json("conversations off", [workspace, "--yes"]), [
      { deleted: true },
    ])
  },
  "workspaces delete": async ({ json, messaging, workspace }) => {
    assert.strictEqual((await messaging(["workspaces", "delete", String(workspace)])).code, 2)
    assert.deepStrictEqual(await json("workspaces delete", [workspace, "--yes"]), [
      { id: workspace, deleted: true },
    ])
  },
  "keys create": async ({ json, number, workspace }) => {
    const path = ["--workspace", workspace]
    const narrow = [
      "--name",
      "Till",
      "--mode",
      "test",
      "--scope",
      "media",
      "--number",
      number,
      "--expires",
      "30d",
    ]
    const [created] = await json("keys create", [...path, ...narrow])
    assert.deepInclude(created, { mode: "test", scopes: ["media"], number_ids: [number] })
    assert.match(String(created?.["key"]), /^svc_test_/)
    const [old] = await json("keys create", [...path, "--version-1"])
    assert.match(String(old?.["key"]), /^[0-9a-f]{40}$/)
  },
  "keys list": async ({ json, workspace }) =>
    assert.strictEqual(
      (await json("keys list", ["--workspace", workspace]))[0]?.["name"],
      "Command line",
    ),
  "keys revoke": async ({ json, messaging, workspace }) => {
    const [{ id } = { id: 0 }] = await json("keys list", ["--workspace", workspace])
    await json("keys revoke", [Number(id), "--workspace", workspace])
    assert.strictEqual((await messaging(["me"])).code, 4)
  },
  "portal create": async ({ json, workspace }) => {
    const path = ["--workspace", workspace, "--role", "member"]
    const more = ["--return-url", "https://shop.example/", "--expires-in", 60]
    const [created] = await json("portal create", [...path, ...more])
    assert.deepInclude(created, { role: "member", return_url: "https://shop.example/" })
    assert.match(String(created?.["url"]), /\/portal#code=[0-9a-f]{64}$/)
  },
  ...Object.fromEntries(
    (["list", "revoke"] as const).map((verb) => [
      `portal ${verb}`,
      async ({ json, operator, text, workspace }: Scene) => {
        const { id } = await operator.portalSessions.create(workspace, { role: "owner" })
        const path = ["--workspace", workspace]
        const [visible] = await json(`portal ${verb}`, verb === "list" ? path : [id, ...path])
        assert.strictEqual(visible?.["id"], id)
        if (verb === "list") assert.match(await text("portal list", path), /\n.* owner .* unused\n/)
      },
    ]),
  ),
  "contacts add": async ({ json, workspace }) =>
    assert.deepInclude(
      (await json("contacts add", ["Ann", "--phone", to, "--workspace", workspace]))[0],
      {
        name: "Ann",
        phone: to,
      },
    ),
  "contacts list": async ({ json, workspace }) => {
    await json("contacts add", ["Bo", "--username", "@bo_example", "--workspace", workspace])
    assert.lengthOf(await json("contacts list", ["--workspace", workspace]), 1)
  },
  "contacts delete": async ({ json, workspace }) => {
    const [created] = await json("contacts add", ["Ann", "--phone", to, "--workspace", workspace])
    const id = Number(created?.["id"])
    assert.deepStrictEqual(await json("contacts delete", [id, "--workspace", workspace]), [
      { id, deleted: true },
    ])
  },

  // These come last: a restore holds all waiting messages of the store.
  "store restored": async ({ client, messaging }) => {
    const send_at = new Date(Date.now() + 86_400_000).toISOString()
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello", send_at })
    const started = await messaging(["store", "restored", "--above", "5000000"])
    assert.match(started.output, /epoch +2\n/)
    assert.match(started.remarks, /\d+ are held: messaging held workspaces .*docs\/operating\.md/)
    assert.match(started.remarks, /still answer store_behind .*--above ID/)
    const next = await client.messages.send({ to: { phone: to }, text: "Hello" })
    assert.isAbove(next.id, 5_000_000 + id)
    const refused = await messaging(["store", "restored"])
    assert.strictEqual(refused.code, 3)
    assert.match(refused.remarks, /Use --again .*already_restored/)
  },
  "held workspaces": async (scene) => {
    await held(scene)
    assert.deepInclude(await scene.json("held workspaces"), {
      workspace_id: scene.workspace,
      messages: 1,
      reminders: 0,
      campaigns: 0,
    })
  },
  "figures workspace": async (scene) => {
    const [figures] = await scene.json("figures workspace", [
      "--workspace",
      scene.workspace,
      "--range",
      "7d",
    ])
    assert.lengthOf(figures?.["buckets"] as ReadonlyArray<unknown>, 28)
  },
  "figures service": async (scene) => {
    const [figures] = await scene.json("figures service", [])
    assert.isTrue(figures?.["store_up"])
  },
  "held list": async (scene) => {
    const id = await held(scene)
    const path = ["--workspace", scene.workspace]
    assert.strictEqual((await scene.json("held list", path))[0]?.["id"], id)
  },
  "held release": async (scene) => {
    const id = await held(scene)
    const path = ["--workspace", scene.workspace]
    assert.strictEqual((await scene.messaging(["held", "release", ...path.map(String)])).code, 2)
    assert.deepStrictEqual(await scene.json("held release", [id, ...path]), [
      { released: 1, more: false },
    ])
  },
  "held mark-sent": async (scene) => {
    const id = await held(scene)
    const path = ["--workspace", scene.workspace]
    // Planned for tomorrow.
    assert.deepStrictEqual(await scene.json("held mark-sent", [...path, "--all"]), [
      { marked: 0, more: false },
    ])
    const sentAt = "2026-03-01T09:00:00Z"
    assert.deepStrictEqual(await scene.json("held mark-sent", [id, ...path, "--sent-at", sentAt]), [
      { marked: 1, more: false },
    ])
    assert.strictEqual((await scene.client.messages.get(id)).sent_at, sentAt)
  },
  "held cancel": async (scene) => {
    await held(scene)
    const path = ["--workspace", scene.workspace, "--all"]
    assert.deepStrictEqual(await scene.json("held cancel", path), [{ cancelled: 1, more: false }])
  },
  "messages cancel": async (scene) => {
    const { client, workspace } = scene
    const send_at = new Date(Date.now() + 86_400_000).toISOString()
    const send = (phone: string) => client.messages.send({ to: { phone }, text: "Hello", send_at })
    const path = ["--workspace", workspace]
    const { id } = await send(to)
    const one = { cancelled: 1, not_cancellable: 0, more: false }
    assert.deepStrictEqual(await scene.json("messages cancel", [id, ...path]), [one])
    await send("+15550100077")
    const filter = [...path, "--status", "scheduled", "--to", "+15550100077"]
    assert.deepStrictEqual(await scene.json("messages cancel", filter), [one])
    const nothing = await scene.messaging(["messages", "cancel", ...path.map(String)])
    assert.match(nothing.remarks, /give message ids or filters/)
  },
  "messages timeline": async (scene) => {
    const send_at = new Date(Date.now() + 86_400_000).toISOString()
    const { id } = await scene.client.messages.send({ to: { phone: to }, text: "Hello", send_at })
    const tokens = [id, "--workspace", scene.workspace]
    const [timeline] = await scene.json("messages timeline", tokens)
    assert.deepStrictEqual(timeline?.["waiting"], {
      for: [{ reason: "scheduled", until: send_at.replace(/\.\d+/, ""), because: null }],
      ahead: 0,
    })
  },
}
