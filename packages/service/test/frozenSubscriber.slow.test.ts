/** A subscription over a frozen process: another one takes over, and no event is left out. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { dirname, join } from "node:path"
import { Pool } from "pg"
import { onTestFinished } from "vitest"
import type { OpenOptions } from "../src/index.ts"
import { aDatabase, aShop, eventually, opened, phone } from "./Opened.ts"

const home = join(import.meta.dirname, "..")

/** Handles "a" at once, and every other event when its input says so. */
const makeProgram = (options: OpenOptions) => `
import { once } from "node:events"
import { open } from ${JSON.stringify(join(home, "src/index.ts"))}
const messaging = await open({ ...${JSON.stringify(options)}, worker: false })
const subscription = messaging.subscribe("receipts", "message.sent", async ({ message }) => {
  console.log("begins " + message.text)
  if (message.text !== "a") await once(process.stdin, "data")
  console.log("ends " + message.text)
})
await subscription.ready
console.log("ready")
`

const started = (program: string) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: home,
    stdio: ["pipe", "pipe", "inherit"],
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  const written: Array<string> = []
  child.stdout.on("data", (chunk: Buffer) => {
    written.push(...chunk.toString().trim().split("\n"))
  })
  return { child, written }
}

/** Stops the process, and lets the store see that its lease has run out. */
const freeze = async (child: ChildProcess, pool: Pool) => {
  child.kill("SIGSTOP")
  await pool.query(
    "update messaging.subscriptions set lease_until = lease_until - interval '1 minute'",
  )
}

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "a subscription of two processes",
  (it) => {
    it.effect("goes on in the other one when the first freezes in the middle of a handler", () =>
      Effect.gen(function* () {
        const { database, options, path, username } = yield* aDatabase
        const pool = new Pool({ host: dirname(path), user: username, database, max: 1 })
        const position = async () => {
          const { rows } = await pool.query("select reached::integer from messaging.subscriptions")
          return Number(rows[0]?.reached)
        }
        yield* Effect.promise(async () => {
          const messaging = await opened(options)
          const { api } = await aShop(messaging)
          const send = (text: string) => api.messages.send({ to: { phone }, text })
          const { child, written } = started(makeProgram(options))
          await eventually(() => assert.deepStrictEqual(written, ["ready"]))
          const heard: Array<string> = []
          const second = messaging.subscribe("receipts", "message.sent", ({ message }) => {
            heard.push(message.text)
          })
          await second.ready

          for (const text of ["a", "b", "c"]) await send(text)
          const inTheMiddle = ["ready", "begins a", "ends a", "begins b"]
          await eventually(() => assert.deepStrictEqual(written, inTheMiddle))
          await freeze(child, pool)
          await send("d")
          await eventually(() => assert.deepStrictEqual(heard, ["b", "c", "d"]))
          let received = 0
          await eventually(async () => {
            received = await position()
            assert.isAbove(received, 0)
          })

          // What the first acknowledges now moves nothing back, and it begins none of the events after it.
          child.kill("SIGCONT")
          child.stdin.write("go\n")
          await eventually(() => assert.deepStrictEqual(written, [...inTheMiddle, "ends b"]))
          await send("e")
          await eventually(() => assert.deepStrictEqual(heard, ["b", "c", "d", "e"]))
          await eventually(async () => assert.isAbove(await position(), received))

          // It continues with what the other one leaves.
          await second.stop()
          await send("f")
          await eventually(() =>
            assert.deepStrictEqual(written, [...inTheMiddle, "ends b", "begins f"]),
          )
          assert.deepStrictEqual(heard, ["b", "c", "d", "e"])
          await pool.end()
        })
      }),
    )
  },
)
