/**
 * The callbacks of a number's connection, made from what the store knows of the number when something
 * happens to it. Whether it does happen, and is reported, is up to the commit.
 */
import { Clock, Effect } from "effect"
import { Ids, eventId } from "../Ids.ts"
import type { NumberId } from "../Ids.ts"
import { LinkingStore, phoneWithoutLink } from "../number/Linking.ts"
import { NumberStore } from "../number/NumberStore.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import { connectionCallback } from "./Callback.ts"
import type { ConnectionEvent } from "./Callback.ts"

/** Makes the callbacks of numbers: null where a number reports nowhere. */
export const makeConnectionCallbacks = Effect.gen(function* () {
  const numbers = yield* NumberStore
  const attempts = yield* LinkingStore
  const ids = yield* Ids

  /** The number and its reports now; most report nowhere, so that is asked first. */
  const reporting = Effect.fnUntraced(function* (id: NumberId) {
    const url = yield* numbers.callbackUrl(id)
    const number = url === null ? null : yield* numbers.find(id)
    if (url === null || number === null) return null
    const now = yield* Clock.currentTimeMillis
    const report = (event: ConnectionEvent, phone: string | null) =>
      connectionCallback(eventId(ids, now), event, { ...number, phone }, url, now)
    return { number, report }
  })

  const keptBy = (number: SendingNumber) =>
    Effect.map(attempts.get(number.id), (attempt) => phoneWithoutLink(number, attempt))

  return {
    /** Of an event; `phone` is one that the event reveals. */
    of: Effect.fnUntraced(function* (
      id: NumberId,
      event: ConnectionEvent,
      phone: string | null = null,
    ) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      const known = event === "disconnected" ? yield* keptBy(number) : number.phone
      return report(event, phone ?? known)
    }),
    /** Of a link that is made with that phone, whichever way it ends. */
    ofEnd: Effect.fnUntraced(function* (id: NumberId, phone: string) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      // A number that could not be linked does not keep the phone of another one.
      const before = yield* keptBy(number)
      return {
        connected: report("connected", phone),
        disconnected: report("disconnected", before === phone ? null : before),
      }
    }),
  }
})
