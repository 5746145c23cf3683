import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorOf } from "../Doors.ts"
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

  it.effect("of an unknown or deleted workspace is workspace_not_found", () =>
    Effect.gen(function* () {
      const gone = yield* aWorkspace()
      yield* operate({ method: "DELETE", path: `/admin/v1/workspaces/${gone.id}` })
      for (const workspace of [gone, { id: 999_999 }]) {
        for (const call of [
          { path: pathOf(workspace) },
          { method: "POST", path: `${pathOf(workspace)}/rotate` },
        ]) {
          const answer = yield* operate(call)
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(errorOf(answer).code, "workspace_not_found")
        }
      }
    }),
  )
})
