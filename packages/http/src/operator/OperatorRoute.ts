/** What the operator's tables say about an operation, and what its handler is given. */
import type { QueryEntries, Refusal, Role, StoreUnavailable } from "@messaging-service/core"
import type { Effect } from "effect"
import type { Description } from "../openapi/Description.ts"
import type { Tag } from "../openapi/Operation.ts"
import type { Route } from "../route/RouteTable.ts"

export interface OperatorRoute extends Route {
  /** What is read of the request besides its path; JSON that may be left out is then `{}`. */
  readonly takes: "nothing" | "query" | "json" | "optional_json"
  /** Of success. */
  readonly status: number
  /** Succeeds with the answer's body. */
  readonly handler: (input: OperatorInput) => Effect.Effect<unknown, Refusal | StoreUnavailable>
}

export interface OperatorInput {
  /** The role that the operator acts in. */
  readonly role: Role
  /** The id in the path under that name; undefined for what is no id. */
  readonly id: <Id extends number>(name: string) => Id | undefined
  /** Empty unless the operation takes a query. */
  readonly query: QueryEntries
  /** Undefined unless the operation takes JSON. */
  readonly body: unknown
}

/** Operations beside the operator's own that have a tag of theirs in the document. */
interface OperatorSection {
  readonly tag: Tag
  readonly operations: ReadonlyArray<{
    readonly route: OperatorRoute
    readonly description: Description
  }>
}

/** Made from the services that the interface stands on, once each time that they are built. */
export type EmulatorControls = Effect.Effect<OperatorSection>
