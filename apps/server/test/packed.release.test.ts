/**
 * The packed programs, `messaging-server` and `messaging-worker`: installed as the guide says, by each package
 * manager, they run without any other package.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Redacted } from "effect"
import { execFile } from "node:child_process"
import { readFileSync, realpathSync } from "node:fs"
import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises"
import { delimiter, dirname, join, resolve } from "node:path"
import { promisify } from "node:util"

const runFile = promisify(execFile)

const root = resolve(import.meta.dirname, "../../..")

/** Package managers run on this Node, and so do the programs that they link. */
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
  REPOSITORY: "https://git.example.com/team/messaging.git",
}

const managers = {
  npm: ["npm", "install", "--offline", "--no-audit"],
  pnpm: ["npx", "-y", "pnpm@12.21.0", "add"],
  yarn: ["npx", "-y", "yarn@1.22.22", "add"],
} as const

class Packed extends Context.Service<
  Packed,
  {
    /** An empty project in which a package manager has installed both. */
    readonly install: (folder: string, manager: keyof typeof managers) => Promise<string>
    /** The project of npm. */
    readonly project: string
  }
>()("test/Packed") {
  static readonly layer = Layer.effect(
    Packed,
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      return yield* Effect.promise(async () => {
        const guide = await readFile(join(root, "docs/installing.md"), "utf8")
        const [, line = ""] = /^pnpm (release build .*)$/m.exec(guide) ?? []
        const tarballs = join(directory, "tarballs")
        await runFile("npx", ["-y", "pnpm@12.21.0", ...line.split(" "), "--into", tarballs], {
          cwd: root,
          env,
          maxBuffer: 16 * 1024 * 1024,
        })
        const files = (await readdir(tarballs)).map((name) => join(tarballs, name))
        assert.lengthOf(files, 2)
        const install = async (folder: string, manager: keyof typeof managers) => {
          const project = join(directory, folder)
          await mkdir(project)
          await writeFile(join(project, "package.json"), '{"private":true}')
          const [program, ...args] = managers[manager]
          await runFile(program, [...args, ...files], { cwd: project, env })
          return project
        }
        return Packed.of({ install, project: await install("npm", "npm") })
      })
    }),
  )
}

/** Installed by the workspace for the transport. */
const whatsAppLibrary = (() => {
  const path = realpathSync(join(root, "packages/transport-whatsapp/node_modules/baileys"))
  const { version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"))
  return { folder: path, version: String(version) }
})()

const programPath = (project: string, app: string): string =>
  join(project, `node_modules/@messaging-service/${app}/dist/bundle/launch.js`)

/** Runs a program that ends by itself. */
const readOutput = (project: string, name: string, args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const program = join(project, "node_modules/.bin", name)
    return (await runFile(program, [...args], { env })).stdout
  })

const programs = Layer.merge(Packed.layer, EmbeddedPostgres.layer())

layer(programs, { excludeTestServices: true })("the packed programs", (it) => {
  for (const manager of ["npm", "pnpm", "yarn"] as const) {
    it.effect(`install without dependencies by ${manager}, and name their version`, () =>
      Effect.gen(function* () {
        const packed = yield* Packed
        const project =
          manager === "npm"
            ? packed.project
            : yield* Effect.promise(() => packed.install(manager, manager))
        const installed = yield* Effect.promise(() => readdir(join(project, "node_modules")))
        assert.deepStrictEqual(
          installed.filter((name) => !name.startsWith(".")),
          ["@messaging-service"],
        )
        for (const name of ["messaging-server", "messaging-worker"]) {
          const version = yield* readOutput(project, name, ["--version"])
          assert.match(version, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\n$`))
        }
      }),
    )
  }

  it.effect("serve the interface and the dashboard on the embedded database", () =>
    Effect.gen(function* () {
      const { project } = yield* Packed
      const DATA_DIR = join(yield* processes.temporaryDirectory, "data")
      const server = yield* processes.startServer(programPath(project, "server"), {
        PORT: "0",
        DATA_DIR,
      })
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")
      const request = (path: string) => Effect.promise(() => fetch(`${server.url}${path}`))
      const page = yield* Effect.promise(async () => (await fetch(server.url)).text())
      const [, script = ""] = /<script[^>]* src="([^"]+)"/.exec(page) ?? []
      for (const path of [script, "/docs", "/openapi.json", "/metrics", "/health/ready"]) {
        assert.strictEqual((yield* request(path)).status, 200, path)
      }
      assert.strictEqual((yield* server.stop).code, 0)
    }).pipe(Effect.scoped),
  )

  it.effect("share a PostgreSQL", () =>
    Effect.gen(function* () {
      const { project } = yield* Packed
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        PORT: "0",
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: join(yield* processes.temporaryDirectory, "data"),
      }
      const server = yield* processes.startServer(programPath(project, "server"), {
        ...settings,
        WORKER: "separate",
      })
      const worker = yield* processes.start(programPath(project, "worker"), settings)
      yield* worker.awaitOutput(/worker ready/)
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")
    }).pipe(Effect.scoped),
  )

  for (const app of ["server", "worker"] as const) {
    it.effect(`name the library of WhatsApp that live numbers need, and use it: ${app}`, () =>
      Effect.gen(function* () {
        const project = yield* Effect.flatMap(Packed, ({ install }) =>
          Effect.promise(() => install(app, "npm")),
        )
        const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
        const settings = {
          PORT: "0",
          DATABASE_URL: Redacted.value(url),
          DATA_DIR: join(yield* processes.temporaryDirectory, "data"),
          TRANSPORT: "live",
          WHATSAPP_URL: "ws://127.0.0.1:9",
        }
        const program = programPath(project, app)
        const without = yield* processes.start(program, settings)
        const { code, stderr } = yield* without.ended
        assert.strictEqual(code, 1)
        const needed = `baileys@${whatsAppLibrary.version}`
        assert.strictEqual(
          stderr,
          `TRANSPORT=live needs the package ${needed}, which is not installed: npm install ${needed}\n`,
        )
        yield* Effect.promise(() =>
          symlink(whatsAppLibrary.folder, join(project, "node_modules/baileys")),
        )
        const running = yield* processes.start(program, settings)
        yield* running.awaitOutput(app === "server" ? /listening on/ : /worker ready/)
      }).pipe(Effect.scoped),
    )

    it.effect(`contain nothing under another licence than their own: ${app}`, () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        const folder = dirname(programPath(project, app))
        const texts = yield* Effect.promise(async () =>
          Promise.all(
            (await readdir(folder))
              .filter((name) => name.endsWith(".js"))
              .map((name) => readFile(join(folder, name), "utf8")),
          ),
        )
        assert.isTrue(texts.some((text) => text.includes('from "baileys"')))
        assert.isFalse(texts.some((text) => /libsignal\/(?:src|index)/.test(text)))
      }),
    )
  }

  it.effect("name the Node that they need to an older one", () =>
    Effect.gen(function* () {
      const { project } = yield* Packed
      for (const app of ["server", "worker"]) {
        const launcher = programPath(project, app)
        const older = `Object.defineProperty(process.versions, "node", { value: "20.20.2" }); await import(${JSON.stringify(launcher)})`
        const refused = yield* Effect.promise(() =>
          runFile(process.execPath, ["--input-type=module", "--eval", older]).then(
            () => null,
            (error: { readonly code: number; readonly stderr: string }) => error,
          ),
        )
        assert.strictEqual(refused?.code, 1)
        assert.strictEqual(
          refused?.stderr,
          `messaging-${app} needs Node 24.12 or later; this is Node 20.20.2\n`,
        )
      }
    }),
  )
})
