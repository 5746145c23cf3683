/** An entry of the operator's tables, and what its handler is given. */
import type { Refusal, Role, StoreUnavailable } from "@messaging-service/core"
import type { Effect, Schema } from "effect"
import type { Entry, Input } from "../route/Entry.ts"

interface OperatorInput<Path extends string, Request> extends Input<Path, Request> {
  /** The role that the operator acts in. */
  readonly role: Role
}

export interface OperatorRoute<
  Path extends string = string,
  Request = unknown,
  Answer extends Schema.Top = Schema.Top,
> extends Entry<Path, Request, Answer> {
  handler(
    input: OperatorInput<Path, Request>,
  ): Effect.Effect<Answer["Type"], Refusal | StoreUnavailable>
}

/** Binds the handler to the path, to what it takes and to what it answers. */
export const operatorRoute = <
  const Path extends string,
  Answer extends Schema.Top,
  Request = undefined,
>(
  route: OperatorRoute<Path, Request, Answer>,
): OperatorRoute => route

/** Made from the services that the interface stands on, once each time that they are built. */
export type EmulatorControls = Effect.Effect<ReadonlyArray<OperatorRoute>>

export const workspacesPath = "/admin/v1/workspaces"
export const workspacePath = `${workspacesPath}/{id}` as const
