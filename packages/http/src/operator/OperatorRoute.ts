/** An entry of the operator's tables, and what its handler is given. */
import type { Refusal, Role, StoreUnavailable } from "@messaging-service/core"
import type { Effect, Schema } from "effect"
import type { Refused } from "../openapi/errors.ts"
import type { Heading } from "../openapi/Operation.ts"
import type { Entry, Input } from "../route/Entry.ts"
import { routeAt } from "../route/RouteTable.ts"
import type { MethodAndPath } from "../route/RouteTable.ts"

interface OperatorInput<Path extends string, Request> extends Input<Path, Request> {
  /** The role that the operator acts in. */
  readonly role: Role
}

interface OperatorEntry<
  Path extends string = string,
  Request = unknown,
  Answer extends Schema.Top = Schema.Top,
> extends Entry<Request, Answer> {
  handler(
    input: OperatorInput<Path, Request>,
  ): Effect.Effect<Answer["Type"], Refusal | StoreUnavailable>
}

export type OperatorRoute = Heading & OperatorEntry

/**
 * Makes routes that the document shows under that heading. It binds the handler to the path, to what
 * it takes and to what it answers.
 */
export const operatorRoute =
  (tag: string) =>
  <const At extends MethodAndPath, Answer extends Schema.Top, Request = undefined>(
    at: At,
    entry: OperatorEntry<At, Request, Answer>,
  ): OperatorRoute => ({ ...routeAt(at), tag, ...entry })

/** Made from the services that the interface stands on, once each time that they are built. */
export type EmulatorControls = Effect.Effect<ReadonlyArray<OperatorRoute>>

export const workspacesPath = "/admin/v1/workspaces"
export const workspacePath = `${workspacesPath}/{id}` as const
export const numberPath = `${workspacePath}/numbers/{number_id}` as const

/** The path names no number of the workspace. */
export const missingNumber: Refused = { code: "number_not_found", inPath: true }
