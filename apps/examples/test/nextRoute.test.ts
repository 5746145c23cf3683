/** The route of `src/next`, without Next: what a build, an edit and another instance do to it. */
import { assert, onTestFinished, test, vi } from "vitest"
import type { Messaging } from "@messaging-service/service"

const stored = globalThis as typeof globalThis & { messaging?: Promise<Messaging> | undefined }

/** Loads the route again, as a build does, and the server of a developer after an edit. */
const route = () => {
  vi.resetModules()
  return import("../src/next/app/messaging/[...path]/route.ts")
}

test("a build opens nothing, and an edit keeps the service that is open", async () => {
  onTestFinished(async () => {
    await (await stored.messaging)?.close()
    delete stored.messaging
  })
  const built = await route()
  assert.isUndefined(stored.messaging)
  const request = new Request("https://shop.example.com/messaging/health/live")
  assert.strictEqual((await built.GET(request)).status, 200)
  const first = await stored.messaging
  const edited = await route()
  assert.notStrictEqual(edited.GET, built.GET)
  assert.strictEqual((await edited.GET(request)).status, 200)
  assert.strictEqual(await stored.messaging, first)
})
