/**
 * Where callbacks may go (contract: Version 1: callbacks): to public addresses, as webhooks, but
 * `http://` will do. Asked when the address is given; the way out asks again at every attempt.
 */
import { Context, Effect, Layer, Result } from "effect"
import type { Brand } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import { outboundUrlMessage, parseOutboundUrl } from "../egress/PublicAddress.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { WorkspaceId } from "../Ids.ts"
import { codePointLength } from "../request/text.ts"
import { maximumWebhookUrlLength } from "../webhook/EndpointRequest.ts"

/** An address that was let pass. */
export type CallbackUrl = string & Brand.Brand<"CallbackUrl">

/** The URL, if the rule lets a callback go there as far as its text tells; else what a refusal says of it. */
const readCallbackUrl = (
  url: string,
  { allowPrivate }: OutboundRule,
): Result.Result<CallbackUrl, string | undefined> => {
  if (codePointLength(url) > maximumWebhookUrlLength) return Result.fail(undefined)
  return parseOutboundUrl(url, { allowHttp: true, allowPrivate }).pipe(
    Result.map(() => url as CallbackUrl),
    Result.mapError((problem) => outboundUrlMessage(url, problem)),
  )
}

export class CallbackUrls extends Context.Service<
  CallbackUrls,
  {
    /**
     * Lets an address pass, and none at all. Fails with `invalid_callback_url`: it is too long, no
     * `http` or `https` address, or private or local, also by what its host resolves to.
     */
    check(url: string | null, workspaceId: WorkspaceId): Effect.Effect<CallbackUrl | null, Refusal>
  }
>()("core/CallbackUrls") {
  static readonly layer = Layer.effect(
    CallbackUrls,
    Effect.gen(function* () {
      const egress = yield* Egress
      const rule = yield* OutboundRule
      return CallbackUrls.of({
        check: Effect.fn("CallbackUrls.check")(function* (url, workspaceId) {
          if (url === null) return null
          const read = readCallbackUrl(url, rule)
          if (Result.isFailure(read)) {
            const message = read.failure
            return yield* refuse("invalid_callback_url", message === undefined ? {} : { message })
          }
          if (yield* egress.allows(url, workspaceId)) return read.success
          return yield* refuse("invalid_callback_url")
        }),
      })
    }),
  )
}
