import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"

const toPath = (workspace: Created) => `/admin/v1/workspaces/${workspace.id}/callback-secret`

const read = (workspace: Created) =>
  Effect.map(operate({ path: toPath(workspace) }), (answer) => expectBody<object>(answer, 200))

const rotate = (workspace: Created) =>
  Effect.map(operate({ method: "POST", path: `${toPath(workspace)}/rotate` }), (answer) =>
    expectBody<object>(answer, 200),
  )

const getSecret = (body: object): string => {
  assert.deepStrictEqual(Object.keys(body), ["secret"])
  const { secret } = body as { readonly secret: string }
  assert.match(secret, /^[0-9a-f]{64}$/)
  return secret
}

layer(layerService())("the secret of version 1 callbacks", (it) => {
  it.effect("exists from the start, 64 hexadecimal characters, different in each workspace", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const secret = getSecret(yield* read(workspace))
      assert.strictEqual(getSecret(yield* read(workspace)), secret)
      assert.notStrictEqual(getSecret(yield* read(yield* aWorkspace())), secret)
    }),
  )

  it.effect("changes with each rotation, in that workspace alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const bystander = yield* aWorkspace()
      const before = getSecret(yield* read(workspace))
      const others = getSecret(yield* read(bystander))
      const first = getSecret(yield* rotate(workspace))
      assert.notStrictEqual(first, before)
      assert.strictEqual(getSecret(yield* read(workspace)), first)
      const second = getSecret(yield* rotate(workspace))
      assert.isFalse([before, first].includes(second))
      assert.strictEqual(getSecret(yield* read(workspace)), second)
      assert.strictEqual(getSecret(yield* read(bystander)), others)
    }),
  )
})
