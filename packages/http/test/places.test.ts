/**
 * The number of requests in flight: of all customers, of one workspace, of the operator, and for
 * health and metrics.
 */
import { assert, describe, it } from "@effect/vitest"
import { Admission, Caller, RealTime, layerServices, sharedLimits } from "@messaging-service/core"
import type { KeyId, WorkspaceId } from "@messaging-service/core"
import { aStoredKey, aStoredWorkspace, storeChanged } from "@messaging-service/testkit"
import { Clock, Effect, Layer } from "effect"
import { toWebHandler } from "../src/index.ts"
import type { HttpServices } from "../src/index.ts"
import type { ErrorBody } from "./HttpTestClients.ts"
import { defaultSettings, layerPorts, operatorToken } from "./Service.ts"

const { operatorRequests, requests, watchingRequests } = sharedLimits

const toCaller = (workspaceId: number) =>
  Caller.ofKey(
    aStoredKey({
      id: workspaceId as KeyId,
      workspaceId: workspaceId as WorkspaceId,
      scopes: ["messages:send"],
    }),
    aStoredWorkspace({ id: workspaceId as WorkspaceId }),
  )

/** The interface with an admission that accepts every key; the key is its workspace's id. */
const aService = () => {
  const requested = { admissions: 0, pings: 0 }
  const store = { hangs: false }
  const layerAdmission = Layer.effect(
    Admission,
    Effect.map(Admission, (real) =>
      Admission.of({
        ...real,
        admitV2: (authorization) =>
          Effect.sync(() => {
            requested.admissions++
            return {
              caller: toCaller(Number(authorization?.slice("Bearer ".length))),
              rate: { limit: 60, remaining: 59, reset: 60, exceeded: false },
            }
          }),
        admitV1: ({ apiKey }) => Effect.sync(() => toCaller(Number(apiKey))),
      }),
    ),
  )
  const layerClockStore = storeChanged(({ system: real }) => ({
    system: {
      ...real,
      ping: Effect.suspend(() => {
        requested.pings++
        return store.hangs ? Effect.never : real.ping
      }),
    },
  }))
  const services: Layer.Layer<HttpServices> = layerAdmission.pipe(
    Layer.provideMerge(layerServices),
    Layer.provideMerge(layerClockStore),
    Layer.provideMerge(layerPorts),
    // A hanging call is awaited forever.
    Layer.provideMerge(
      Layer.succeed(RealTime, {
        sleep: () => Effect.never,
        stopwatch: Effect.succeed(() => 0),
        clockJumped: Effect.never,
        systemMillis: Clock.currentTimeMillis,
      }),
    ),
    Layer.orDie,
  )
  const { dispose, handler } = toWebHandler(services, { ...defaultSettings, emulator: null })
  const left = new AbortController()
  /** A request that nothing references is collected, with whatever it waits for. */
  const clients: Array<Request> = []

  /** A request with a body that never ends, until its client goes away. */
  const slow = (token: number | string, path = "/api/v2/messages") => {
    const request = new Request(`http://x${path}`, {
      method: "POST",
      signal: left.signal,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: new ReadableStream(),
      duplex: "half",
    } as RequestInit)
    clients.push(request)
    return handler(request)
  }
  const get = (path: string, token: number | string) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = new Request(`http://x${path}`, { headers, signal: left.signal })
    clients.push(request)
    return handler(request)
  }
  const me = (workspace: number) => get("/api/v2/me", workspace)
  const meV1 = (workspace: number) =>
    handler(
      new Request("http://x/api/v1/me/", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ client_id: 1, api_key: String(workspace) }),
      }),
    )
  return {
    requests: requested,
    clients,
    store,
    slow,
    get,
    me,
    meV1,
    leave: () => left.abort(),
    dispose,
  }
}

type Service = ReturnType<typeof aService>

/** Tests a service, and leaves nothing of it behind. */
const within = (test: (service: Service) => Promise<void>) =>
  Effect.promise(async () => {
    const service = aService()
    try {
      await test(service)
    } finally {
      service.leave()
      await service.dispose()
    }
  })

/** Runs pending work, so that released permits are free. */
const tick = () => new Promise((resolve) => setImmediate(resolve))

const workspaces = requests.whole / requests.share.most

describe("the requests in flight", () => {
  it.effect("above the service's total are refused before any work, in each version", () =>
    within(async ({ requests: request, get, leave, me, meV1, slow }) => {
      await me(1)
      request.admissions = 0
      const all = Array.from({ length: requests.whole }, (_, index) => slow(index % workspaces))
      await tick()
      assert.strictEqual(request.admissions, requests.whole)

      const refused = await me(99)
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "1"])
      const { error } = (await refused.json()) as { readonly error: ErrorBody }
      assert.strictEqual(error.code, "service_unavailable")
      assert.strictEqual(error.request_id, refused.headers.get("x-request-id"))
      const refusedV1 = await meV1(99)
      assert.deepStrictEqual([refusedV1.status, refusedV1.headers.get("retry-after")], [503, "1"])
      assert.deepStrictEqual(await refusedV1.json(), { status: 0, message: "Service unavailable" })
      assert.strictEqual((await get("/docs/errors", "")).status, 503)
      assert.strictEqual(request.admissions, requests.whole)

      // The operator API, and health and metrics, have permits of their own.
      assert.strictEqual((await get("/admin/v1/workspaces", operatorToken)).status, 200)
      for (const path of ["/health/live", "/health/ready", "/metrics"]) {
        assert.strictEqual((await get(path, "")).status, 200, path)
      }

      leave()
      await Promise.allSettled(all)
      assert.strictEqual((await me(99)).status, 200)
    }),
  )

  it.effect("of one workspace leave room for others: above its share they are refused", () =>
    within(async ({ leave, me, meV1, slow }) => {
      await me(1)
      const all = Array.from({ length: requests.share.most }, () => slow(7))
      await tick()
      const refused = await me(7)
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "1"])
      const { error } = (await refused.json()) as { readonly error: ErrorBody }
      assert.strictEqual(error.code, "service_unavailable")
      assert.match(error.message, /^The workspace /)
      assert.strictEqual((await meV1(7)).status, 503)
      for (const other of [me(8), meV1(8)]) assert.strictEqual((await other).status, 200)

      leave()
      await Promise.allSettled(all)
      for (const again of [me(7), meV1(7)]) assert.strictEqual((await again).status, 200)
    }),
  )

  it.effect("of the operator are refused above their own limit, and customers' are not", () =>
    within(async ({ get, leave, me, slow }) => {
      const workspaces = "/admin/v1/workspaces"
      await get(workspaces, operatorToken)
      const all = Array.from({ length: operatorRequests.whole - 1 }, () =>
        slow(operatorToken, workspaces),
      )
      await tick()
      assert.strictEqual((await get(workspaces, operatorToken)).status, 200)
      all.push(slow(operatorToken, workspaces))
      await tick()
      const refused = await get(workspaces, operatorToken)
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "1"])
      // Before any work: not even the token is checked.
      assert.strictEqual((await get(workspaces, "wrong")).status, 503)
      assert.strictEqual((await me(1)).status, 200)

      leave()
      await Promise.allSettled(all)
    }),
  )

  it.effect("for health and metrics are refused above their own limit, and others are not", () =>
    within(async ({ requests: request, get, leave, me, store }) => {
      await get("/health/ready", "")
      store.hangs = true
      request.pings = 0
      const all = Array.from({ length: watchingRequests.whole - 1 }, () => get("/health/ready", ""))
      await tick()
      assert.strictEqual((await get("/health/live", "")).status, 200)
      all.push(get("/health/ready", ""))
      await tick()
      for (const path of ["/health/live", "/health/ready", "/metrics"]) {
        const refused = await get(path, "")
        const received = [refused.status, refused.headers.get("retry-after")]
        assert.deepStrictEqual(received, [503, "1"], path)
      }
      assert.strictEqual(request.pings, watchingRequests.whole)
      assert.strictEqual((await me(1)).status, 200)

      leave()
      await Promise.allSettled(all)
    }),
  )

  it.effect("release their permits when answered, refused or abandoned", () =>
    within(async ({ get, me }) => {
      for (let request = 0; request < 2 * requests.whole; request++) {
        await get(["/api/v2/me", "/api/v2/media/1", "/qr/none.png"][request % 3] ?? "", 7)
      }
      assert.strictEqual((await me(7)).status, 200)
    }),
  )
})
