/** A Next app with the route handler of the examples, built and started as its users do. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises"
import { stripTypeScriptTypes } from "node:module"
import { dirname, join } from "node:path"
import { project, root, run } from "./Project.ts"

/** The workspace's packages: installing them again would take longer than everything else here. */
const packages = ["next", "react", "react-dom"]

const modules = join(root, "apps/examples/node_modules")

const route = "app/messaging/[...path]/route"

/** Routes in JavaScript: for TypeScript, Next wants its own compiler. */
const files: Effect.Effect<Readonly<Record<string, string>>> = Effect.promise(async () => ({
  [`${route}.js`]: stripTypeScriptTypes(
    await readFile(join(root, `apps/examples/src/next/${route}.ts`), "utf8"),
  ),
  "app/own/route.js": `export const GET = () => new Response("my own page")`,
  // The packages of Next are elsewhere on this machine.
  "next.config.js": `export default {
    serverExternalPackages: ["@messaging-service/service"],
    turbopack: { root: "/" },
  }`,
}))

/** Builds and starts it in a folder of a project, until the scope ends. Returns its address. */
export const startNextApp = Effect.fnUntraced(function* (folder: string, operatorToken: string) {
  const path = yield* project(folder, {})
  const linked = join(path, "node_modules")
  yield* Effect.promise(async () => {
    await mkdir(linked)
    for (const name of packages) {
      await symlink(await realpath(join(modules, name)), join(linked, name))
    }
  })
  for (const [file, text] of Object.entries(yield* files)) {
    yield* Effect.promise(async () => {
      await mkdir(dirname(join(path, file)), { recursive: true })
      await writeFile(join(path, file), text)
    })
  }
  const next = join(linked, "next/dist/bin/next")
  yield* run(path, "env", "NEXT_TELEMETRY_DISABLED=1", process.execPath, next, "build")
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], {
        cwd: path,
        env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", OPERATOR_TOKEN: operatorToken },
        stdio: ["ignore", "pipe", "inherit"],
      }),
    ),
    (spawned) =>
      Effect.promise(async () => {
        if (spawned.exitCode === null && spawned.kill()) await once(spawned, "exit")
      }),
  )
  return yield* Effect.callback<string>((resume) => {
    let printed = ""
    server.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      printed += chunk
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? []
      if (url !== undefined) resume(Effect.succeed(url))
    })
    server.once("exit", () => resume(Effect.die(new Error(`Next ended: ${printed}`))))
  })
})
