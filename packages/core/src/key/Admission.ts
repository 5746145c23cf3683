/**
 * Who is asking: from an `Authorization` header to the key and its workspace, or the contract's
 * refusal, in the order of `decisions.md`: key, workspace, rate limit. One round trip.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { dayStart, minuteStart, rateState, wrongKeysPerMinute } from "../request/RateWindow.ts"
import type { RateState } from "../request/RateWindow.ts"
import { refusalV2 } from "../workspace/Workspace.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { ApiKey, Scope } from "./ApiKey.ts"
import { KeyStore } from "./KeyStore.ts"
import type { Surface } from "./KeyStore.ts"
import { hashSecret, isKeyV1, isKeyV2, sameSecret } from "./secret.ts"

/** A request that got past key and workspace. */
export interface Caller {
  readonly key: ApiKey
  readonly workspace: Workspace
}

export interface AdmittedCaller {
  readonly caller: Caller
  /** Over the limit when `rate.exceeded`; shown in the answer either way. */
  readonly rate: RateState
}

/** The token of a bearer header; undefined when there is none, it is empty or of another scheme. */
export const bearerToken = (authorization: string | undefined): string | undefined => {
  const match = /^bearer +(\S(?:.*\S)?) *$/i.exec(authorization ?? "")
  return match?.[1]
}

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Admits a version 2 request. Fails with the refusals of keys and workspaces; the rate limit is
     * reported, not refused, because an unknown path still answers 404 above it.
     */
    admitV2(
      authorization: string | undefined,
      clientAddress: string,
    ): Effect.Effect<AdmittedCaller, Refusal | StoreUnavailable>
    /**
     * As `admitV2` for a request that will be answered 404 or 405 whatever its key: counts it when
     * the key is good, and counts no wrong key.
     */
    noteV2(
      authorization: string | undefined,
      clientAddress: string,
    ): Effect.Effect<RateState | null, StoreUnavailable>
    /** Checks the operator's token; wrong ones are counted by address. */
    admitOperator(
      authorization: string | undefined,
      operatorToken: string,
      clientAddress: string,
    ): Effect.Effect<void, Refusal | StoreUnavailable>
  }
>()("core/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* () {
      const store = yield* KeyStore

      /** Counts a credential that was never issued, and refuses with it or with the guard. */
      const wrong = (surface: Surface, address: string, refusal: Refusal) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const count = yield* store.countWrong(surface, address, minuteStart(now))
          return yield* count > wrongKeysPerMinute
            ? refuse("too_many_auth_failures", { retryAfter: 60 })
            : refusal
        })

      const lookUp = (token: string, clientAddress: string) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const admitted = yield* store.admit({
            hash: hashSecret(token),
            version: 2,
            now,
            minuteStart: minuteStart(now),
            dayStart: dayStart(now),
            clientAddress,
          })
          return { now, admitted }
        })

      /** The refusal of an issued key, if any. */
      const refusalOf = ({ key, workspace }: Caller, now: number): Refusal | undefined => {
        if (key.revokedAt !== null) return refuse("api_key_revoked")
        if (key.expiresAt !== null && key.expiresAt <= now) return refuse("api_key_expired")
        const code = refusalV2(workspace)
        return code === undefined ? undefined : refuse(code)
      }

      return Admission.of({
        admitV2: Effect.fn("Admission.admitV2")(function* (authorization, clientAddress) {
          const token = bearerToken(authorization)
          if (token === undefined) return yield* refuse("missing_api_key")
          if (isKeyV1(token)) return yield* wrong("v2", clientAddress, refuse("v1_key_on_v2"))
          if (!isKeyV2(token)) return yield* wrong("v2", clientAddress, refuse("invalid_api_key"))
          const { admitted, now } = yield* lookUp(token, clientAddress)
          if (admitted === null) return yield* wrong("v2", clientAddress, refuse("invalid_api_key"))
          const refusal = refusalOf(admitted, now)
          if (refusal !== undefined) return yield* refusal
          return {
            caller: { key: admitted.key, workspace: admitted.workspace },
            rate: rateState(admitted.count ?? { minute: 1, day: 1 }, now),
          }
        }),
        noteV2: Effect.fn("Admission.noteV2")(function* (authorization, clientAddress) {
          const token = bearerToken(authorization)
          if (token === undefined || !isKeyV2(token)) return null
          const { admitted, now } = yield* lookUp(token, clientAddress)
          if (admitted === null || refusalOf(admitted, now) !== undefined) return null
          return admitted.count === null ? null : rateState(admitted.count, now)
        }),
        admitOperator: Effect.fn("Admission.admitOperator")(
          function* (authorization, operatorToken, clientAddress) {
            const token = bearerToken(authorization)
            if (token === undefined) return yield* refuse("missing_operator_token")
            if (!sameSecret(token, operatorToken)) {
              return yield* wrong("operator", clientAddress, refuse("invalid_operator_token"))
            }
          },
        ),
      })
    }),
  )
}

/** Refuses a key that is limited to some numbers, where only whole workspaces are dealt with. */
export const requireUnlimited = (caller: Caller): Refusal | undefined =>
  caller.key.numberIds === null
    ? undefined
    : refuse("number_not_allowed", {
        message: "A key that is limited to some numbers cannot use webhook endpoints.",
      })

/** Refuses a caller whose key lacks the scope (contract: Authentication). */
export const requireScope = (caller: Caller, scope: Scope): Refusal | undefined =>
  caller.key.scopes.includes(scope)
    ? undefined
    : refuse("missing_scope", {
        message: `The key lacks the scope ${scope}.`,
        details: { required_scope: scope },
      })
