import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorOf } from "../Doors.ts"
import type { Call } from "../Doors.ts"
import { layerService } from "../Service.ts"
import { aContact, aNumber, aWorkspace, operate } from "../Records.ts"
import type { Made } from "../Records.ts"

const root = "/admin/v1/workspaces"

describe("roles", () => {
  interface Operation {
    readonly what: string
    readonly call: (at: string, made: { readonly number: Made; readonly contact: Made }) => Call
    readonly allowed: ReadonlyArray<string>
  }

  const allRoles = ["owner", "administrator", "member"]
  const administrators = ["owner", "administrator"]
  const number = { platform: "whatsapp", phone: "+15550001111" }

  const operations: ReadonlyArray<Operation> = [
    { what: "read the workspace", call: (at) => ({ path: at }), allowed: allRoles },
    {
      what: "change the workspace",
      call: (at) => ({ method: "PATCH", path: at, json: { name: "New" } }),
      allowed: ["owner"],
    },
    {
      what: "make a version 2 key",
      call: (at) => ({ method: "POST", path: `${at}/keys`, json: { version: 2, name: "k" } }),
      allowed: ["owner"],
    },
    {
      what: "make a version 1 key",
      call: (at) => ({ method: "POST", path: `${at}/keys`, json: { version: 1 } }),
      allowed: administrators,
    },
    { what: "list keys", call: (at) => ({ path: `${at}/keys` }), allowed: administrators },
    {
      what: "add a number",
      call: (at) => ({ method: "POST", path: `${at}/numbers`, json: number }),
      allowed: administrators,
    },
    { what: "list numbers", call: (at) => ({ path: `${at}/numbers` }), allowed: allRoles },
    {
      what: "label a number",
      call: (at, made) => ({
        method: "PATCH",
        path: `${at}/numbers/${made.number.id}`,
        json: { label: "x" },
      }),
      allowed: administrators,
    },
    {
      what: "add a contact",
      call: (at) => ({
        method: "POST",
        path: `${at}/contacts`,
        json: { name: "n", phone: "+15550001112" },
      }),
      allowed: administrators,
    },
    { what: "list contacts", call: (at) => ({ path: `${at}/contacts` }), allowed: allRoles },
    {
      what: "delete a contact",
      call: (at, made) => ({ method: "DELETE", path: `${at}/contacts/${made.contact.id}` }),
      allowed: administrators,
    },
    {
      what: "read the secret of callbacks",
      call: (at) => ({ path: `${at}/callback-secret` }),
      allowed: administrators,
    },
    {
      what: "change the secret of callbacks",
      call: (at) => ({ method: "POST", path: `${at}/callback-secret/rotate` }),
      allowed: administrators,
    },
    {
      what: "read what became of callbacks",
      call: (at) => ({ path: `${at}/callbacks/deliveries` }),
      allowed: allRoles,
    },
    { what: "list webhooks", call: (at) => ({ path: `${at}/webhooks` }), allowed: allRoles },
    { what: "list connections", call: (at) => ({ path: `${at}/connections` }), allowed: allRoles },
    {
      what: "read a number",
      call: (at, made) => ({ path: `${at}/numbers/${made.number.id}` }),
      allowed: allRoles,
    },
    {
      what: "read a connection",
      call: (at, made) => ({ path: `${at}/numbers/${made.number.id}/connection` }),
      allowed: allRoles,
    },
    {
      what: "pause a number",
      call: (at, made) => ({
        method: "POST",
        path: `${at}/numbers/${made.number.id}/pause`,
        json: {},
      }),
      allowed: administrators,
    },
    {
      what: "cancel messages",
      call: (at) => ({ method: "POST", path: `${at}/messages/cancel`, json: { ids: [987_654] } }),
      allowed: allRoles,
    },
    {
      what: "remove a number",
      call: (at, made) => ({ method: "DELETE", path: `${at}/numbers/${made.number.id}` }),
      allowed: administrators,
    },
    {
      what: "delete the workspace",
      call: (at) => ({ method: "DELETE", path: at }),
      allowed: ["owner"],
    },
  ]

  layer(layerService())("over real sockets", (it) => {
    for (const { what, call, allowed } of operations) {
      for (const role of allRoles) {
        const may = allowed.includes(role)
        it.effect(`${role} ${may ? "may" : "may not"} ${what}`, () =>
          Effect.gen(function* () {
            const workspace = yield* aWorkspace()
            const made = {
              number: yield* aNumber(workspace),
              contact: yield* aContact(workspace, { phone: "+15550001113" }),
            }
            const answer = yield* operate({
              ...call(`${root}/${workspace.id}`, made),
              headers: [["Acting-Role", role]],
            })
            if (may) {
              assert.isBelow(answer.status, 300, answer.text)
            } else {
              assert.strictEqual(answer.status, 403)
              assert.strictEqual(errorOf(answer).code, "role_required")
            }
          }),
        )
      }
    }
  })
})
