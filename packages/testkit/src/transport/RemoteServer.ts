/**
 * What the transport contract needs to hold in its hands: the other end of the wire. An adapter's own
 * test brings it, for a simulated remote server or for a server that speaks the real protocol.
 */
import type { MessageErrorCode, NumberId, Target, TransportId } from "@messaging-service/core"
import { Context } from "effect"
import type { Effect } from "effect"

/** What the remote server does with the attempts that reach it. */
export type Taking =
  /** Shows the message to its recipient and acknowledges it. */
  | "acknowledge"
  /** Refuses it; shows nothing. */
  | "refuse"
  /** Shows the next message, and breaks the connection before the acknowledgement; then acknowledges. */
  | "break_before_ack"
  /** Shows nothing and never answers. */
  | "stay_silent"

/** One copy that a recipient really sees. */
export interface SeenCopy {
  readonly transportId: TransportId
  /** The recipient, as the remote server names it. */
  readonly to: string
  readonly text: string
  readonly media: {
    /** Null where the remote server shows none: of a picture, where it keeps no names of pictures. */
    readonly fileName: string | null
    readonly mimeType: string
    readonly size: number
    readonly sha256: string
  } | null
}

export class RemoteServer extends Context.Service<
  RemoteServer,
  {
    /** A new number, connected, which nothing was sent from; the remote server acknowledges. */
    readonly aNumber: Effect.Effect<NumberId>
    /** Recipients that exist, one of each kind that the transport can reach. */
    readonly recipients: ReadonlyArray<{ readonly target: Target; readonly shownAs: string }>
    /** Recipients that do not, and the error that says so. */
    readonly strangers: ReadonlyArray<{ readonly target: Target; readonly code: MessageErrorCode }>
    /** Whether pictures keep their names; files always do. */
    readonly namesPictures: boolean
    /** From now on, for what that number sends. */
    take(numberId: NumberId, taking: Taking): Effect.Effect<void>
    logOut(numberId: NumberId): Effect.Effect<void>
    logIn(numberId: NumberId): Effect.Effect<void>
    /** What recipients see of that number, oldest first. */
    seen(numberId: NumberId): Effect.Effect<ReadonlyArray<SeenCopy>>
    /** Whether an attempt of that number waits for the remote server's answer; no longer once given up. */
    waiting(numberId: NumberId): Effect.Effect<boolean>
  }
>()("testkit/RemoteServer") {}
