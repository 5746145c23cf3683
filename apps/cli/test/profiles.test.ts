/** Profiles: how their file is kept, and which service and secret a command uses. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { chmod, mkdir, mkdtemp, readFile, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Running, aWorkspace, anotherServer, token } from "./Running.ts"

layer(Running.layer, { excludeTestServices: true })("profiles", (it) => {
  /** The environment names nothing but the home. */
  const test = (
    name: string,
    body: (scene: {
      readonly url: string
      readonly key: string
      readonly file: string
      readonly keyFile: string
      readonly tokenFile: string
      readonly messaging: (
        line: ReadonlyArray<string>,
        env?: Readonly<Record<string, string>>,
        input?: string,
      ) => ReturnType<Awaited<ReturnType<typeof aWorkspace>>["messaging"]>
    }) => Promise<void>,
  ) =>
    it.effect(name, () =>
      Effect.flatMap(Running, ({ directory, url }) =>
        Effect.promise(async () => {
          const shop = await aWorkspace(url)
          const home = await mkdtemp(join(directory, "home-"))
          const keyFile = join(home, "key")
          await writeFile(keyFile, shop.key)
          const tokenFile = join(home, "token")
          await writeFile(tokenFile, token)
          const none = { MESSAGING_SERVICE: "", MESSAGING_KEY: "", MESSAGING_OPERATOR_KEY: "" }
          await body({
            url,
            key: shop.key,
            keyFile,
            tokenFile,
            file: join(home, "messaging/profiles.json"),
            messaging: (line, env = {}, input) =>
              shop.messaging(line, {
                env: { ...none, XDG_CONFIG_HOME: home, ...env },
                ...(input === undefined ? {} : { input }),
              }),
          })
        }),
      ),
    )

  test("are in a file that only its owner may read, replaced at once", async (scene) => {
    const { file, key, messaging, url } = scene
    const set = ["profile", "set", "shop", "--service", url, "--key-file", "-"]
    assert.strictEqual((await messaging(set, {}, `${key}\n`)).code, 0)
    assert.strictEqual((await stat(file)).mode & 0o777, 0o600)
    assert.strictEqual((await stat(join(file, ".."))).mode & 0o777, 0o700)
    assert.deepStrictEqual(JSON.parse(await readFile(file, "utf8")), {
      default: "shop",
      profiles: { shop: { service: url, key } },
    })
    assert.deepStrictEqual(await readdir(join(file, "..")), ["profiles.json"])
  })

  test("are refused where others may read the file, and where it holds something else", async (scene) => {
    const { file, keyFile, messaging, url } = scene
    await messaging(["profile", "set", "shop", "--service", url, "--key-file", keyFile])
    await chmod(file, 0o640)
    const open = await messaging(["me"])
    assert.deepInclude(open, { code: 2, requests: [] })
    assert.match(open.remarks, /others may read .*: chmod 600 /)
    await chmod(file, 0o600)
    for (const text of ["", "{", "[]", '{"default":null,"profiles":{"a":{}}}']) {
      await writeFile(file, text)
      assert.deepInclude(await messaging(["me"]), { code: 2, requests: [] }, text)
    }
  })

  test("yield to the environment by default, and go before it when chosen", async (scene) => {
    const { keyFile, messaging, url } = scene
    await messaging(["profile", "set", "shop", "--service", url, "--key-file", keyFile])
    assert.strictEqual((await messaging(["me"])).code, 0)
    const elsewhere = { MESSAGING_SERVICE: "http://127.0.0.1:9" }
    // A key of the default profile must not go to another service.
    const passed = await messaging(["me"], elsewhere)
    assert.strictEqual(passed.code, 4)
    assert.match(
      passed.remarks,
      /"shop" does not count with MESSAGING_SERVICE: give --profile shop/,
    )
    for (const [line, env] of [
      [["me", "--profile", "shop"], elsewhere],
      [["me"], { ...elsewhere, MESSAGING_PROFILE: "shop", MESSAGING_KEY: "wrong" }],
    ] as const) {
      assert.deepInclude(await messaging(line, env), { code: 0, remarks: "" })
    }
  })

  test("give their secrets to no other address", async (scene) => {
    const { keyFile, messaging, url } = scene
    const other = await anotherServer(204)
    await messaging(["profile", "set", "shop", "--service", url, "--key-file", keyFile])
    const line = ["me", "--profile", "shop", "--service", other.url]
    const refused = await messaging(line)
    assert.deepInclude(refused, { code: 2, requests: [] })
    assert.match(refused.remarks, /is for http:\/\/127\.0\.0\.1:\d+ alone: give --key-file with/)
    const byDefault = await messaging(["me", "--service", other.url])
    assert.deepInclude(byDefault, { code: 4, requests: [] })
    // Another address of the profile forgets them.
    const [formatted] = (
      await messaging(["profile", "set", "shop", "--service", other.url, "--json"])
    ).output.split("\n")
    assert.deepInclude(JSON.parse(formatted ?? ""), { service: other.url, key: false })
    other.close()
    assert.strictEqual(other.requests(), 0)
  })

  test("hold the operator's address, which ADMIN_PORT makes another one", async (scene) => {
    const { keyFile, messaging, url } = scene
    const customers = await anotherServer(204)
    const both = ["--service", customers.url, "--operator-service", url]
    const secrets = ["--key-file", keyFile, "--operator-key-file", scene.tokenFile]
    await messaging(["profile", "set", "shop", ...both, ...secrets])
    assert.strictEqual((await messaging(["workspaces", "list"])).code, 0)
    assert.strictEqual(customers.requests(), 0)
    // The customers' address gets the key, and never the operator's token.
    await messaging(["me"])
    assert.isAbove(customers.requests(), 0)
    const requests = customers.requests()
    const line = ["workspaces", "list", "--profile", "shop"]
    const refused = await messaging([...line, "--operator-service", customers.url])
    assert.deepInclude(refused, { code: 2, requests: [] })
    assert.strictEqual((await messaging([...line, "--service", customers.url])).code, 0)
    assert.strictEqual(customers.requests(), requests)
    // Another address of the operator forgets the token for the former one, and keeps the key.
    const set = ["profile", "set", "shop", "--operator-service", customers.url, "--json"]
    const [formatted] = (await messaging(set)).output.split("\n")
    assert.deepInclude(JSON.parse(formatted ?? ""), {
      operator_service: customers.url,
      key: true,
      operator_key: false,
    })
    customers.close()
  })

  test("yield to the operator's address in the environment", async ({ messaging, url }) => {
    const customers = await anotherServer(204)
    const env = {
      MESSAGING_SERVICE: customers.url,
      MESSAGING_OPERATOR_SERVICE: url,
      MESSAGING_OPERATOR_KEY: token,
    }
    assert.strictEqual((await messaging(["workspaces", "list"], env)).code, 0)
    const elsewhere = ["workspaces", "list", "--service", customers.url]
    assert.strictEqual((await messaging(elsewhere, env)).code, 6)
    customers.close()
  })

  for (const [line, complaint] of [
    [["me", "--profile", "shpo"], /unknown profile "shpo"; there are shop/],
    [["profile", "set", "new"], /a new profile needs --service/],
    [["profile", "set", "shop"], /give what to keep, such as --service/],
    [["profile", "set", "a b", "--service", "http://127.0.0.1"], /NAME has 1 to 50 letters/],
    [["profile", "set", "new", "--service", "ftp://127.0.0.1"], /an address with https:/],
    [["profile", "use", "gone"], /unknown profile "gone"/],
  ] as const) {
    test(`2: ${line.join(" ")}`, async ({ keyFile, messaging, url }) => {
      await messaging(["profile", "set", "shop", "--service", url, "--key-file", keyFile])
      const ran = await messaging(line)
      assert.match(ran.remarks, complaint)
      assert.deepInclude(ran, { code: 2, requests: [] })
    })
  }

  test("2: the file of the profiles cannot be read, or not be written", async ({
    keyFile: file,
    messaging,
    url,
  }) => {
    const config = `${file}-of-none`
    await mkdir(join(config, "messaging", "profiles.json"), { recursive: true, mode: 0o700 })
    const read = await messaging(["profile", "list"], { XDG_CONFIG_HOME: config })
    assert.deepInclude(read, { code: 2, requests: [] })
    assert.match(read.remarks, /^messaging: cannot read .*profiles\.json: EISDIR/)
    const set = ["profile", "set", "shop", "--service", url]
    const written = await messaging(set, { XDG_CONFIG_HOME: join(file, "folder") })
    assert.deepInclude(written, { code: 2, requests: [] })
    assert.match(written.remarks, /^messaging: cannot (read|write) .*profiles\.json: ENOTDIR/)
  })

  test("4: the profile lacks what the command needs", async ({ keyFile, messaging, url }) => {
    await messaging(["profile", "set", "shop", "--service", url, "--key-file", keyFile])
    const ran = await messaging(["workspaces", "list"])
    assert.match(
      ran.remarks,
      /has no operator token: messaging profile set shop --operator-key-file/,
    )
    assert.deepInclude(ran, { code: 4, requests: [] })
  })
})
