/** An entry of version 2's table, and what its handler is given. */
import type {
  IdempotencyKey,
  KeyCaller,
  OperationName,
  Refusal,
  Repeatable,
  StoreUnavailable,
} from "@messaging-service/core"
import type { Effect, Schema } from "effect"
import type { Heading } from "../openapi/Operation.ts"
import type { Entry, Input } from "../route/Entry.ts"
import { routeAt } from "../route/RouteTable.ts"
import type { MethodAndPath } from "../route/RouteTable.ts"

interface InputV2<Path extends string, Request> extends Input<Path, Request> {
  readonly caller: KeyCaller
  /** Null unless the operation is idempotent and the header was sent. */
  readonly idempotency: IdempotencyKey | null
}

interface OperationV2<
  Path extends string,
  Request,
  Answer extends Schema.Top,
  Outcome,
> extends Entry<Request, Answer> {
  /** The core's operation, whose gate says what a key needs. */
  readonly id: OperationName
  handler(input: InputV2<Path, Request>): Effect.Effect<Outcome, Refusal | StoreUnavailable>
}

/** `idempotent`: honours `Idempotency-Key`; other operations ignore the header. */
type EntryV2<Path extends string, Request, Answer extends Schema.Top> =
  | (OperationV2<Path, Request, Answer, Answer["Type"]> & { readonly idempotent?: never })
  | (OperationV2<Path, Request, Answer, Repeatable<Answer["Type"]>> & { readonly idempotent: true })

export type RouteV2 = Heading & EntryV2<string, unknown, Schema.Top>

/**
 * Makes routes that the document shows under that heading. It binds the handler to the path, to what
 * it takes and to what it answers.
 */
export const routeV2 =
  (tag: string) =>
  <const At extends MethodAndPath, Answer extends Schema.Top, Request = undefined>(
    at: At,
    entry: EntryV2<At, Request, Answer>,
  ): RouteV2 => ({ ...routeAt(at), tag, ...entry })
