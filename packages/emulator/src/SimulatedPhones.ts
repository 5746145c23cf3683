/**
 * The port that keeps the other side of the simulated wire: how each phone behaves, which phones
 * exist, and what left. It lives in the store beside everything else, so that it outlives a killed
 * process and is shared by all workers (contract: Emulator controls).
 */
import { isRegisteredInTestMode } from "@messaging-service/core"
import type {
  MessageId,
  NumberId,
  OutgoingMedia,
  PageOf,
  PageQuery,
  Phone,
  StoreUnavailable,
  TransportId,
} from "@messaging-service/core"
import { Context } from "effect"
import type { Effect } from "effect"

export interface Behaviour {
  readonly send: "succeed" | "fail" | "hang" | "drop"
  /** The reason given when `send` is `fail`. */
  readonly errorMessage: string | null
  readonly latencyMillis: number
  /** Exact names of the groups that the number belongs to. */
  readonly groups: ReadonlyArray<string>
}

export const defaultBehaviour: Behaviour = {
  send: "succeed",
  errorMessage: null,
  latencyMillis: 0,
  groups: ["Team"],
}

/** One copy that a recipient really sees. */
export interface SentCopy {
  readonly id: number
  readonly transportId: TransportId
  /** Null for a transport id that belongs to no message. */
  readonly messageId: MessageId | null
  readonly numberId: NumberId
  /** The phone with `+`, the group's name, or the username. */
  readonly to: string
  readonly text: string
  readonly media: SentMedia | null
  readonly at: number
}

export type SentMedia = Pick<OutgoingMedia, "fileName" | "mimeType" | "size" | "sha256">

export class SimulatedPhones
  extends /*#__PURE__*/ Context.Service<
    SimulatedPhones,
    {
      /** Null when never set: the default. */
      behaviour(numberId: NumberId): Effect.Effect<Behaviour | null, StoreUnavailable>
      setBehaviour(numberId: NumberId, behaviour: Behaviour): Effect.Effect<void, StoreUnavailable>
      /** The phones that exist; null for the rule. */
      registered: Effect.Effect<ReadonlyArray<Phone> | null, StoreUnavailable>
      setRegistered(phones: ReadonlyArray<Phone> | null): Effect.Effect<void, StoreUnavailable>
      /**
       * A copy reaches the far side, which shows one for one transport id of a number: false when it
       * had that copy already. `then` replaces the number's behaviour in the same commit.
       */
      receive(
        copy: Omit<SentCopy, "id" | "messageId">,
        then: Behaviour | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** Newest first. */
      sent(
        numberId: NumberId | null,
        page: PageQuery,
      ): Effect.Effect<PageOf<SentCopy>, StoreUnavailable>
    }
  >()("emulator/SimulatedPhones") {}

/**
 * Whether the phone is registered, for sending and for number checks alike: one of those that were
 * set, or, by the rule (`null`), one that exists for test keys too.
 */
export const isRegistered = (set: ReadonlyArray<Phone> | null, phone: Phone): boolean =>
  set === null ? isRegisteredInTestMode(phone) : set.includes(phone)
