/** Commands for simulated phones and their clock. */
import { assert } from "@effect/vitest"
import { to } from "./Scene.ts"
import type { Entries } from "./Scene.ts"

export const phoneCommands: Entries = {
  "phones behaviour": async ({ client, json, messaging, number, operator }) => {
    const [defaults] = await json("phones behaviour", [number])
    assert.deepInclude(defaults, { send: "succeed", latency_ms: 0, groups: ["Team"] })
    const set = ["--send", "fail", "--error-message", "No room.", "--group", "Cooks"]
    const [failing] = await json("phones behaviour", [number, ...set])
    assert.deepInclude(failing, { send: "fail", error_message: "No room.", groups: ["Cooks"] })
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello" })
    await operator.simulator.settle()
    assert.strictEqual((await client.messages.get(id)).status, "failed")
    assert.deepStrictEqual((await json("phones behaviour", [number, "--reset"]))[0], defaults)
    const both = ["phones", "behaviour", String(number), "--reset", "--send", "fail"]
    assert.deepInclude(await messaging(both), { code: 2, requests: [] })
  },
  "phones scan": async ({ client, json, operator }) => {
    const { id } = await client.numbers.connect({})
    await operator.simulator.settle()
    const [scanned] = await json("phones scan", [id, "--phone", "+15550100077"])
    assert.deepInclude(scanned, { status: "connected", phone: "15550100077" })
  },
  "phones read": async ({ json, number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const message = await operator.simulator.write(number, { from: { phone: to } })
    if (!("id" in message)) throw new Error("it waits")
    const { chat, id } = message
    await operator.chats.markRead(workspace, chat.id, { up_to: id })
    await operator.simulator.settle()
    const [mark] = await json("phones read", [number])
    assert.deepInclude(mark, { chat_id: chat.id, up_to: id })
  },
  "phones write": async ({ json, messaging, number, operator, workspace }) => {
    const ada = ["--from", to, "--name", "Ada", "--text", "Hello"]
    assert.strictEqual((await messaging(["phones", "write", String(number), ...ada])).code, 5)
    await operator.conversations.set(workspace, {})
    assert.deepInclude((await json("phones write", [number, ...ada]))[0], {
      text: "Hello",
      from: { phone: to, lid: null, user_id: null, username: null, name: "Ada" },
    })
    const file = import.meta.filename
    const [sent] = await json("phones write", [number, "--from", to, "--file", file])
    assert.deepInclude(sent, { kind: "document", text: "" })
    assert.deepInclude(sent?.["media"], { file_name: "phoneCommands.ts" })
    const nothing = await messaging(["phones", "write", String(number), "--from", to])
    assert.strictEqual(nothing.code, 2)
  },
  "phones logout": async ({ json, number }) =>
    assert.strictEqual((await json("phones logout", [number]))[0]?.["status"], "disconnected"),
  "phones registered": async ({ json }) => {
    const [set] = await json("phones registered", [to, "+15550100003"])
    assert.deepStrictEqual(set?.["phones"], [to, "+15550100003"])
    assert.deepStrictEqual((await json("phones registered"))[0], set)
    assert.deepStrictEqual(await json("phones registered", ["--reset"]), [{ phones: null }])
  },
  "phones sent": async ({ client, json, number, operator, text, workspace }) => {
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello" })
    await operator.simulator.settle()
    const inside = ["--workspace", workspace, "--number", number, "--to", to]
    const copies = await json("phones sent", inside)
    assert.lengthOf(copies, 1)
    assert.deepInclude(copies[0], { message_id: id, text: "Hello" })
    assert.match(await text("phones sent", inside), /^AT .*\n.* Hello/)
  },
  "phones tick": async ({ client, json, operator }) => {
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello" })
    await operator.simulator.settle()
    assert.strictEqual((await json("phones tick", [id, "read"]))[0]?.["status"], "read")
  },
  "receivers list": async ({ json, workspace, operator }) => {
    await operator.webhooks.create(workspace, { url: "https://cli-list.receiver.test/hook" })
    const listed = await json("receivers list", ["--workspace", workspace])
    assert.deepInclude(
      listed.find(({ name }) => name === "cli-list"),
      { url: "https://cli-list.receiver.test/", calls: 0 },
    )
  },
  "receivers answer": async ({ json, workspace }) => {
    const at = ["cli-answer", "--workspace", workspace]
    const broken = [...at, "--status", "500", "--body", "no room", "--hangs"]
    const [set] = await json("receivers answer", broken)
    assert.deepStrictEqual(set?.["answer"], { status: 500, body: "no room", hangs: true })
    const [usual] = await json("receivers answer", at)
    assert.deepStrictEqual(usual?.["answer"], { status: 200, body: "", hangs: false })
  },
  "receivers calls": async ({ json, operator, text, workspace }) => {
    const url = "https://cli-calls.receiver.test/hook"
    const { id } = await operator.webhooks.create(workspace, { url })
    await operator.webhooks.test(workspace, id)
    await operator.simulator.settle()
    const at = ["cli-calls", "--workspace", workspace]
    const [call] = await json("receivers calls", at)
    assert.deepInclude(call, { path: "/hook", type: "ping", signature: "valid" })
    assert.match(await text("receivers calls", at), /^ID .*\n.* valid/)
  },
  "receivers clear": async ({ json, operator, workspace }) => {
    const url = "https://cli-clear.receiver.test/hook"
    const { id } = await operator.webhooks.create(workspace, { url })
    await operator.webhooks.test(workspace, id)
    await operator.simulator.settle()
    const at = ["cli-clear", "--workspace", workspace]
    assert.lengthOf(await json("receivers calls", at), 1)
    assert.deepInclude((await json("receivers clear", at))[0], { calls: 0 })
    assert.isEmpty(await json("receivers calls", at))
  },
  "clock get": async ({ json, operator }) => {
    const { now } = await operator.simulator.clock()
    const [visible] = await json("clock get")
    assert.isAtLeast(Date.parse(String(visible?.["now"])), Date.parse(now))
  },
  "clock advance": async ({ client, json, operator }) => {
    const { now } = await operator.simulator.clock()
    const due = new Date(Date.parse(now) + 3_600_000).toISOString()
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello", send_at: due })
    const [later] = await json("clock advance", ["1h30m"])
    assert.isAtLeast(Date.parse(String(later?.["now"])) - Date.parse(now), 5_400_000)
    assert.strictEqual((await client.messages.get(id)).status, "sent")
  },
  "clock settle": async ({ client, json }) => {
    const { id } = await client.messages.send({ to: { phone: to }, text: "Hello" })
    await json("clock settle")
    assert.strictEqual((await client.messages.get(id)).status, "sent")
  },
}
