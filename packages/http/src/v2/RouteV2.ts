/** What the table of version 2 says about an operation, and what its handler is given. */
import type {
  Caller,
  IdempotencyKey,
  QueryEntries,
  Refusal,
  Scope,
  StoreUnavailable,
  Upload,
} from "@messaging-service/core"
import type { Effect } from "effect"
import type { Route } from "../route/RouteTable.ts"

interface OperationV2 extends Route {
  /** The scope that a key needs; null when any key will do. */
  readonly scope: Scope | null
  /** Whether keys that are limited to some numbers are refused. */
  readonly unlimitedOnly?: true
  /** Whether it honours `Idempotency-Key`; other operations ignore the header. */
  readonly idempotent: boolean
  /** Of success. */
  readonly status: number
}

/** `takes`: what is read of the request besides its path. */
export type RouteV2 =
  | (OperationV2 & {
      readonly takes: "nothing" | "query" | "json"
      readonly handler: HandlerV2<InputV2>
    })
  | (OperationV2 & {
      readonly takes: "file"
      readonly handler: HandlerV2<InputV2 & WithUpload>
    })

export type HandlerV2<Input> = (
  input: Input,
) => Effect.Effect<OutcomeV2, Refusal | StoreUnavailable>

export interface InputV2 {
  readonly caller: Caller
  /** The id in the path under that name; undefined for what is no id. */
  readonly id: <Id extends number>(name: string) => Id | undefined
  /** Empty unless the operation takes a query. */
  readonly query: QueryEntries
  /** Undefined unless the operation takes JSON. */
  readonly body: unknown
  /** Null unless the operation is idempotent and the header was sent. */
  readonly idempotency: IdempotencyKey | null
}

export interface WithUpload {
  /** It goes with the request, unless it is kept. */
  readonly upload: Upload
}

export interface OutcomeV2 {
  readonly body: unknown
  /** The answer repeats that of the first request with the same `Idempotency-Key`. */
  readonly replayed?: boolean
}
