/** The commands of a key with `--workspace`: the operator does the same, without a key. */
import { assert } from "@effect/vitest"
import { to } from "./Scene.ts"
import type { Scene } from "./Scene.ts"

type Rest = ReadonlyArray<string | number>

const later = ["--at", "2100-01-01T00:00:00Z"]
const noKey = { env: { MESSAGING_KEY: "" } }

/** Runs every command that takes `--workspace` and `--mode`, in that mode. */
export const actsInWorkspace = async (scene: Scene, mode: "live" | "test"): Promise<void> => {
  const { aFile, operator, receiver, workspace } = scene
  const path = ["--workspace", workspace, "--mode", mode]
  const records = (tokens: string, rest: Rest = [], meanwhile?: () => Promise<void>) =>
    scene.json(tokens, [...rest, ...path], { ...noKey, ...(meanwhile && { meanwhile }) })
  const one = async (tokens: string, rest: Rest = []) => (await records(tokens, rest))[0] ?? {}
  const getId = async (tokens: string, rest: Rest) => Number((await one(tokens, rest))["id"])
  const ofOtherMode = async (tokens: string) => {
    const other = ["--workspace", workspace, "--mode", mode === "live" ? "test" : "live"]
    return (await scene.json(tokens, other, noKey)).length
  }
  const settle = async () => void (await operator.simulator.settle())

  const message = await getId("send", ["--to", to, "--text", "Hello", ...later])
  assert.lengthOf(await records("send", ["--to", to, "--to", to, "--text", "Two", ...later]), 2)
  assert.lengthOf(await records("list"), 3)
  assert.strictEqual(await ofOtherMode("list"), 0)
  assert.deepInclude(await one("get", [message]), { id: message, text: "Hello" })
  const [cancelled] = await scene.json("cancel", [message, "--workspace", workspace], noKey)
  assert.strictEqual(cancelled?.["status"], "cancelled")
  const waited = await records("send", ["--to", to, "--text", "Now", "--wait"], settle)
  assert.strictEqual(waited[0]?.["status"], "sent")

  const rent = ["--name", "Rent", "--to", to, "--text", "Due", "--cron", "0 9 1 * *"]
  const reminder = await getId("reminders create", rent)
  assert.strictEqual((await one("reminders pause", [reminder]))["active"], false)
  assert.strictEqual((await one("reminders resume", [reminder]))["active"], true)
  assert.strictEqual((await one("reminders get", [reminder]))["id"], reminder)
  assert.lengthOf(await records("reminders list"), 1)
  assert.strictEqual(await ofOtherMode("reminders list"), 0)
  assert.lengthOf(await records("reminders next", ["--count", 2]), 2)
  assert.deepInclude(await one("reminders delete", [reminder]), { deleted: true })

  const file = await getId("media upload", [await aFile("shop.csv", "a,b\n")])
  assert.strictEqual((await one("media get", [file]))["file_name"], "shop.csv")
  assert.lengthOf(await records("media list"), 1)
  assert.deepInclude(await one("media delete", [file]), { deleted: true })

  const check = await getId("checks create", [to])
  await settle()
  assert.strictEqual((await one("checks get", [check]))["total"], 1)
  assert.lengthOf(await records("checks list"), 1)
  assert.strictEqual(await ofOtherMode("checks list"), 0)
  assert.strictEqual((await one("checks results", [check]))["status"], "registered")

  const webhook = await getId("webhooks create", [receiver])
  const [visible] = await scene.json("webhooks get", [webhook, "--workspace", workspace], noKey)
  assert.strictEqual(visible?.["id"], webhook)
  assert.isDefined((await one("webhooks test", [webhook]))["event_id"])
  assert.isString((await one("webhooks rotate-secret", [webhook]))["secret"])
  assert.deepInclude(await one("webhooks delete", [webhook]), { deleted: true })
}

/** What a key's commands in a workspace say to do next names the workspace. */
export const namesWorkspace = async ({ messaging, number, workspace }: Scene): Promise<void> => {
  const path = ["--workspace", String(workspace)]
  const mode = ["--mode", "test"]
  const inTest = ` --workspace ${workspace} --mode test `
  const ended = { ...noKey, meanwhile: () => Promise.resolve(false) }
  const send = ["send", "--to", to, "--text", "Hello", "--from", String(number)]
  for (const [line, text] of [
    [[...send, ...later, "--wait"], ` --workspace ${workspace} cancels `],
    [["checks", "create", to, "--wait", ...mode], inTest],
    [["numbers", "connect"], ` --workspace ${workspace} shows `],
  ] as const) {
    const ran = await messaging([...line, ...path], ended)
    assert.strictEqual(ran.code, 130, ran.remarks)
    assert.include(ran.remarks, text)
  }
  const tailed = await messaging(["tail", ...path], ended)
  assert.strictEqual(tailed.code, 130, tailed.remarks)
}

/** A key has a mode of its own. */
export const needsWorkspace = async ({ messaging }: Scene): Promise<void> => {
  const ran = await messaging(["list", "--mode", "test"])
  assert.deepInclude(ran, { code: 2, requests: [] })
  assert.match(ran.remarks, /--mode needs --workspace/)
}
