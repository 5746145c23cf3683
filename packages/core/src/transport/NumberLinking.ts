/**
 * The port through which numbers are linked to phones. Only WhatsApp numbers are connected here
 * (contract: Connecting a number). The worker that runs an attempt holds its connection for as long
 * as the stream is read; what the stream says is stored by the worker, so that every process can
 * show it.
 */
import { Context } from "effect"
import type { Stream } from "effect"
import type { NumberId } from "../Ids.ts"
import type { PairingCode } from "../number/Linking.ts"
import type { LoginMethod } from "../number/SendingNumber.ts"

export interface LinkingRequest {
  readonly numberId: NumberId
  readonly method: LoginMethod
  /** Digits with country code: for whom the pairing code is; null with a QR code. */
  readonly phone: string | null
}

export type LinkingEvent =
  /** The QR code to be scanned from now on. */
  | { readonly _tag: "QrShown"; readonly text: string }
  /** The pairing code to be typed from now on. */
  | { readonly _tag: "PairingCodeShown"; readonly pairingCode: PairingCode }
  /** The phone has taken the code; linking goes on. */
  | { readonly _tag: "Taken" }
  /** The link is made, and its credentials are kept: the number can send. */
  | {
      readonly _tag: "Linked"
      /** Digits with country code. */
      readonly phone: string
    }
  /** It cannot be linked at all, such as an account that asks for more than a code. */
  | { readonly _tag: "Failed"; readonly reason: string }

export class NumberLinking extends Context.Service<
  NumberLinking,
  {
    /**
     * One connection's worth of linking. Its end without `Linked` or `Failed` means that the far side
     * has no further codes to give or that the connection broke: a new stream goes on where it left
     * off. Interrupting it gives the connection up. Never fails: what went wrong is an event.
     */
    link(request: LinkingRequest): Stream.Stream<LinkingEvent>
  }
>()("core/NumberLinking") {}
