/** What the comparison knows of one method of the `Store`. */
import type { Store } from "@messaging-service/core"
import type { Effect } from "effect"
import type { Chooser } from "./Chooser.ts"
import type { Kind } from "./Side.ts"

export type Service = typeof Store.Service

type InputOf<F> = F extends (...input: infer Input) => unknown ? Input : []

type AnswerOf<F> =
  F extends Effect.Effect<infer Answer, infer _E, infer _R>
    ? Answer
    : F extends (...input: infer _Input) => Effect.Effect<infer Answer, infer _E, infer _R>
      ? Answer
      : never

export interface Method<Input extends ReadonlyArray<unknown>, Answer> {
  /** How often it is drawn, compared with the others. Default 2. */
  readonly weight?: number
  /** The kind of the ids that its answer holds where no field says it. */
  readonly kind?: Kind
  readonly input: (c: Chooser) => Input
  /** Remembers records of the answer, for later commands. */
  readonly learn?: (answer: Answer, input: Input, c: Chooser) => void
  /** The part of the answer that stores must share. Default all. */
  readonly compared?: (answer: Answer) => unknown
}

/** Each method of a namespace; a text says why one is not compared. */
export type Methods<Namespace extends keyof Service> = {
  readonly [Name in keyof Service[Namespace]]:
    | Method<InputOf<Service[Namespace][Name]>, AnswerOf<Service[Namespace][Name]>>
    | string
}
