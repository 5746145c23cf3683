/**
 * The other end of the wire, under the transport contract's control. An adapter's own test provides
 * it, for a simulated remote server or for a server that speaks the real protocol.
 */
import type { MessageErrorCode, NumberId, Target, TransportId } from "@messaging-service/core"
import { Context } from "effect"
import type { Effect } from "effect"

/** How the remote server handles the attempts that reach it. */
export type Taking =
  /** Shows the message to its recipient and acknowledges it. */
  | "acknowledge"
  /** Refuses it; shows nothing. */
  | "refuse"
  /** Shows the next message, and breaks the connection before the acknowledgement; then acknowledges. */
  | "break_before_ack"
  /** Shows nothing and never answers. */
  | "stay_silent"

/** One copy that a recipient sees. */
export interface ReceivedCopy {
  readonly transportId: TransportId
  /** The recipient, as the remote server names it. */
  readonly to: string
  readonly text: string
  readonly media: {
    /** Null where the remote server shows none, as for pictures without stored names. */
    readonly fileName: string | null
    readonly mimeType: string
    readonly size: number
    readonly sha256: string
  } | null
}

export class RemoteServer extends Context.Service<
  RemoteServer,
  {
    /** A new connected number that has sent nothing; the remote server acknowledges. */
    readonly aNumber: Effect.Effect<NumberId>
    /** Recipients that exist, one of each kind that the transport can reach. */
    readonly recipients: ReadonlyArray<{ readonly target: Target; readonly displayedAs: string }>
    /** Recipients that do not exist, with their error. */
    readonly strangers: ReadonlyArray<{ readonly target: Target; readonly code: MessageErrorCode }>
    /** Whether pictures keep their names; files always do. */
    readonly namesPictures: boolean
    /** From now on, for that number's sends. */
    take(numberId: NumberId, taking: Taking): Effect.Effect<void>
    logOut(numberId: NumberId): Effect.Effect<void>
    logIn(numberId: NumberId): Effect.Effect<void>
    /** What recipients see of that number, oldest first. */
    seen(numberId: NumberId): Effect.Effect<ReadonlyArray<ReceivedCopy>>
    /** Whether an attempt of that number waits for the remote server's answer; false once given up. */
    waiting(numberId: NumberId): Effect.Effect<boolean>
  }
>()("testkit/RemoteServer") {}
