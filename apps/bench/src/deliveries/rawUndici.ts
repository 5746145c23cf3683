/**
 * The limit: undici with connections that are kept, which posts the events, signed as the service
 * signs them, and writes nothing down.
 */
import { webhookUserAgent } from "@messaging-service/core"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { Pool } from "undici"
import type { Endpoint, WaitingEvent } from "../database/webhookFixture.ts"
import type { Delivery } from "./Delivery.ts"

export const openRawUndici = (
  origin: string,
  endpoints: ReadonlyArray<Endpoint>,
  events: ReadonlyArray<WaitingEvent>,
  secrets: Readonly<Record<string, string>>,
  /** Calls under way at once. */
  calls: number,
) =>
  Effect.gen(function* () {
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new Pool(origin, { connections: calls, pipelining: 1 })),
      (opened) => Effect.promise(() => opened.close()),
    )
    const paths = endpoints.map(({ url }) => new URL(url).pathname)

    const deliverAll = async () => {
      let next = 0
      const caller = async () => {
        for (let index = next++; index < events.length; index = next++) {
          const event = events[index]
          const path = paths[index % paths.length] ?? ""
          if (event === undefined) return
          const body = Buffer.from(event.body)
          const timestamp = String(Math.floor(Date.now() / 1000))
          const signature = createHmac("sha256", secrets[path] ?? "")
            .update(`${timestamp}.`)
            .update(body)
            .digest("hex")
          const answer = await pool.request({
            path,
            method: "POST",
            headers: {
              "content-type": "application/json",
              "user-agent": webhookUserAgent,
              "service-event-id": event.id,
              "service-timestamp": timestamp,
              "service-signature": `v1=${signature}`,
            },
            body,
          })
          await answer.body.dump()
        }
      }
      await Promise.all(Array.from({ length: calls }, caller))
    }
    const delivery: Delivery = {
      name: "raw undici",
      deliverAll: Effect.promise(deliverAll),
      checkDone: Effect.void,
    }
    return delivery
  })
