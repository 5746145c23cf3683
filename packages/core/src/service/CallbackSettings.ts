/**
 * Where callbacks may go (contract: Version 1: callbacks): to public addresses, as webhooks, but
 * `http://` will do. Asked when the address is given; the way out asks again at every attempt.
 */
import { Context, Effect, Layer, Result } from "effect"
import type { Brand } from "effect"
import { Egress, OutboundRule, outboundUrlMessage, parseOutboundUrl } from "../model/Egress.ts"
import { refuse } from "../model/Refusal.ts"
import type { Failure, Refusal } from "../model/Refusal.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { codePointLength } from "../model/Input.ts"
import { maximumWebhookUrlLength, SigningSecrets } from "../model/WebhookEndpoint.ts"
import type { Role } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

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
    check(
      url: string | null,
      workspaceId: WorkspaceId,
    ): Effect.Effect<CallbackUrl | null, Refusal<"invalid_callback_url">>
  }
>()("core/CallbackUrls") {
  static readonly layer = Layer.effect(
    CallbackUrls,
    Effect.gen(function* make() {
      const egress = yield* Egress
      const rule = yield* OutboundRule
      return CallbackUrls.of({
        check: Effect.fn("CallbackUrls.check")(function* check(url, workspaceId) {
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

// The secret that signs a workspace's callbacks, one for all of them, and its change by the
// operator (contract: Callback secret). Every workspace has one from the start: until it is
// changed, it is made from the workspace's id and the service's own key.

/** What signs a workspace's callbacks (contract: Callback secret). */
export interface CallbackSecret {
  /** 64 hexadecimal characters. */
  readonly secret: string
}

/** The salt of a workspace's secret; `stored` is null until the secret is changed. */
export const callbackSalt = (workspaceId: WorkspaceId, stored: string | null): string =>
  stored ?? `callbacks of workspace ${workspaceId}`

export class CallbackSecrets extends Context.Service<
  CallbackSecrets,
  {
    /** GET /workspaces/{id}/callback-secret. */
    get(
      role: Role,
      id: WorkspaceId | undefined,
    ): Effect.Effect<CallbackSecret, Failure<WorkspaceCode>>
    /** POST /workspaces/{id}/callback-secret/rotate: the old secret stops working at once. */
    rotate(
      role: Role,
      id: WorkspaceId | undefined,
    ): Effect.Effect<CallbackSecret, Failure<WorkspaceCode>>
  }
>()("core/CallbackSecrets") {
  static readonly layer = Layer.effect(
    CallbackSecrets,
    Effect.gen(function* make() {
      const salts = (yield* Store).workspaces
      const secrets = (yield* SigningSecrets).callbacks
      const workspaces = yield* Workspaces

      return CallbackSecrets.of({
        get: Effect.fn("CallbackSecrets.get")(function* get(role, id) {
          const { id: workspaceId } = yield* workspaces.within(role, id, "webhooks")
          const salt = callbackSalt(workspaceId, yield* salts.callbackSalt(workspaceId))
          return { secret: secrets.of(salt) }
        }),
        rotate: Effect.fn("CallbackSecrets.rotate")(function* rotate(role, id) {
          const { id: workspaceId } = yield* workspaces.within(role, id, "webhooks")
          const { salt, secret } = yield* secrets.make
          if (!(yield* salts.putCallbackSalt(workspaceId, salt)))
            return yield* refuse("workspace_not_found")
          return { secret }
        }),
      })
    }),
  )
}
