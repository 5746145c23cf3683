import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { may, requireRole, roles } from "../src/model/Workspace.ts"
import type { Duty, Role } from "../src/model/Workspace.ts"

/** Permissions by role, as the operator API defines them. */
const table: Readonly<Record<Duty, ReadonlyArray<Role>>> = {
  reading: ["owner", "administrator", "member"],
  workspace: ["owner"],
  portal_links: ["owner"],
  keys_v2: ["owner"],
  keys_v1: ["owner", "administrator"],
  contacts: ["owner", "administrator"],
  numbers: ["owner", "administrator"],
  webhooks: ["owner", "administrator"],
  reminders: ["owner", "administrator"],
  messages: ["owner", "administrator", "member"],
  conversations: ["owner", "administrator"],
}

const duties = Object.keys(table) as ReadonlyArray<Duty>

describe("roles", () => {
  it.effect("are owner, administrator and member", () =>
    Effect.sync(() => assert.deepStrictEqual(roles, ["owner", "administrator", "member"])),
  )

  it.effect.each(duties)("refuses with role_required (403): %s", (duty) =>
    Effect.gen(function* () {
      for (const role of roles) {
        const allowed = table[duty].includes(role)
        assert.strictEqual(may(role, duty), allowed)
        if (allowed) {
          yield* requireRole(role, duty)
          continue
        }
        const { code, status } = yield* Effect.flip(requireRole(role, duty))
        assert.deepStrictEqual([code, status], ["role_required", 403])
      }
    }),
  )
})
