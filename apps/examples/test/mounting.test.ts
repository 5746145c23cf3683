/**
 * Every way of mounting answers as the service does, over real sockets, beside the server's own. That with
 * Express is a program of the page on embedding, which is run where those are.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bareNode } from "../src/bareNode.ts"
import type { Mounted } from "../src/mounted.ts"
import { withFastify } from "../src/withFastify.ts"
import { withHono } from "../src/withHono.ts"
import { withNest } from "../src/withNest.ts"
import { answersAsTheService, operatorToken } from "./mountedService.ts"

const ways: Readonly<Record<string, (operatorToken: string) => Promise<Mounted>>> = {
  "node:http": bareNode,
  Fastify: withFastify,
  Hono: withHono,
  NestJS: withNest,
}

for (const [name, mount] of Object.entries(ways)) {
  describe(`mounted in ${name}`, () => {
    it.live("a message goes from `queued` to `sent`, and other paths stay the server's own", () =>
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
