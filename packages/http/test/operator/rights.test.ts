/**
 * Who may do what (contract: Who may do what): every operation of the operator API is asked for by each
 * kind of caller. An operation without a line in the table fails.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Doors, errorOf } from "../Doors.ts"
import { operationsOf, served } from "../openapi/Document.ts"
import { aWorkspace } from "../Records.ts"
import { layerService } from "../Service.ts"
import { aSession, callers as all } from "./sessionCookies.ts"
import type { Caller } from "./sessionCookies.ts"

const operator: ReadonlyArray<Caller> = ["operator"]
const owners: ReadonlyArray<Caller> = ["operator", "owner"]
const administrators: ReadonlyArray<Caller> = ["operator", "owner", "administrator"]
const everyone: ReadonlyArray<Caller> = all

const table: Readonly<Record<string, ReadonlyArray<Caller>>> = {
  signIn: everyone,
  getSession: everyone,
  signOut: everyone,
  createSignInLink: operator,

  createPortalSession: owners,
  listPortalSessions: owners,
  revokePortalSession: owners,

  createWorkspace: operator,
  listWorkspaces: operator,
  getWorkspace: everyone,
  readFigures: everyone,
  readServiceFigures: operator,
  updateWorkspace: operator,
  deleteWorkspace: operator,

  // Of version 2 only for owners, as the body says.
  createKey: administrators,
  listKeys: administrators,
  revokeKey: administrators,

  streamNews: everyone,

  createContact: administrators,
  listContacts: everyone,
  deleteContact: administrators,

  createNumber: operator,
  listWorkspaceNumbers: everyone,
  getWorkspaceNumber: everyone,
  linkNumber: administrators,
  updateNumber: administrators,
  deleteNumber: administrators,
  listConnections: everyone,
  getConnection: everyone,
  pauseNumber: administrators,
  resumeNumber: administrators,
  checkProxy: operator,
  logOutNumber: administrators,
  beginTelegramLogin: administrators,
  getTelegramLogin: administrators,
  cancelTelegramLogin: administrators,
  giveTelegramCode: administrators,
  giveTelegramPassword: administrators,

  listWorkspaceMessages: everyone,
  sendWorkspaceMessage: everyone,
  sendWorkspaceBatch: everyone,
  getWorkspaceMessage: everyone,
  getMessageTimeline: everyone,
  cancelWorkspaceMessages: everyone,
  cancelWorkspaceMessage: everyone,

  createWorkspaceReminder: administrators,
  listWorkspaceReminders: everyone,
  getWorkspaceReminder: everyone,
  updateWorkspaceReminder: administrators,
  deleteWorkspaceReminder: administrators,
  listReminderRuns: everyone,
  previewReminder: everyone,
  runReminder: administrators,

  uploadWorkspaceMedia: everyone,
  listWorkspaceMedia: everyone,
  getWorkspaceMedia: everyone,
  deleteWorkspaceMedia: everyone,

  createWorkspaceNumberCheck: everyone,
  listWorkspaceNumberChecks: everyone,
  getWorkspaceNumberCheck: everyone,
  listWorkspaceNumberCheckResults: everyone,

  listWorkspaceWebhooks: everyone,
  createWorkspaceWebhook: administrators,
  deleteWorkspaceWebhook: administrators,
  rotateWorkspaceWebhookSecret: administrators,
  testWorkspaceWebhook: administrators,
  updateWorkspaceWebhook: administrators,
  listDeliveries: everyone,
  getDelivery: administrators,
  recoverEvents: administrators,
  resumeWebhook: administrators,
  redeliverEvent: administrators,
  listCallbackDeliveries: everyone,
  getCallbackSecret: administrators,
  rotateCallbackSecret: administrators,

  storeRestored: operator,
  listHeldWorkspaces: operator,
  listHeld: operator,
  releaseHeld: operator,
  cancelHeld: operator,
  markHeldSent: operator,

  getBehaviour: operator,
  setBehaviour: operator,
  scanCode: operator,
  logOut: operator,
  getRegistered: operator,
  setRegistered: operator,
  tick: operator,
  listSent: operator,
  getClock: operator,
  advanceClock: operator,
  settle: operator,
}

/** What says that the caller may not. */
const refused = ["operator_required", "role_required", "session_ended", "workspace_not_found"]

const admitted = (status: number, code: string): boolean =>
  status !== 401 && !refused.includes(code)

describe("rights", () => {
  // Streams end at once.
  layer(layerService({ settings: { stopping: Effect.void } }))("over real sockets", (it) => {
    it.effect("every operation has a line in the table, and every line an operation", () =>
      Effect.gen(function* () {
        const ids = operationsOf(yield* served).flatMap(({ id, path }) =>
          path.startsWith("/admin/v1") ? id : [],
        )
        assert.sameMembers(ids, Object.keys(table))
      }),
    )

    for (const caller of all) {
      it.effect(
        `a session of ${caller === "operator" ? "the operator" : `a portal's ${caller}`} may do what the table says`,
        () =>
          Effect.gen(function* () {
            const { socket } = yield* Doors
            const operations = operationsOf(yield* served).filter(({ path }) =>
              path.startsWith("/admin/v1"),
            )
            for (const { id, method, path } of operations) {
              const workspace = yield* aWorkspace()
              const cookie = yield* aSession(caller, workspace.id)
              const pathIn =
                path === "/admin/v1/events" ? `${path}?workspace_id=${workspace.id}` : path
              const answer = yield* socket.call({
                method,
                path: pathIn
                  .replace("/workspaces/{id}", `/workspaces/${workspace.id}`)
                  .replaceAll(/\{\w+\}/g, "987654"),
                headers: [
                  ["cookie", cookie],
                  ["sec-fetch-site", "same-origin"],
                ],
                ...(["POST", "PUT", "PATCH"].includes(method) ? { body: "{" } : {}),
              })
              const code = answer.status < 400 ? "" : errorOf(answer).code
              const may = table[id]?.includes(caller) ?? false
              const isAdmitted = admitted(answer.status, code) || path === "/admin/v1/session"
              assert.strictEqual(isAdmitted, may, `${caller} ${id}: ${answer.status} ${code}`)
              if (!may) assert.strictEqual(answer.status, 403, answer.text)
            }
          }),
      )
    }
  })
})
