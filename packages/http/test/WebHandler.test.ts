import { assert, describe, it } from "@effect/vitest"
import { Admission, Ids, PublicUrl, StoreUnavailable, layerServices } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { toWebHandler } from "../src/index.ts"
import type { HttpServices } from "../src/index.ts"
import { defaultSettings, layerPorts, operatorToken } from "./Service.ts"

const embedded: Layer.Layer<HttpServices> = layerServices.pipe(
  Layer.provideMerge(layerPorts),
  Layer.orDie,
)

const settings = { ...defaultSettings, emulator: null }

describe("the web-standard handler", () => {
  it.effect("serves the whole interface in any server that mounts it", () =>
    Effect.promise(async () => {
      const { dispose, handler } = toWebHandler(embedded, settings)
      const operator = { authorization: `Bearer ${operatorToken}` }
      const created = await handler(
        new Request("https://shop.test/admin/v1/workspaces", {
          method: "POST",
          headers: { ...operator, "content-type": "application/json" },
          body: JSON.stringify({ name: "Embedded" }),
        }),
      )
      assert.strictEqual(created.status, 201)
      const { id } = (await created.json()) as { readonly id: number }
      const read = await handler(
        new Request(`https://shop.test/admin/v1/workspaces/${id}`, { headers: operator }),
      )
      assert.strictEqual(read.status, 200)
      assert.strictEqual(((await read.json()) as { readonly name: string }).name, "Embedded")
      await dispose()
    }),
  )

  it.effect("dispose ends everything that the layer started, once", () =>
    Effect.promise(async () => {
      const ended: Array<string> = []
      const withWork = Layer.effectDiscard(
        Effect.addFinalizer(() => Effect.sync(() => ended.push("work"))),
      ).pipe(Layer.provideMerge(embedded))
      const { dispose, handler } = toWebHandler(withWork, settings)
      assert.strictEqual((await handler(new Request("http://x/health/live"))).status, 200)
      assert.deepStrictEqual(ended, [])
      await Promise.all([dispose(), dispose()])
      assert.deepStrictEqual(ended, ["work"])
    }),
  )

  it.effect("requests wait while the layer is being built", () =>
    Effect.promise(async () => {
      const slow = Layer.unwrap(Effect.as(Effect.sleep("20 millis"), embedded))
      const { dispose, handler } = toWebHandler(slow, settings)
      assert.strictEqual((await handler(new Request("http://x/health/ready"))).status, 200)
      await dispose()
    }),
  )

  it.effect("every request rejects with the reason why the layer could not be built", () =>
    Effect.promise(async () => {
      const failing: Layer.Layer<HttpServices, StoreUnavailable> = Layer.unwrap(
        Effect.fail(new StoreUnavailable({ operation: "connect", cause: null })),
      )
      const { dispose, handler } = toWebHandler(failing, settings)
      for (let request = 0; request < 2; request++) {
        const outcome = await handler(new Request("http://x/nothing")).then(
          () => "answered",
          (error: unknown) => String(error),
        )
        assert.include(outcome, "did not answer: connect")
      }
      await dispose()
    }),
  )

  it.effect("a requested emulator must be among the services", () =>
    Effect.promise(async () => {
      const { dispose, handler } = toWebHandler(embedded, defaultSettings)
      const outcome = await handler(new Request("http://x/nothing")).then(
        () => "answered",
        (error: unknown) => String(error),
      )
      assert.include(outcome, "HttpOptions.emulator")
      await dispose()
    }),
  )

  it.effect("a client that gives up ends its request", () =>
    Effect.promise(async () => {
      let interrupted = false
      let started: () => void = () => undefined
      const began = new Promise<void>((resolve) => (started = resolve))
      const hanging = Layer.effect(
        Admission,
        Effect.map(Admission, (admission) =>
          Admission.of({
            ...admission,
            admitV2: () =>
              Effect.sync(started).pipe(
                Effect.andThen(Effect.never),
                Effect.onInterrupt(() => Effect.sync(() => void (interrupted = true))),
              ),
          }),
        ),
      ).pipe(Layer.provideMerge(embedded))
      const { dispose, handler } = toWebHandler(hanging, settings)
      const controller = new AbortController()
      const answer = handler(new Request("http://x/api/v2/me", { signal: controller.signal }))
      await began
      controller.abort()
      assert.strictEqual((await answer).status, 499)
      assert.isTrue(interrupted)
      await dispose()
    }),
  )

  it.effect("links in messages begin with the same origin as those in errors", () =>
    Effect.promise(async () => {
      const origins: Array<string> = []
      const curious = Layer.effectDiscard(
        Effect.map(PublicUrl, (origin) => origins.push(origin)),
      ).pipe(Layer.provideMerge(embedded))
      for (const publicUrl of ["https://one.test", Effect.succeed("https://two.test")]) {
        const { dispose, handler } = toWebHandler(curious, { ...settings, publicUrl })
        const answer = await handler(new Request("http://x/nothing"))
        const { error } = (await answer.json()) as { readonly error: { readonly docs: string } }
        assert.isTrue(error.docs.startsWith(`${origins.at(-1)}/`))
        await dispose()
      }
      assert.deepStrictEqual(origins, ["https://one.test", "https://two.test"])
    }),
  )

  it.effect("takes ids from the layer, whatever their source", () =>
    Effect.promise(async () => {
      const fixed: typeof Ids.Service = {
        alphanumeric: (size) => "7".repeat(size),
        hex: (size) => "7".repeat(size),
      }
      const counted = embedded.pipe(Layer.merge(Layer.succeed(Ids, fixed)))
      const { dispose, handler } = toWebHandler(counted, settings)
      const answer = await handler(new Request("http://x/nothing"))
      assert.strictEqual(answer.headers.get("x-request-id"), `req_${"7".repeat(24)}`)
      await dispose()
    }),
  )
})
