/** Uploads of rows and downloads of results at once. */
import { assert, it } from "@effect/vitest"
import { CampaignFiles, sharedLimits } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect, Exit, Scope } from "effect"

const { share, whole } = sharedLimits.campaignFiles

const enter = (workspace: number, scope: Scope.Scope) =>
  CampaignFiles.use((files) => files.enter(workspace as WorkspaceId)).pipe(
    Scope.provide(scope),
    Effect.as("entered"),
    Effect.catchTag("Refusal", ({ code }) => Effect.succeed(code)),
  )

it.effect("a workspace has its share, the process has a bound, and each end frees a place", () =>
  Effect.gen(function* () {
    const [first = yield* Scope.make(), ...others] = yield* Effect.replicateEffect(
      Scope.make(),
      whole,
    )
    for (const [at, scope] of [first, ...others].entries()) {
      const workspace = 1 + Math.floor(at / share.most)
      assert.strictEqual(yield* enter(workspace, scope), "entered")
    }
    const late = yield* Scope.make()
    assert.strictEqual(yield* enter(1, late), "rate_limited")
    assert.strictEqual(yield* enter(whole, late), "service_unavailable")
    yield* Scope.close(first, Exit.void)
    assert.strictEqual(yield* enter(1, late), "entered")
  }).pipe(Effect.provide(CampaignFiles.layer)),
)
