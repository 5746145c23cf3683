/** What the people of a workspace may do, as the operator API can act for them (`Acting-Role`). */
import { Effect } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"

export const roles = ["owner", "administrator", "member"] as const

export type Role = (typeof roles)[number]

/** What needs a role; every role may read the workspace itself. */
export type Duty =
  | "workspace"
  | "keys_v2"
  | "keys_v1"
  | "contacts"
  | "numbers"
  | "webhooks"
  | "reminders"

const allowed: Readonly<Record<Duty, ReadonlyArray<Role>>> = {
  workspace: ["owner"],
  keys_v2: ["owner"],
  keys_v1: ["owner", "administrator"],
  contacts: ["owner", "administrator"],
  numbers: ["owner", "administrator"],
  webhooks: ["owner", "administrator"],
  reminders: ["owner", "administrator"],
}

export const may = (role: Role, duty: Duty): boolean => allowed[duty].includes(role)

/** Fails with `role_required`. */
export const requireRole = (role: Role, duty: Duty): Effect.Effect<void, Refusal> =>
  may(role, duty)
    ? Effect.void
    : Effect.fail(
        refuse("role_required", {
          message: `This takes one of these roles: ${allowed[duty].join(", ")}.`,
        }),
      )
