/** Commands about campaigns. */
import { assert } from "@effect/vitest"
import { to } from "./Scene.ts"
import type { Entries, Scene } from "./Scene.ts"

const csv = `phone,name\n${to},Ann\n+15550100003,\n`

const tokens = ["--text", "Hello {name}"]

/** A draft with one row that can be sent and one that cannot; its id, and the workspace. */
const aDraft = async ({ aFile, json, workspace }: Scene, more: ReadonlyArray<string> = []) => {
  const target = ["--workspace", workspace] as const
  const file = await aFile("customers.csv", csv)
  const [created] = await json("campaigns create", [file, ...tokens, ...more, ...target])
  return [Number(created?.["id"]), ...target] as const
}

/** Of a running one. */
const state = async (scene: Scene, command: string) => {
  const target = await aDraft(scene, ["--start", "--at", "2100-01-01T00:00:00Z"])
  if (command === "resume") await scene.json("campaigns pause", target)
  return (await scene.json(`campaigns ${command}`, target))[0]?.["state"]
}

export const campaignCommands: Entries = {
  "campaigns create": async (scene) => {
    const { aFile, json, messaging, workspace } = scene
    const target = ["--workspace", workspace] as const
    const file = await aFile("customers.csv", csv)
    const line = ["campaigns", "create", file, ...tokens, ...target.map(String)]
    const visible = await messaging(line)
    assert.match(visible.output, /name +customers\.csv\nstate +draft\n/)
    assert.match(visible.remarks, /line 3: A placeholder of the text has no value/)
    const hours = ["--timezone", "Europe/London", "--hours", "09:00-18:00", "--day", "mon"]
    const rest = [file, ...tokens, ...target, ...hours, "--drop-duplicates", "--start"]
    const [started] = await json("campaigns create", rest)
    assert.deepInclude(started, {
      state: "running",
      duplicates: "drop",
      hours: { days: ["mon"], from: "09:00", until: "18:00" },
    })
    // A file that is refused leaves nothing behind.
    const before = (await json("campaigns list", target)).length
    const broken = await aFile("broken.csv", 'phone\n"a')
    assert.strictEqual((await messaging(line.with(2, broken))).code, 3)
    assert.lengthOf(await json("campaigns list", target), before)
    assert.strictEqual((await messaging([...line, "--day", "mon"])).code, 2)
    assert.strictEqual((await messaging([...line, "--hours", "9"])).code, 2)
  },
  "campaigns list": async (scene) => {
    const [id, ...target] = await aDraft(scene)
    assert.strictEqual((await scene.json("campaigns list", target))[0]?.["id"], id)
    assert.lengthOf(await scene.json("campaigns list", [...target, "--state", "running"]), 0)
  },
  "campaigns show": async (scene) => {
    const [campaign, forecast] = await scene.json("campaigns show", await aDraft(scene))
    assert.deepInclude(campaign?.["rows"], { total: 2, pending: 1, refused: 1 })
    assert.strictEqual(forecast?.["rows"], 1)
  },
  "campaigns rows": async (scene) => {
    const target = await aDraft(scene)
    const refused = await scene.json("campaigns rows", [...target, "--status", "refused"])
    assert.deepStrictEqual(
      refused.map(({ line, row }) => [row, line]),
      [[2, 3]],
    )
    assert.lengthOf(await scene.json("campaigns rows", [...target, "--to", to]), 1)
  },
  "campaigns results": async (scene) => {
    const results = await scene.text("campaigns results", await aDraft(scene))
    assert.match(results, /^\uFEFFrow,to,status,[^\r]+\r\n1,\+15550100002,pending,/)
  },
  "campaigns start": async (scene) => {
    const target = await aDraft(scene, ["--at", "2100-01-01T00:00:00Z"])
    assert.strictEqual((await scene.json("campaigns start", target))[0]?.["state"], "scheduled")
  },
  "campaigns pause": async (scene) => assert.strictEqual(await state(scene, "pause"), "paused"),
  "campaigns resume": async (scene) =>
    assert.strictEqual(await state(scene, "resume"), "scheduled"),
  "campaigns stop": async (scene) => assert.strictEqual(await state(scene, "stop"), "stopped"),
  "campaigns delete": async (scene) => {
    const target = await aDraft(scene)
    assert.isTrue((await scene.json("campaigns delete", target))[0]?.["deleted"])
  },
}
