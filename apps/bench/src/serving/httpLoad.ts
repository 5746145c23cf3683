/** A process that sends for a time with several clients, each with one request in flight. */
import { Pool } from "undici"
import { getSecret } from "../database/fixture.ts"
import { answering } from "../measuring/answering.ts"

/** Command for the sending process. */
export interface LoadCommand {
  readonly url: string
  readonly clients: number
  readonly seconds: number
  /** Ids of the keys to send with, in turn. */
  readonly keys: { readonly from: number; readonly to: number }
  /** The first of one workspace's numbers, to be named as `from`; null to name none. */
  readonly firstNumber: number | null
}

export interface LoadReport {
  readonly seconds: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
}

/** A number takes 1,000 messages a day; before that the next one is sent from. */
const messagesOfNumber = 900

const obey = async (command: LoadCommand): Promise<LoadReport> => {
  const pool = new Pool(command.url, { connections: command.clients, pipelining: 1 })
  const started = performance.now()
  const end = started + command.seconds * 1000
  const statuses: Record<string, number> = {}
  let sent = 0
  const client = async () => {
    while (performance.now() < end) {
      const index = sent++
      const key = command.keys.from + (index % (command.keys.to - command.keys.from + 1))
      const from =
        command.firstNumber === null
          ? {}
          : { from: command.firstNumber + Math.floor(index / messagesOfNumber) }
      const { body, statusCode } = await pool.request({
        path: "/api/v2/messages",
        method: "POST",
        headers: {
          authorization: `Bearer ${getSecret(key)}`,
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
  await Promise.all(Array.from({ length: command.clients }, client))
  const seconds = (performance.now() - started) / 1000
  await pool.close()
  return { seconds, statuses }
}

answering(obey)
