/**
 * Who is asking: from an `Authorization` header, or version 1's credentials, to the key and its
 * workspace, or a refusal, in the order key, workspace, rate limit (contract: Order of checks). One
 * round trip.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure, Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import {
  dayStart,
  minuteStart,
  rateRefusal,
  rateRefusalV1,
  rateState,
} from "../request/RateWindow.ts"
import type { RateState } from "../request/RateWindow.ts"
import { hashSecret, sameSecret } from "../secret/hashing.ts"
import { refusalV1, refusalV2, workspaceOfClient } from "../workspace/Workspace.ts"
import { bearerToken, isKeyV1, isKeyV2, keyRefusal, KeyStore } from "./ApiKey.ts"
import type { Admitted } from "./ApiKey.ts"
import { Caller } from "./Caller.ts"
import type { KeyCaller } from "./Caller.ts"
import { makeWrongKeys } from "./WrongKeys.ts"
import type { Api } from "./WrongKeys.ts"

/** What a version 1 request brings (contract: Version 1: credentials). */
export interface CredentialsV1 {
  /** Null where the operation asks for none. */
  readonly clientId: number | null
  readonly apiKey: string
  readonly clientAddress: string
}

const tooManyWrong = refuse("too_many_auth_failures", { retryAfter: 60 })

/** A request that got past key, workspace and rate limit. */
export interface AdmittedCaller {
  readonly caller: KeyCaller
  readonly rate: RateState
}

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Admits a version 2 request, for one operation. Fails with the refusals of keys and workspaces,
     * and with `rate_limited`; `counted` is told the rate then too.
     */
    admitV2(
      authorization: string | undefined,
      clientAddress: string,
      counted?: (rate: RateState) => void,
    ): Effect.Effect<AdmittedCaller, Failure>
    /**
     * For a version 2 request that will be answered 404 or 405 whatever its key, also above the limit:
     * counts it when the key is good, and counts no wrong key.
     */
    noteV2(
      authorization: string | undefined,
      clientAddress: string,
    ): Effect.Effect<RateState | null, StoreUnavailable>
    /**
     * Admits a version 1 request. Fails with `invalid_api_key` (malformed, unknown, of version 2,
     * deleted, or of another workspace than `clientId` names), `too_many_auth_failures`,
     * `account_disabled`, `demo_account`, `rate_limited`.
     */
    admitV1(credentials: CredentialsV1): Effect.Effect<KeyCaller, Failure>
    /**
     * Checks the operator's token; wrong ones are counted by address. An address that sent too many is
     * refused before its token is compared, the right one too, until the minute is over: so it learns
     * nothing by going on. Where the address is not known (null) the right token is let in even then,
     * or strangers could shut the operator out.
     */
    admitOperator(
      authorization: string | undefined,
      operatorToken: string,
      clientAddress: string | null,
    ): Effect.Effect<void, Failure>
  }
>()("core/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const wrongKeys = makeWrongKeys()

      /** Counts a credential that was never issued, and refuses with it or with the guard. */
      const wrong = (api: Api, address: string, refusal: Refusal) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.fail(wrongKeys.count(api, address, now) ? tooManyWrong : refusal),
        )

      /** Asks the store for a key, unless it was unknown a moment ago. */
      const known = <A>(
        hash: string,
        now: number,
        ask: Effect.Effect<A | null, StoreUnavailable>,
      ): Effect.Effect<A | null, StoreUnavailable> =>
        wrongKeys.isUnknown(hash, now)
          ? Effect.succeed(null)
          : Effect.map(ask, (found) => {
              if (found === null) wrongKeys.noteUnknown(hash, now)
              return found
            })

      const lookUp = (token: string, clientAddress: string) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const hash = hashSecret(token)
          const query = {
            hash,
            version: 2,
            now,
            minuteStart: minuteStart(now),
            dayStart: dayStart(now),
            clientAddress,
          } as const
          return { now, admitted: yield* known(hash, now, store.admit(query)) }
        })

      /** The refusal of an issued key, if any. */
      const refusalOf = (
        { key, workspace }: Pick<Admitted, "key" | "workspace">,
        now: number,
      ): Refusal | undefined => {
        const code = keyRefusal(key, now) ?? refusalV2(workspace)
        return code === undefined ? undefined : refuse(code)
      }

      return Admission.of({
        admitV2: Effect.fn("Admission.admitV2")(function* (authorization, clientAddress, counted) {
          const token = bearerToken(authorization)
          if (token === undefined) return yield* refuse("missing_api_key")
          if (isKeyV1(token)) return yield* wrong("v2", clientAddress, refuse("v1_key_on_v2"))
          if (!isKeyV2(token)) return yield* wrong("v2", clientAddress, refuse("invalid_api_key"))
          const { admitted, now } = yield* lookUp(token, clientAddress)
          if (admitted === null) return yield* wrong("v2", clientAddress, refuse("invalid_api_key"))
          const refusal = refusalOf(admitted, now)
          if (refusal !== undefined) return yield* refusal
          const rate = rateState(admitted.count ?? { minute: 1, day: 1 }, now)
          counted?.(rate)
          const over = rateRefusal(rate)
          if (over !== undefined) return yield* over
          return { caller: Caller.ofKey(admitted.key, admitted.workspace), rate }
        }),
        noteV2: Effect.fn("Admission.noteV2")(function* (authorization, clientAddress) {
          const token = bearerToken(authorization)
          if (token === undefined || !isKeyV2(token)) return null
          const { admitted, now } = yield* lookUp(token, clientAddress)
          if (admitted === null || refusalOf(admitted, now) !== undefined) return null
          return admitted.count === null ? null : rateState(admitted.count, now)
        }),
        admitV1: Effect.fn("Admission.admitV1")(function* ({ apiKey, clientAddress, clientId }) {
          const invalid = refuse("invalid_api_key", { message: "This is not a version 1 API key." })
          if (!isKeyV1(apiKey)) return yield* wrong("v1", clientAddress, invalid)
          const now = yield* Clock.currentTimeMillis
          const named = clientId === null ? null : workspaceOfClient(clientId)
          const hash = hashSecret(apiKey)
          const query = {
            hash,
            workspaceId: named,
            now,
            minuteStart: minuteStart(now),
            clientAddress,
          }
          const admitted = yield* known(hash, now, store.admitV1(query))
          if (admitted === null) return yield* wrong("v1", clientAddress, invalid)
          const { count, key, workspace } = admitted
          if (keyRefusal(key, now) !== undefined || (named !== null && named !== workspace.id)) {
            return yield* invalid
          }
          const code = refusalV1(workspace)
          if (code !== undefined) return yield* code === "api_key_revoked" ? invalid : refuse(code)
          const over = rateRefusalV1(count ?? 1, now)
          if (over !== undefined) return yield* over
          return Caller.ofKey(key, workspace)
        }),
        admitOperator: Effect.fn("Admission.admitOperator")(
          function* (authorization, operatorToken, clientAddress) {
            const token = bearerToken(authorization)
            if (token === undefined) return yield* refuse("missing_operator_token")
            const now = yield* Clock.currentTimeMillis
            if (clientAddress !== null && wrongKeys.isExceeded("operator", clientAddress, now)) {
              return yield* tooManyWrong
            }
            if (!sameSecret(token, operatorToken)) {
              return yield* wrong("operator", clientAddress ?? "", refuse("invalid_operator_token"))
            }
          },
        ),
      })
    }),
  )
}
