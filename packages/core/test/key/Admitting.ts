/** An admission over one stored key and workspace, with defaults for everything else. */
import { aStoredKey, aStoredWorkspace, storeWith } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Admission } from "../../src/service/Keys.ts"
import type { AdmitQuery, AdmitV1Query, ApiKey } from "../../src/model/Auth.ts"
import { hashSecret } from "../../src/model/Secrets.ts"
import type { Workspace } from "../../src/model/Workspace.ts"

/** 2026-03-02T12:34:56.789Z */
export const now = Date.UTC(2026, 2, 2, 12, 34, 56, 789)

export const minute = 60_000

export const address = "192.0.2.1"

export const secret = `svc_live_${"A".repeat(38)}`

export const unknown = `svc_live_${"B".repeat(38)}`

export const version1 = "a1".repeat(20)

export interface Stored {
  readonly key?: ApiKey
  readonly workspace?: Workspace
}

/** Stores one key, `secret`, and counts as the port specifies. */
const fakeStore = (
  { key = aStoredKey(), workspace = aStoredWorkspace() }: Stored,
  admits: boolean,
) => {
  const requestedV1: Array<AdmitV1Query> = []
  const requests: Array<AdmitQuery> = []
  let counted = 0
  const layer = storeWith({
    workspaces: {
      admit: (query) =>
        Effect.sync(() => {
          requests.push(query)
          if (query.hash !== hashSecret(secret) || query.version !== 2) return null
          if (!admits) return { key, workspace, count: null }
          counted++
          return { key, workspace, count: { minute: counted, day: counted } }
        }),
      admitV1: (query) =>
        Effect.sync(() => {
          requestedV1.push(query)
          if (query.hash !== hashSecret(version1) || key.version !== 1) return null
          if (!admits) return { key, workspace, count: null }
          counted++
          return { key, workspace, count: counted }
        }),
    },
  })
  return { requests, requestedV1, counted: () => counted, layer }
}

export const admission = (stored: Stored = {}, admits = true) => {
  const store = fakeStore(stored, admits)
  const service = Effect.gen(function* () {
    yield* TestClock.setTime(now)
    return yield* Admission
  }).pipe(Effect.provide(Admission.layer.pipe(Layer.provide(store.layer))))
  return { store, service }
}

export const bearer = (token: string) => `Bearer ${token}`
