/** Every way of mounting answers as the service does, over real sockets, and leaves other paths alone. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createRequire } from "node:module"
import type express from "express"
import { bareNode } from "../src/bareNode.ts"
import type { Mounted } from "../src/mounted.ts"
import { withExpress } from "../src/withExpress.ts"
import { withFastify } from "../src/withFastify.ts"
import { withHono } from "../src/withHono.ts"
import { withKoa } from "../src/withKoa.ts"
import { withNest } from "../src/withNest.ts"
import { answersAsTheService, operatorToken } from "./mountedService.ts"

/** It comes without types; those of version 5 hold for what the example uses. */
const express4 = createRequire(import.meta.url)("express-4") as typeof express

const ways: Readonly<Record<string, (operatorToken: string) => Promise<Mounted>>> = {
  "node:http": bareNode,
  "Express 5": (token) => withExpress(token),
  "Express 4": (token) => withExpress(token, express4),
  Fastify: withFastify,
  Hono: withHono,
  Koa: withKoa,
  NestJS: withNest,
}

for (const [name, mount] of Object.entries(ways)) {
  describe(`mounted in ${name}`, () => {
    it.live("sends a message from `queued` to `sent`, and leaves other paths to the server", () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.acquireRelease(
          Effect.promise(() => mount(operatorToken)),
          ({ stop }) => Effect.promise(stop),
        )
        yield* answersAsTheService(url)
        const own = yield* Effect.promise(async () => (await fetch(`${url}/`)).text())
        assert.strictEqual(own, "my own page")
      }).pipe(Effect.scoped),
    )
  })
}
