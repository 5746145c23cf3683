/**
 * One attempt to make a callback: a signed call, and what its outcome means (contract: Version 1:
 * callbacks).
 */
import { Context, Effect, Layer } from "effect"
import type { CallbackResult, ClaimedCallback } from "../queue/CallbackQueue.ts"
import { countCallback } from "../monitoring/counters.ts"
import { errorOf, nextAfter, signedCaller } from "../webhook/SignedCall.ts"
import { SigningSecrets } from "../webhook/SigningSecrets.ts"
import { callbackSalt } from "./CallbackSecrets.ts"
import { callbackContentType } from "./Callback.ts"

/** The delays after each failed attempt: four attempts in five minutes. */
export const callbackDelaysMillis: ReadonlyArray<number> = [10_000, 60_000, 240_000]

export class CallbackCall extends Context.Service<
  CallbackCall,
  {
    /** Makes the attempt; how to settle it. Never fails. */
    make(claimed: ClaimedCallback): Effect.Effect<CallbackResult>
  }
>()("core/CallbackCall") {
  static readonly layer = Layer.effect(
    CallbackCall,
    Effect.gen(function* () {
      const call = yield* signedCaller
      const secrets = (yield* SigningSecrets).callbacks

      return CallbackCall.of({
        make: ({ attempt, body, eventId, id, lease, storedSalt, url, workspaceId }) =>
          Effect.map(
            call({
              workspaceId,
              url,
              eventId,
              contentType: callbackContentType,
              body,
              secret: secrets.of(callbackSalt(workspaceId, storedSalt)),
              allowHttp: true,
            }).pipe(Effect.tap(({ outcome }) => countCallback(errorOf(outcome)))),
            (made) => ({
              id,
              lease,
              nextAttemptAt: nextAfter(made, attempt, callbackDelaysMillis),
            }),
          ),
      })
    }),
  )
}
