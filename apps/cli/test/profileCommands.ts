/** Commands for profiles, and `status`. */
import { assert } from "@effect/vitest"
import { dirname, join } from "node:path"
import type { Entries, Scene } from "./Scene.ts"

let homes = 0

/** An empty home, and the words that keep the scene's service under a name. */
const aHome = async ({ aFile, key }: Scene) => {
  const file = await aFile(`profile-key-${++homes}`, `${key}\n`)
  const env = { XDG_CONFIG_HOME: join(dirname(file), `home-${homes}`) }
  return { env, file }
}

/** Two profiles; the first is the default one. */
const twoProfiles = async (scene: Scene) => {
  const { env, file } = await aHome(scene)
  for (const name of ["shop", "cafe"]) {
    const set = [name, "--service", "http://127.0.0.1:8080", "--key-file", file]
    await scene.json("profile set", set, { env })
  }
  return env
}

export const profileCommands: Entries = {
  login: async (scene) => {
    const { env, file } = await aHome(scene)
    const wrong = await scene.messaging(["login"], { env, input: "wrong\n" })
    assert.strictEqual(wrong.code, 4)
    assert.isEmpty(await scene.json("profile list", [], { env }))
    const [saved] = await scene.json("login", [], { env, input: `${scene.key}\n` })
    assert.deepInclude(saved, { profile: "default" })
    assert.notInclude(JSON.stringify(saved), scene.key)
    const named = await scene.json("login", ["cafe", "--key-file", file], { env })
    assert.deepInclude(named[0], { profile: "cafe" })
    const rows = await scene.json("profile list", [], { env })
    assert.deepStrictEqual(
      rows.map((row) => [row["name"], row["default"]]),
      [
        ["default", false],
        ["cafe", true],
      ],
    )
  },
  "profile set": async (scene) => {
    const { env, file } = await aHome(scene)
    const set = ["shop", "--service", "http://127.0.0.1:8080", "--key-file", file]
    assert.deepStrictEqual(await scene.json("profile set", set, { env }), [
      {
        name: "shop",
        service: "http://127.0.0.1:8080",
        operator_service: null,
        key: true,
        operator_key: false,
        default: true,
      },
    ])
  },
  "profile list": async (scene) => {
    const rows = await scene.json("profile list", [], { env: await twoProfiles(scene) })
    assert.deepStrictEqual(
      rows.map((row) => [row["name"], row["default"]]),
      [
        ["shop", true],
        ["cafe", false],
      ],
    )
    assert.notInclude(JSON.stringify(rows), scene.key)
  },
  "profile use": async (scene) => {
    const env = await twoProfiles(scene)
    await scene.json("profile use", ["cafe"], { env })
    const rows = await scene.json("profile list", [], { env })
    assert.strictEqual(rows.find((row) => row["default"] === true)?.["name"], "cafe")
  },
  "profile remove": async (scene) => {
    const env = await twoProfiles(scene)
    await scene.json("profile remove", ["cafe"], { env })
    const refused = await scene.messaging(["profile", "remove", "shop"], { env })
    assert.strictEqual(refused.code, 2)
    await scene.json("profile remove", ["shop", "--yes"], { env })
    assert.isEmpty(await scene.json("profile list", [], { env }))
  },
  status: async ({ json, text }) => {
    const [status] = await json("status")
    assert.deepInclude(status, {
      ready: true,
      not_ready: [],
      store_up: true,
      store_risks: [],
    })
    assert.isNumber(status?.["held"])
    assert.match(
      await text("status"),
      /^service .*\(version \d+\.\d+\.\d+\)\nready +yes\nstore +up\n/,
    )
  },
}
