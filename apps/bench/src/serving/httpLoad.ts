/**
 * A process that sends: so many clients, each with one request under way, for so long. It takes one
 * order on a line of standard input after another and answers each with a line.
 */
import { createInterface } from "node:readline"
import { Pool } from "undici"
import { secretOf } from "../database/fixture.ts"
import type { LoadOrder, LoadReport } from "./LoadOrder.ts"

/** A number takes 1,000 messages a day; before that the next one is sent from. */
const messagesOfNumber = 900

const obey = async (order: LoadOrder): Promise<LoadReport> => {
  const pool = new Pool(order.url, { connections: order.clients, pipelining: 1 })
  const started = performance.now()
  const end = started + order.seconds * 1000
  const statuses: Record<string, number> = {}
  let sent = 0
  const client = async () => {
    while (performance.now() < end) {
      const place = sent++
      const key = order.keys.from + (place % (order.keys.to - order.keys.from + 1))
      const from =
        order.firstNumber === null
          ? {}
          : { from: order.firstNumber + Math.floor(place / messagesOfNumber) }
      const { body, statusCode } = await pool.request({
        path: "/api/v2/messages",
        method: "POST",
        headers: {
          authorization: `Bearer ${secretOf(key)}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({
          ...from,
          to: { phone: "+15551234567" },
          text: "Hello from the benchmark",
        }),
      })
      await body.dump()
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: order.clients }, client))
  const seconds = (performance.now() - started) / 1000
  await pool.close()
  return { seconds, statuses }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await obey(JSON.parse(line) as LoadOrder))}\n`)
}
