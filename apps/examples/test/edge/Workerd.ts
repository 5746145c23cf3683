/** Workers in workerd, the runtime of an edge host: bundled as its tools do, and served on loopback. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { connect, createServer } from "node:net"
import type { AddressInfo, Server } from "node:net"
import { join } from "node:path"
import { rolldown } from "rolldown"

const packages = join(import.meta.dirname, "../../node_modules")

const names: Readonly<Record<string, string>> = { x64: "64", arm64: "arm64" }

const program = join(
  packages,
  `@cloudflare/workerd-${process.platform}-${names[process.arch]}/bin/workerd`,
)

/** Whether this machine has workerd. */
export const hasWorkerd: boolean = existsSync(program)

/** Optional packages that are useless on an edge host. */
const notInstalled = /^@electric-sql\/pglite$|^@messaging-service\/transport-/

/** One module of a worker with all its imports. */
const bundled = async (input: string): Promise<string> => {
  const bundle = await rolldown({
    input,
    platform: "node",
    resolve: { conditionNames: ["workerd", "worker", "module", "default"] },
    external: [/^cloudflare:/, notInstalled],
  })
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false })
  await bundle.close()
  // A worker has no file from which CommonJS modules could resolve.
  return output[0].code.replaceAll("createRequire(import.meta.url)", 'createRequire("file:///")')
}

/** A worker's network: this machine alone. */
const configuration = (bindings: Readonly<Record<string, string>>): string => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [${Object.entries(bindings)
    .map(([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`)
    .join(", ")}],
);
`

/** Serves a worker until the scope ends. Returns its address. */
export const serveWorker = Effect.fnUntraced(function* (
  folder: string,
  input: string,
  bindings: Readonly<Record<string, string>>,
) {
  yield* Effect.promise(async () => {
    await writeFile(join(folder, "worker.js"), await bundled(input))
    await writeFile(join(folder, "worker.capnp"), configuration(bindings))
  })
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(program, ["serve", join(folder, "worker.capnp"), "--control-fd=3"], {
        stdio: ["ignore", "inherit", "inherit", "pipe"],
      }),
    ),
    (spawned) =>
      Effect.promise(async () => {
        if (spawned.exitCode === null && spawned.kill()) await once(spawned, "exit")
      }),
  )
  return yield* Effect.callback<string>((resume) => {
    let text = ""
    server.stdio[3]?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const [, port] = /"event":"listen","socket":"http","port":(\d+)/.exec(text) ?? []
      if (port !== undefined) resume(Effect.succeed(`http://127.0.0.1:${port}`))
    })
    server.once("exit", () => resume(Effect.die(new Error(`workerd ended: ${text}`))))
  })
})

/** Listens on loopback until the scope ends. Returns the port. */
export const listening = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await once(server.listen(0, "127.0.0.1"), "listening")
      return (server.address() as AddressInfo).port
    }),
    () => Effect.sync(() => server.close()),
  )

/** A port of this machine that leads to a Unix socket, which a worker cannot open. */
export const portTo = (path: string): Effect.Effect<number, never, Scope.Scope> =>
  listening(
    createServer((near) => {
      const remote = connect(path)
      near.pipe(remote).pipe(near)
      near.on("error", () => remote.destroy())
      remote.on("error", () => near.destroy())
    }),
  )
