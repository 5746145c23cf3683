/**
 * The workspace of a name, made if there is none, with the numbers that it needs: for programs that
 * run the service and say at every start what they need, in several processes at once too.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Failure } from "../error/Refusal.ts"
import { Ids } from "../Ids.ts"
import { maximumLimit } from "../request/Page.ts"
import { canonicalJson } from "../request/canonicalJson.ts"
import { IdempotencyStore, fingerprint } from "../request/Idempotency.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { ConnectedFromTheStart, Numbers } from "../number/Numbers.ts"
import type { CreateNumber } from "../number/Numbers.ts"
import { parsePhone, phoneDigits } from "../recipient/Phone.ts"
import { sleep } from "../time/RealTime.ts"
import type { Workspace } from "./Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import type { CreateWorkspace } from "./Workspaces.ts"

/** Keys have ids above zero, and callers without one below: this is whose claims these are. */
const claimant = 0

/** How long to wait for another process that is ensuring the same name, in real milliseconds. */
const waitMillis = 25

export class EnsuredWorkspaces extends Context.Service<
  EnsuredWorkspaces,
  {
    /**
     * The oldest workspace of that name; when there is none, one is made as the command says. A number
     * that it does not have yet (by platform and phone) is added; others, and whatever else the
     * workspace is by now, stay as they are. Concurrent calls make one workspace. Fails as
     * `Workspaces.create` and `Numbers.create` do.
     */
    ensure(
      command: CreateWorkspace,
      numbers: ReadonlyArray<CreateNumber>,
    ): Effect.Effect<Workspace, Failure>
  }
>()("core/EnsuredWorkspaces") {
  static readonly layer = Layer.effect(
    EnsuredWorkspaces,
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      const numbers = yield* Numbers
      const claims = yield* IdempotencyStore
      const ids = yield* Ids
      const connectedFromTheStart = yield* ConnectedFromTheStart

      const oldestNamed = Effect.fnUntraced(function* (name: string) {
        let oldest: Workspace | null = null
        let cursor: string | null = null
        for (;;) {
          const page: { items: ReadonlyArray<Workspace>; next: string | null } =
            yield* workspaces.list({ limit: maximumLimit, ...(cursor === null ? {} : { cursor }) })
          oldest = page.items.findLast((workspace) => workspace.name === name) ?? oldest
          if (page.next === null) return oldest
          cursor = page.next
        }
      })

      const addMissing = Effect.fnUntraced(function* (
        { id }: Workspace,
        wanted: ReadonlyArray<CreateNumber>,
      ) {
        const present = [...(yield* numbers.list("owner", id))]
        for (const number of wanted) {
          const phone = typeof number?.phone === "string" ? parsePhone(number.phone) : undefined
          const isThere = present.some(
            (each) =>
              phone !== undefined &&
              each.phone === phoneDigits(phone) &&
              each.platform === number.platform,
          )
          if (isThere) continue
          const made = yield* numbers.create("owner", id, {
            status: connectedFromTheStart ? "connected" : "disconnected",
            ...number,
          })
          present.push(made)
        }
      })

      /** Holds the name against other processes. */
      const claimed = (claim: IdempotencyClaim): Effect.Effect<void, Failure> =>
        Effect.gen(function* () {
          const outcome = yield* claims.claim(claim, yield* Clock.currentTimeMillis)
          if (outcome._tag === "Claimed") return
          yield* sleep(waitMillis)
          yield* claimed(claim)
        })

      return EnsuredWorkspaces.of({
        ensure: Effect.fn("EnsuredWorkspaces.ensure")(function* (command, wanted) {
          const claim = {
            keyId: claimant,
            key: fingerprint("ENSURE", "workspaces", canonicalJson(command?.name)),
            fingerprint: "",
            token: ids.hex(16),
          }
          return yield* Effect.acquireUseRelease(
            claimed(claim),
            () =>
              Effect.gen(function* () {
                const found = yield* oldestNamed(command?.name)
                const workspace = found ?? (yield* workspaces.create("owner", command))
                yield* addMissing(workspace, wanted)
                return workspace
              }),
            () => Effect.ignore(claims.release(claim)),
          )
        }),
      })
    }),
  )
}
