/**
 * The bytes of bodies that are read before their caller is known: version 1 may have its credentials
 * anywhere in a form, behind a file of 64 MiB too (sharedResources: unknownCallersBytes). All calls
 * together hold no more of them than the whole; a call lets go of its own when its caller is known
 * or when it ends.
 */
import { refuse, sharedResources } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"

/** Bytes of each body that are not counted: more than a call without a file needs. */
const uncounted = 64 * 1024

/** Seconds after which a caller may try again. */
const retryAfter = 5

const busy = refuse("service_unavailable", { retryAfter })

/** What one call has read of its body. */
interface UnknownCaller {
  /** Counts bytes that came. Fails with `service_unavailable` when there is no room for them. */
  readonly take: (bytes: number) => Effect.Effect<void, Refusal>
  /** The caller is known: nothing is held, and nothing counted from now on. */
  readonly known: Effect.Effect<void>
}

/** Makes the count that the calls of one process share. */
export const makeUnknownCallers = () => {
  const { whole } = sharedResources.unknownCallersBytes
  let held = 0

  /** A call; it ends with the scope. */
  const open: Effect.Effect<UnknownCaller, never, Scope.Scope> = Effect.gen(function* () {
    let read = 0
    let own = 0
    let isKnown = false
    const known = Effect.sync(() => {
      isKnown = true
      held -= own
      own = 0
    })
    yield* Effect.addFinalizer(() => known)

    const take = (bytes: number): Effect.Effect<void, Refusal> =>
      Effect.suspend(() => {
        if (isKnown) return Effect.void
        read += bytes
        const more = Math.max(read - uncounted, 0) - own
        // A call that is alone may always go on: bounds of its own end it.
        if (held > own && held + more > whole) return Effect.fail(busy)
        own += more
        held += more
        return Effect.void
      })
    return { take, known }
  })

  return { open }
}
