/** Receivers of `docs/recipes-for-receivers.md`: each takes a true delivery once, and no forgery. */
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { serve } from "@hono/node-server"
import { spawn, spawnSync } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { readFileSync, readdirSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { receiver as expressReceiver } from "../src/receivers/express.ts"
import { receiver as fastifyReceiver } from "../src/receivers/fastify.ts"
import { receiver as honoReceiver } from "../src/receivers/hono.ts"
import { POST as nextRoute } from "../src/receivers/next.ts"
import { remember, remembered } from "../src/receivers/remember.ts"

const secret = "5e".repeat(32)
const folder = join(import.meta.dirname, "../src/receivers")

interface Receiver {
  readonly deliver: (request: Request) => Promise<Response>
  readonly claimed: () => Promise<ReadonlyArray<string>>
  readonly stop: () => Promise<void>
}

const inProcess = (
  deliver: Receiver["deliver"],
  stop: Receiver["stop"] = async () => undefined,
): Receiver => ({
  deliver,
  claimed: async () => remembered().map(({ id }) => id),
  stop,
})

/** The request as it is, to a server on loopback. */
const over = (port: number): Receiver["deliver"] => {
  return async (request) =>
    fetch(`http://127.0.0.1:${port}/events`, {
      method: "POST",
      headers: request.headers,
      body: await request.arrayBuffer(),
    })
}

const withExpress = async (): Promise<Receiver> => {
  const server = expressReceiver(secret, remember).listen(0, "127.0.0.1")
  await once(server, "listening")
  return inProcess(over((server.address() as AddressInfo).port), async () => {
    server.close()
    server.closeAllConnections()
  })
}

const withFastify = async (): Promise<Receiver> => {
  const app = fastifyReceiver(secret, remember)
  await app.listen({ port: 0, host: "127.0.0.1" })
  return inProcess(over((app.server.address() as AddressInfo).port), () => app.close())
}

const withHono = async (): Promise<Receiver> => {
  const { fetch: answer } = honoReceiver(secret, remember)
  const server = serve({ fetch: answer, port: 0, hostname: "127.0.0.1" })
  if (!server.listening) await once(server, "listening")
  return inProcess(over((server.address() as AddressInfo).port), async () => void server.close())
}

const flaskProgram = `
import sys
sys.path.insert(0, sys.argv[1])
from flask_receiver import receiver
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, receiver(sys.argv[2], lambda event: print(event["id"], flush=True)))
print(server.server_port, flush=True)
server.serve_forever()
`

const withFlask = async (): Promise<Receiver> => {
  const child = spawn("python3", ["-B", "-c", flaskProgram, folder, secret])
  let printed = ""
  const lines = () => printed.trim().split("\n")
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)))
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString()
      resolve()
    })
  })
  return {
    deliver: over(Number(lines()[0])),
    claimed: async () => lines().slice(1),
    stop: async () => {
      const ended = once(child, "exit")
      child.kill()
      await ended
    },
  }
}

const hasFlask = spawnSync("python3", ["-c", "import flask"]).status === 0
if (!hasFlask) console.warn("The receiver in Flask is left out: no Flask for python3.")

const receivers: Readonly<Record<string, () => Promise<Receiver>>> = {
  Express: withExpress,
  Fastify: withFastify,
  Hono: withHono,
  Next: async () => inProcess(nextRoute),
  ...(hasFlask ? { Flask: withFlask } : {}),
}

/** A delivery, signed by the rule (contract: Signatures), by other code than the recipes'. */
const aDelivery = (id: string, change: { readonly body?: string; readonly age?: number } = {}) => {
  const event: WebhookEvent = {
    id,
    type: "ping",
    created_at: "2026-01-01T00:00:00Z",
    data: { webhook_id: 1 },
  }
  // Spaces and other scripts: the bytes count, not what they mean.
  const body = JSON.stringify({ ...event, note: "Grüße 🦉" }, null, 2)
  const timestamp = String(Math.floor(Date.now() / 1000) - (change.age ?? 0))
  const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
  return new Request("http://127.0.0.1/events", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "service-timestamp": timestamp,
      "service-signature": `v1=${signature}`,
    },
    body: change.body ?? body,
  })
}

describe("the recipes for receivers", () => {
  const before = process.env["WEBHOOK_SECRET"]
  process.env["WEBHOOK_SECRET"] = secret
  afterAll(() => {
    if (before === undefined) delete process.env["WEBHOOK_SECRET"]
    else process.env["WEBHOOK_SECRET"] = before
  })

  it("are the files of the folder, word for word", () => {
    const page = readFileSync(
      join(import.meta.dirname, "../../../docs/recipes-for-receivers.md"),
      "utf8",
    )
    const files = readdirSync(folder).filter((file) => /\.(?:ts|py)$/.test(file))
    assert.isAtLeast(files.length, 6)
    for (const file of files) {
      assert.include(page, `\n${readFileSync(join(folder, file), "utf8")}\`\`\``)
    }
  })

  for (const [name, start] of Object.entries(receivers)) {
    it(`in ${name} take a true delivery, and refuse forged and old ones`, async () => {
      const receiver = await start()
      try {
        const id = `evt_${name}`
        const deliver = async (request: Request) => (await receiver.deliver(request)).status
        assert.strictEqual(await deliver(aDelivery(id)), 204)
        assert.strictEqual(await deliver(aDelivery(id)), 204)
        assert.strictEqual(await deliver(aDelivery(`${id}_forged`, { body: "{}" })), 400)
        assert.strictEqual(await deliver(aDelivery(`${id}_old`, { age: 301 })), 400)
        const claimed = (await receiver.claimed()).filter((each) => each.startsWith(id))
        assert.deepStrictEqual([...new Set(claimed)], [id])
      } finally {
        await receiver.stop()
      }
    })
  }
})
