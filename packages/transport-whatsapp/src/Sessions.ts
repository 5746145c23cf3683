/**
 * The connections of linked numbers. A device that was linked and that the core has not taken is logged
 * out again.
 */
import { makeLiveNumbers, retryUntilStoreAnswers, SessionVault } from "@messaging-service/core"
import type { LiveNumbers, NumberId, NumberStatus } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import { digitsOf } from "./addresses.ts"
import { confirm, fromText, isUnconfirmed, keptKeys } from "./authState.ts"
import { makeConnect } from "./keepConnected.ts"
import { sweepLeftFiles } from "./leftFiles.ts"
import { logOutThere } from "./OpenSession.ts"
import type { OpenSession } from "./OpenSession.ts"
import type { WhatsAppSettings } from "./settings.ts"

interface LinkedNumbers extends LiveNumbers<OpenSession> {
  /**
   * The phone of a link that was made and that the core does not know of, since the process ended or
   * the store failed meanwhile: its digits; null when there is none.
   */
  unconfirmed(numberId: NumberId): Effect.Effect<string | null>
  /** The core has taken the link. What becomes of a new link is told only to its caller before that. */
  announce(numberId: NumberId): Effect.Effect<void>
}

export class Sessions extends Context.Service<Sessions, LinkedNumbers>()(
  "transport-whatsapp/Sessions",
) {
  static readonly layer = (settings: WhatsAppSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault

  const announce = Effect.fnUntraced(function* (numberId: NumberId) {
    const live = numbers.find(numberId)
    if (live === undefined || live.told || live.leaves) return
    live.told = true
    const { reason, state } = live.status
    if (live.open !== null) {
      confirm(live.open.connection.credentials)
      live.open.connection.credentialsChanged()
    } else if (state === "disconnected" && reason !== null) {
      // It ended before the core had taken the link, which was not told yet.
      yield* Effect.forkDetach(
        numbers.take({
          _tag: "ConnectionChanged",
          numberId,
          status: state,
          phone: null,
          reason,
        }),
      )
    }
  })

  /** A link that was made, and of which it is not known here whether the core has taken it. */
  const settleLink = (numberId: NumberId, status: NumberStatus) =>
    status === "connected" ? announce(numberId) : numbers.logOut(numberId)

  const numbers: LiveNumbers<OpenSession> = yield* makeLiveNumbers({
    platform: "whatsapp",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    remembersWiped: true,
    meansLoggedOut: [],
    logOut: logOutThere,
    instead: ({ leavingSince, numberId, status }, live) => {
      // The attempt at linking has it.
      if (status === "connecting") return Effect.void
      const isNew = leavingSince === null && live?.told === false
      return isNew ? settleLink(numberId, status) : null
    },
  })

  return Sessions.of({
    ...numbers,
    listen: (take) => Effect.raceFirst(numbers.listen(take), sweepLeftFiles),
    unconfirmed: (numberId) =>
      retryUntilStoreAnswers(vault.credentials(numberId)).pipe(
        Effect.map((text) => {
          if (text === null) return null
          const credentials = fromText(text)
          return isUnconfirmed(credentials) ? digitsOf(credentials.me?.id ?? "") : null
        }),
        // What an older secrets key sealed is gone, and is no link to go on with.
        Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
      ),
    announce,
  })
})
