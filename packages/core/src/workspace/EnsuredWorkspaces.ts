/**
 * The workspace of a name, made if there is none, with the numbers that it needs: for programs that
 * run the service and say at every start what they need, in several processes at once too. Everything is
 * looked at before anything is made, and the store does it in one step.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { Failure } from "../error/Refusal.ts"
import { ConnectedFromTheStart, NumberBody, newNumber } from "../number/Numbers.ts"
import { StartingPacing } from "../number/Pacing.ts"
import { platforms } from "../number/SendingNumber.ts"
import { inputDecoder } from "../request/Input.ts"
import type { Workspace } from "./Workspace.ts"
import { WorkspaceBody, newWorkspace } from "./Workspaces.ts"
import { WorkspaceStore } from "./WorkspaceStore.ts"
import type { WantedNumber } from "./WorkspaceStore.ts"

const EnsureBody = Schema.Struct({
  ...WorkspaceBody.fields,
  numbers: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        ...NumberBody.fields,
        platform: Schema.optionalKey(Schema.Literals(platforms)),
      }),
    ),
  ),
})

/** A workspace that is to be there, and the numbers that it is to have; those of WhatsApp unless they say otherwise. */
export type EnsureWorkspace = typeof EnsureBody.Encoded

const decode = inputDecoder(EnsureBody)

export class EnsuredWorkspaces extends Context.Service<
  EnsuredWorkspaces,
  {
    /**
     * The oldest workspace of that name; when there is none, one is made as the command says. A number
     * that it does not have yet (by platform and phone) is added; others, and whatever else the
     * workspace is by now, stay as they are. Concurrent calls make one workspace. Fails as
     * `Workspaces.create` and `Numbers.create` do, with the number in the field (`numbers[1].phone`),
     * and makes nothing then.
     */
    ensure(command: EnsureWorkspace): Effect.Effect<Workspace, Failure>
  }
>()("core/EnsuredWorkspaces") {
  static readonly layer = Layer.effect(
    EnsuredWorkspaces,
    Effect.gen(function* () {
      const store = yield* WorkspaceStore
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const startingPacing = yield* StartingPacing

      return EnsuredWorkspaces.of({
        ensure: Effect.fn("EnsuredWorkspaces.ensure")(function* (command) {
          const { numbers = [], ...input } = yield* Effect.fromResult(decode(command))
          const createdAt = yield* Clock.currentTimeMillis
          const wanted: Array<WantedNumber> = []
          for (const [index, { platform = "whatsapp", ...number }] of numbers.entries()) {
            const field = `numbers[${index}].status`
            wanted.push({
              number: yield* Effect.fromResult(
                newNumber({ ...number, platform }, { connectedFromTheStart, createdAt }, field),
              ),
              pacing: startingPacing[platform],
            })
          }
          const { admits, workspace } = newWorkspace(input, createdAt)
          return yield* store.ensure(workspace, admits, wanted)
        }),
      })
    }),
  )
}
