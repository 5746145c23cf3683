/**
 * The one way out to addresses that customers name: media links, webhooks and callbacks. The adapter
 * checks the literal, the resolved and the connected address, at every redirect hop.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { Scope, Stream } from "effect"
import type { WorkspaceId } from "../Ids.ts"

/** Why a call did not get an answer; the names are those of `last_delivery.error`. */
export class EgressError extends Data.TaggedError("EgressError")<{
  readonly reason:
    | "timeout"
    | "dns"
    | "tls"
    | "connection"
    | "blocked_address"
    | "redirects"
    | "too_large"
  readonly cause?: unknown
}> {
  override get message() {
    return `outgoing call: ${this.reason}`
  }
}

export interface EgressAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The address really answered from, after redirects. */
  readonly url: string
  readonly body: Stream.Stream<Uint8Array, EgressError>
}

export interface FetchLimits {
  readonly maximumBytes: number
  readonly timeoutMillis: number
  readonly redirects: number
}

export interface PostRequest {
  /** Whose call it is: it counts in that workspace's share. */
  readonly workspaceId: WorkspaceId
  readonly headers: Readonly<Record<string, string>>
  /** Sent as UTF-8. */
  readonly body: string
  /** Whether plain `http` will do; `https` always does. */
  readonly allowHttp: boolean
}

export interface PostLimits {
  /** How much of the answer's content is read at most. */
  readonly maximumBytes: number
  /** For all of the call, in real time. */
  readonly timeoutMillis: number
  /** For resolving, connecting and the TLS handshake. */
  readonly connectTimeoutMillis: number
}

/** An answer whose content does not matter. */
export type PostAnswer = Pick<EgressAnswer, "status" | "headers">

export class Egress extends Context.Service<
  Egress,
  {
    /**
     * Whether every address that the link's host resolves to now may be called; a name that does not
     * resolve is allowed here and fails later. The link's own syntax was checked before. The look-up
     * counts in that workspace's share.
     */
    allows(url: string, workspaceId: WorkspaceId): Effect.Effect<boolean>
    /** A GET for that workspace; the connection closes with the scope. */
    fetch(
      url: string,
      limits: FetchLimits,
      workspaceId: WorkspaceId,
    ): Effect.Effect<EgressAnswer, EgressError, Scope.Scope>
    /**
     * A POST of whose answer only the status matters: a redirect is an answer too, and so is one
     * whose content is too long or breaks off. Connections are kept for later calls.
     */
    post(
      url: string,
      request: PostRequest,
      limits: PostLimits,
    ): Effect.Effect<PostAnswer, EgressError>
  }
>()("core/Egress") {
  /** No way out: every link is taken as it is and none can be called. For tests and sealed hosts. */
  static readonly layerClosed = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
    post: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
  })
}

/**
 * What customers' addresses may be; wider with `ALLOW_PRIVATE_TARGETS` (contract: Configuration).
 */
export interface OutboundRule {
  readonly allowPrivate: boolean
}

export const OutboundRule = Context.Reference<OutboundRule>("core/OutboundRule", {
  defaultValue: () => ({ allowPrivate: false }),
})
