/**
 * Which numbers' connections this worker holds. A single process holds all; of several processes on one
 * store one holds all at a time, by a lease, so that no two ever hold one number's connection.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Ids } from "../id/Ids.ts"
import type { Owned } from "../queue/LaneQueue.ts"
import { ServiceSecrets } from "../secret/ServiceSecrets.ts"

/** How long numbers stay held after their holder died, and how often a lease is renewed. */
const leaseMillis = 30_000
const renewMillis = 10_000

/** The name under which the lease is kept. */
const leaseName = "number-holder"

const none: Owned = []

export class NumberOwnership extends Context.Service<
  NumberOwnership,
  {
    /** The numbers whose lanes this worker may claim now, and whose connections it may have. */
    readonly owned: Effect.Effect<Owned>
    /** Takes numbers as soon as no other worker holds them, and keeps them until interrupted. */
    readonly hold: Effect.Effect<never>
  }
>()("core/NumberOwnership") {
  /**
   * Every number: for a single process, and for transports without connections of their own (the
   * simulated phones), whose sends any worker can make.
   */
  static readonly layerAll = Layer.succeed(NumberOwnership, {
    owned: Effect.succeed<Owned>("all"),
    hold: Effect.never,
  })

  /**
   * Every number or none: for transports with connections, where several processes share the store.
   * The others stand by, and one of them goes on 30 s after the holder was last heard of, or at once
   * when it stopped in good order.
   */
  static readonly layerLeased: Layer.Layer<NumberOwnership, never, ServiceSecrets | Ids> =
    Layer.effect(
      NumberOwnership,
      Effect.gen(function* () {
        const store = yield* ServiceSecrets
        const holder = (yield* Ids).alphanumeric(24)
        /** Until when the lease is this worker's, as far as it knows. */
        let heldUntil = 0

        const renew = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const until = now + leaseMillis
          const mine = `${holder} ${until}`
          const kept = yield* store.getOrCreate(leaseName, mine)
          const [other, theirs] = kept.split(" ")
          if (other !== holder && Number(theirs) > now) {
            heldUntil = 0
            return
          }
          yield* store.replace(leaseName, kept, mine)
          heldUntil = (yield* store.get(leaseName)) === mine ? until : 0
        }).pipe(
          Effect.catch((error) =>
            Effect.logWarning("whether numbers are held is asked again later", error),
          ),
        )

        const giveBack = Effect.gen(function* () {
          if (heldUntil === 0) return
          heldUntil = 0
          const kept = yield* store.get(leaseName)
          if (kept?.startsWith(`${holder} `) === true) {
            yield* store.replace(leaseName, kept, `${holder} 0`)
          }
        }).pipe(Effect.ignore)

        return NumberOwnership.of({
          // A holder that could not renew lets go before another can take over.
          owned: Effect.map(Clock.currentTimeMillis, (now) =>
            now < heldUntil - renewMillis / 2 ? "all" : none,
          ),
          hold: renew.pipe(
            Effect.andThen(Effect.sleep(renewMillis)),
            Effect.forever,
            Effect.ensuring(giveBack),
          ),
        })
      }),
    )
}
