/** Every command against the real service; one without an entry here fails. */
import { assert, layer } from "@effect/vitest"
import { readDocument } from "@messaging-service/testkit/openapi"
import type { DocumentObject } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { commands } from "../src/commands/index.ts"
import { campaignCommands } from "./campaignCommands.ts"
import { customerCommands } from "./customerCommands.ts"
import { operatorCommands } from "./operatorCommands.ts"
import { phoneCommands } from "./phoneCommands.ts"
import { profileCommands } from "./profileCommands.ts"
import { actsInWorkspace, namesWorkspace, needsWorkspace } from "./inWorkspace.ts"
import { Running, aWorkspace, requested } from "./Running.ts"
import type { RunOptions } from "./Running.ts"
import type { Entries, Scene } from "./Scene.ts"

const entries: Entries = {
  ...customerCommands,
  ...operatorCommands,
  ...campaignCommands,
  ...phoneCommands,
  ...profileCommands,

  completion: async ({ messaging }) => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, output } = await messaging(["completion", shell])
      assert.strictEqual(code, 0)
      assert.include(output, "messaging complete --")
    }
  },
  complete: async ({ messaging }) => {
    const { output } = await messaging(["complete", "--", "reminders", "pa"])
    assert.strictEqual(output, "pause\n")
  },
}

/** Operations of the operator API that no command asks for. */
const withoutCommand: Readonly<Record<string, string>> = {
  signIn: "Browsers keep a session; the program sends the operator token with each request.",
  getSession: "The session of a browser.",
  signOut: "The session of a browser.",
  createSignInLink: "`messaging-server sign-in-link` prints one.",
  updateCampaign: "A draft that is wrong is deleted and made again from its file.",
  clearCampaignRows: "As above.",
  getCampaignRow: "`campaigns rows` shows it.",
  getWorkspaceReceivedMessage: "`messages received` shows it.",
  editMessage: "For tests of programs, which have the client or `openTest`.",
  revokeMessage: "As above.",
  react: "As above.",
  setAway: "As above.",
  restrictNumber: "As above.",
  skipMessages: "As above.",
}

/** Commands without an option that their siblings take, and why. */
const unlikeSiblings: Readonly<Record<string, string>> = {
  "me --workspace": "It shows the key itself.",
  "login --workspace": "It saves the key itself.",
  "cancel --mode": "A message of either mode is found by its id.",
  "numbers get --mode": "Numbers are found by their ids.",
  "numbers list --mode": "Numbers belong to both modes.",
  "webhooks get --mode": "An endpoint of either mode is found by its id.",
  "webhooks list --mode": "The operator sees the endpoints of both modes.",
  "figures service --workspace": "It is of the whole service.",
  "held workspaces --workspace": "It lists the workspaces.",
  "phones behaviour --workspace": "Simulated phones are found by the ids of their numbers.",
  "phones scan --workspace": "As above.",
  "phones write --workspace": "As above.",
  "phones logout --workspace": "As above.",
  "phones tick --workspace": "As above.",
  "phones registered --workspace": "It is of the whole service.",
  "phones read --workspace": "A phone is found by the id of its number.",
}

const toGroup = (tokens: string): string => {
  const [first = "", second] = tokens.split(" ")
  return second === undefined ? "" : first
}

/** What siblings in one group take together: a place, a mode, and how much of a list. */
const oddOnes = (): ReadonlyArray<string> =>
  commands.flatMap(({ as, options, name: tokens }) => {
    const siblings = commands.filter((each) => toGroup(each.name) === toGroup(tokens))
    const lacks = (name: string) => !(name in options)
    const isShared = (name: string) => siblings.some((each) => name in each.options)
    const requests = as !== "none" && as !== "anyone"
    const acts = as === "key or operator"
    return [
      ...["workspace"].filter((name) => requests && isShared(name) && lacks(name)),
      ...["mode"].filter((name) => acts && isShared(name) && lacks(name)),
      // A list is limited and whole.
      ...["limit", "all"].filter((name) => lacks(name) && "limit" in options),
    ].map((name) => `${tokens} --${name}`)
  })

const getScene = async ({ directory, receiver, url }: typeof Running.Service): Promise<Scene> => {
  const shop = await aWorkspace(url)
  const report = async (line: ReadonlyArray<string>, options?: RunOptions) => {
    const { code, output, remarks } = await shop.messaging(line, options)
    assert.strictEqual(code, 0, remarks)
    return output
  }
  const line = (of: string, rest: ReadonlyArray<string | number>) => [
    ...of.split(" "),
    ...rest.map(String),
  ]
  return {
    ...shop,
    receiver,
    aFile: async (name, content) => {
      const path = join(directory, name)
      await writeFile(path, content)
      return path
    },
    text: (of, rest = []) => report(line(of, rest)),
    json: async (of, rest = [], options) =>
      (await report([...line(of, rest), "--json"], options))
        .split("\n")
        .filter((each) => each !== "")
        .map((each) => JSON.parse(each) as Record<string, unknown>),
  }
}

/** Operator operations that the program has not asked for. */
const unasked = async (url: string): Promise<ReadonlyArray<string>> => {
  const source = (await (await fetch(`${url}/openapi.json`)).json()) as DocumentObject
  return readDocument(source)
    .operations.filter(({ part }) => part === "operator" || part === "emulator")
    .filter(({ method, path }) => {
      const filled = path.replace("{name}", "[\\w-]+").replaceAll(/\{\w+\}/g, "[1-9]\\d*")
      const request = new RegExp(`^${method} ${filled}$`)
      return ![...requested].some((each) => request.test(each))
    })
    .map(({ id }) => id)
}

layer(Running.layer, { excludeTestServices: true })("every command", (it) => {
  it.effect("has one entry here, and every entry has a command", () =>
    Effect.sync(() =>
      assert.sameMembers(
        Object.keys(entries),
        commands.map(({ name }) => name),
      ),
    ),
  )

  it.effect("has the options that its siblings take", () =>
    Effect.sync(() => {
      const [unlike, named] = [oddOnes(), Object.keys(unlikeSiblings)]
      assert.sameMembers([...unlike], named)
    }),
  )

  const test = (name: string, body: (scene: Scene) => Promise<void>) =>
    it.effect(name, () =>
      Effect.flatMap(Running, (running) =>
        Effect.promise(async () => body(await getScene(running))),
      ),
    )

  for (const { name } of commands) {
    test(name, async (scene) => {
      const entry = entries[name]
      assert.isDefined(entry, `there is no entry for ${name}`)
      await entry?.(scene)
    })
  }

  for (const mode of ["live", "test"] as const) {
    test(`of a key with --workspace is the operator's, --mode ${mode}`, (scene) =>
      actsInWorkspace(scene, mode))
  }
  test("of a key with --workspace names the workspace in what it proposes", namesWorkspace)
  test("of a key takes --mode with --workspace alone", needsWorkspace)

  // The last one: it needs the requests of all others.
  it.effect("all of them ask for every operation of the operator API, but for exceptions", () =>
    Effect.flatMap(Running, ({ url }) =>
      Effect.promise(async () =>
        assert.sameMembers([...(await unasked(url))], Object.keys(withoutCommand)),
      ),
    ),
  )
})
