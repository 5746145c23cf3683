/**
 * The callbacks of a number's connection, made from what the store knows of the number when something
 * happens to it. Whether it does happen, and is reported, is up to the commit.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../id/Ids.ts"
import type { NumberId } from "../id/Ids.ts"
import { LinkingStore } from "../number/Linking.ts"
import type { EndReports } from "../number/Linking.ts"
import { NumberStore } from "../number/SendingNumber.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import { connectionCallback } from "./Callback.ts"
import type { Callback, ConnectionEvent } from "./Callback.ts"

export class ConnectionCallbacks extends Context.Service<
  ConnectionCallbacks,
  {
    /** Null when the number reports nowhere. `phone` is one that the event reveals. */
    of(
      id: NumberId,
      event: ConnectionEvent,
      phone?: string | null,
    ): Effect.Effect<Callback | null, StoreUnavailable>
    /** Of a link that is made with that phone, whichever way it ends; null as above. */
    ofEnd(id: NumberId, phone: string): Effect.Effect<EndReports | null, StoreUnavailable>
  }
>()("core/ConnectionCallbacks") {
  static readonly layer = Layer.effect(
    ConnectionCallbacks,
    Effect.gen(function* () {
      const numbers = yield* NumberStore
      const attempts = yield* LinkingStore
      const ids = yield* Ids

      /** The number and where it reports; most report nowhere, so that is asked first. */
      const reporting = (id: NumberId) =>
        Effect.gen(function* () {
          const url = yield* numbers.callbackUrl(id)
          const number = url === null ? null : yield* numbers.find(id)
          return url === null || number === null ? null : { number, url }
        })

      /** The phone that the number keeps when its attempt at linking ends without a link. */
      const phoneWithoutLink = ({ id, phone }: SendingNumber) =>
        Effect.map(attempts.get(id), (attempt) => {
          const replaced = attempt?.replaced ?? null
          return replaced === null ? phone : replaced.phone
        })

      return ConnectionCallbacks.of({
        of: Effect.fnUntraced(function* (id, event, phone = null) {
          const found = yield* reporting(id)
          if (found === null) return null
          const { number, url } = found
          const now = yield* Clock.currentTimeMillis
          const known = event === "disconnected" ? yield* phoneWithoutLink(number) : number.phone
          const shown = { ...number, phone: phone ?? known }
          return connectionCallback(eventId(ids), event, shown, url, now)
        }),
        ofEnd: Effect.fnUntraced(function* (id, phone) {
          const found = yield* reporting(id)
          if (found === null) return null
          const { number, url } = found
          const now = yield* Clock.currentTimeMillis
          // A number that could not be linked does not keep the phone of another one.
          const before = yield* phoneWithoutLink(number)
          const kept = before === phone ? null : before
          return {
            connected: connectionCallback(
              eventId(ids),
              "connected",
              { ...number, phone },
              url,
              now,
            ),
            disconnected: connectionCallback(
              eventId(ids),
              "disconnected",
              { ...number, phone: kept },
              url,
              now,
            ),
          }
        }),
      })
    }),
  )
}
