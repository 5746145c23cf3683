import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aWorkspace, bodyOf, operate } from "../Records.ts"
import type { Made } from "../Records.ts"

const pathOf = (workspace: Made) => `/admin/v1/workspaces/${workspace.id}/callback-secret`

const read = (workspace: Made) =>
  Effect.map(operate({ path: pathOf(workspace) }), (answer) => bodyOf<object>(answer, 200))

const rotate = (workspace: Made) =>
  Effect.map(operate({ method: "POST", path: `${pathOf(workspace)}/rotate` }), (answer) =>
    bodyOf<object>(answer, 200),
  )

const secretOf = (body: object): string => {
  assert.deepStrictEqual(Object.keys(body), ["secret"])
  const { secret } = body as { readonly secret: string }
  assert.match(secret, /^[0-9a-f]{64}$/)
  return secret
}

layer(layerService())("the secret of version 1 callbacks", (it) => {
  it.effect("exists from the start, 64 hexadecimal characters, different in each workspace", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const secret = secretOf(yield* read(workspace))
      assert.strictEqual(secretOf(yield* read(workspace)), secret)
      assert.notStrictEqual(secretOf(yield* read(yield* aWorkspace())), secret)
    }),
  )

  it.effect("changes with each rotation, in that workspace alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const bystander = yield* aWorkspace()
      const before = secretOf(yield* read(workspace))
      const others = secretOf(yield* read(bystander))
      const first = secretOf(yield* rotate(workspace))
      assert.notStrictEqual(first, before)
      assert.strictEqual(secretOf(yield* read(workspace)), first)
      const second = secretOf(yield* rotate(workspace))
      assert.isFalse([before, first].includes(second))
      assert.strictEqual(secretOf(yield* read(workspace)), second)
      assert.strictEqual(secretOf(yield* read(bystander)), others)
    }),
  )
})
