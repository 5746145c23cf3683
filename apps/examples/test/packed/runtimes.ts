/** JavaScript runtimes, and the program that embeds the service in each. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

interface Runtime {
  readonly name: string
  /** The command of a runtime, if this machine has it. */
  readonly command: ReadonlyArray<string> | null
}

const modules = join(import.meta.dirname, "../../node_modules")

const ifThere = (program: string | undefined, ...args: ReadonlyArray<string>) =>
  program !== undefined && existsSync(program) ? [program, ...args] : null

const bunArch = process.arch === "arm64" ? "aarch64" : process.arch

const [installedBun] =
  ifThere(join(modules, `@oven/bun-${process.platform}-${bunArch}/bin/bun`)) ?? []

/** Null where the registry has none for this machine. */
export const bun = installedBun ?? null

/** Our version, and the packages' oldest supported one, where the registry has it for this machine. */
export const nodes: ReadonlyArray<Runtime> = [
  { name: `Node ${process.versions.node}`, command: [process.execPath] },
  {
    name: "Node 22",
    command: ifThere(join(modules, `node-22-${process.platform}-${process.arch}/bin/node`)),
  },
]

export const runtimes: ReadonlyArray<Runtime> = [
  ...nodes,
  {
    name: "Deno",
    command: ifThere(
      join(modules, `@deno/${process.platform}-${process.arch}-glibc/deno`),
      "run",
      "--allow-all",
    ),
  },
  { name: "Bun", command: bun === null ? null : [bun] },
]

/** Plain JavaScript that opens, sends, listens, drains, serves a request, closes, and then ends. */
export const embeds = `
import { open } from "@messaging-service/service"

const messaging = await open({ http: { basePath: "/messaging" } })
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const heard = []
messaging.on("message.sent", ({ message }) => heard.push(message.id))
const api = messaging.as(shop)
const { id } = await api.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
const { finished } = await messaging.drain()
const { status } = await api.messages.get(id)
const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
const answer = await messaging.handler(
  new Request("http://localhost/messaging/api/v2/messages", {
    method: "POST",
    headers: { authorization: "Bearer " + key, "content-type": "application/json" },
    body: JSON.stringify({ to: { phone: "+15550100002" }, text: "Over HTTP" }),
  }),
)
await messaging.drain()
await messaging.close()
console.log(JSON.stringify({ finished, status, heard: heard.length, answered: answer.status }))
`

/** A program's output at its end, run with these variables in addition to the test's. */
export const written = (
  cwd: string,
  command: Runtime["command"],
  file: string,
  variables: Readonly<Record<string, string>> = {},
) =>
  Effect.callback<{ readonly stdout: string; readonly stderr: string }>((resume, signal) => {
    const [program = "", ...args] = command ?? []
    // They would query their vendors' servers for updates, and report to them.
    const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1", DO_NOT_TRACK: "1", ...variables }
    execFile(program, [...args, file], { cwd, env, signal }, (error, stdout, stderr) => {
      resume(error === null ? Effect.succeed({ stdout, stderr }) : Effect.die(error))
    })
  })
