/**
 * The numbers of a workspace as its keys see and connect them (contract: Numbers, Connecting a
 * number).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { CallbackUrls } from "../callback/CallbackUrls.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, linkingId } from "../id/Ids.ts"
import type { NumberId } from "../id/Ids.ts"
import { permit } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { mayUse } from "../key/ApiKey.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { Idempotent } from "../request/Idempotent.ts"
import type { Repeatable } from "../request/Idempotent.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { answeredNumber, judgeReconnect, numberLimitRefusal, requireQrCodeApi } from "./connect.ts"
import { parseConnectRequest } from "./ConnectRequest.ts"
import type { ConnectRequest } from "./ConnectRequest.ts"
import {
  connectJson,
  linkingMillis,
  nothingShown,
  numberJson,
  pairingCodeMillis,
  testLinkingMillis,
} from "./Linking.ts"
import type { LinkingView, NumberJson } from "./Linking.ts"
import { LinkingStore } from "./LinkingStore.ts"
import type { LinkingOutcome, NewAttempt } from "./LinkingStore.ts"
import { NumberStore } from "./NumberStore.ts"
import { QrLinks } from "./QrLinks.ts"
import { isSeenBy } from "./SendingNumber.ts"
import type { SendingNumber } from "./SendingNumber.ts"

type Failure = Refusal | StoreUnavailable

/** What may come with a request to connect and has no field in a body of version 2. */
export interface ConnectTerms {
  /** Where the attempt and a later log-out are reported (contract: Version 1: callbacks). */
  readonly callbackUrl: string | null
}

/** Version 2's own ways. */
const plainTerms: ConnectTerms = { callbackUrl: null }

const isSeen = (caller: Permitted, number: SendingNumber): boolean =>
  isSeenBy(caller.mode, number) && mayUse(caller, number.id)

export class Connections extends Context.Service<
  Connections,
  {
    /** GET /numbers: every number that the key may use, oldest first. */
    list(caller: Caller): Effect.Effect<{ readonly data: ReadonlyArray<NumberJson> }, Failure>
    /**
     * GET /numbers/{id}: `connect` is filled while it is connecting, with a fresh QR link. Fails
     * with `number_not_found`.
     */
    get(caller: Caller, id: NumberId | undefined): Effect.Effect<NumberJson, Failure>
    /**
     * POST /numbers: adds a number or reconnects one. Fails with `validation_failed`,
     * `invalid_phone`, `plan_required`, `number_limit_reached`, `number_not_found`,
     * `number_not_allowed`, `already_connected`, `connect_in_progress`, and the codes of
     * idempotency; with a callback also `invalid_callback_url`.
     */
    connect(
      caller: Caller,
      body: unknown,
      idempotency: IdempotencyKey | null,
      terms?: ConnectTerms,
    ): Effect.Effect<Repeatable<NumberJson>, Failure>
  }
>()("core/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const numbers = yield* NumberStore
      const attempts = yield* LinkingStore
      const { link } = yield* QrLinks
      const idempotent = yield* Idempotent
      const ids = yield* Ids
      const wakeUp = yield* WakeUp
      const callbackUrls = yield* CallbackUrls

      const notFound = refuse("number_not_found", { inPath: true })

      /** What a test number shows: it has no connection that would bring a code. */
      const testView = ({ method }: ConnectRequest, now: number): LinkingView =>
        method === "qr"
          ? { ...nothingShown, qrText: `test:${ids.alphanumeric(40)}` }
          : {
              ...nothingShown,
              pairingCode: {
                code: ids.alphanumeric(8).toUpperCase(),
                expiresAt: now + pairingCodeMillis,
              },
            }

      const newAttempt = (
        { mode }: Permitted,
        request: ConnectRequest,
        { callbackUrl }: ConnectTerms,
        now: number,
      ): NewAttempt => {
        const isTest = mode === "test"
        return {
          id: linkingId(ids),
          mode,
          method: request.method,
          phone: request.phone,
          requestedAt: now,
          endsAt: now + linkingMillis,
          linksAt: isTest ? now + testLinkingMillis : null,
          callbackUrl,
          ...(isTest ? testView(request, now) : nothingShown),
        }
      }

      /** Judges what the store holds now, and begins the attempt if nothing changed meanwhile. */
      const begin = Effect.fnUntraced(function* (
        caller: Permitted,
        request: ConnectRequest,
        terms: ConnectTerms,
        claim: IdempotencyClaim | null,
      ): Effect.fn.Return<LinkingOutcome, Failure> {
        const { workspace } = caller
        const now = yield* Clock.currentTimeMillis
        const attempt = newAttempt(caller, request, terms, now)
        if (request.numberId === null) {
          return yield* attempts.add(
            {
              workspaceId: workspace.id,
              mode: caller.mode,
              phone: request.phone,
              label: "",
              platform: "whatsapp",
              loginMethod: request.method,
              createdAt: now,
            },
            attempt,
            workspace.plan?.maxNumbers ?? null,
            claim,
          )
        }
        const found = yield* numbers.get(workspace.id, request.numberId)
        const number = yield* Effect.fromResult(judgeReconnect(caller, found))
        return yield* attempts.reconnect(workspace.id, number.id, attempt, claim)
      })

      const start = Effect.fnUntraced(function* (
        caller: Permitted,
        request: ConnectRequest,
        terms: ConnectTerms,
        claim: IdempotencyClaim | null,
      ): Effect.fn.Return<NumberJson, Failure> {
        const plan = yield* Effect.fromResult(requireQrCodeApi(caller.workspace.plan))
        for (;;) {
          const outcome = yield* begin(caller, request, terms, claim)
          if (outcome._tag === "Begun") {
            yield* wakeUp.wake("linking")
            return numberJson(outcome.number)
          }
          switch (outcome.guard) {
            case "idempotency":
              return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
            case "limit":
              return yield* numberLimitRefusal(plan.maxNumbers ?? 0)
            case "number":
              // A workspace that is gone has no number to be judged again.
              if (request.numberId === null) return yield* refuse("api_key_revoked")
          }
        }
      })

      const again = Effect.fnUntraced(function* (
        request: ConnectRequest,
        [id]: ReadonlyArray<number>,
      ): Effect.fn.Return<NumberJson, Failure> {
        const numberId = (id ?? 0) as NumberId
        return answeredNumber(numberId, request, yield* numbers.find(numberId))
      })

      return Connections.of({
        list: Effect.fn("Connections.list")(function* (given) {
          const caller = yield* permit(given, "listNumbers")
          const all = yield* numbers.list(caller.workspace.id)
          return {
            data: all
              .filter((number) => isSeen(caller, number))
              .map((number) => numberJson(number)),
          }
        }),
        get: Effect.fn("Connections.get")(function* (given, id) {
          const caller = yield* permit(given, "getNumber")
          const number = id === undefined ? null : yield* numbers.get(caller.workspace.id, id)
          if (number === null || !isSeen(caller, number)) return yield* notFound
          // Behind a live number stands a real phone, which a test key must not be able to link.
          const shows = number.status === "connecting" && number.mode === caller.mode
          if (!shows) return numberJson(number)
          const attempt = yield* attempts.get(number.id)
          const now = yield* Clock.currentTimeMillis
          return numberJson(number, connectJson(attempt, now, link))
        }),
        connect: Effect.fn("Connections.connect")(function* (
          given,
          body,
          requested,
          terms = plainTerms,
        ) {
          const caller = yield* permit(given, "connectNumber")
          const request = yield* Effect.fromResult(parseConnectRequest(body, caller))
          yield* callbackUrls.check(terms.callbackUrl, caller.workspaceId)
          return yield* idempotent.run<NumberJson, Failure>(caller, requested, {
            work: (claim) => start(caller, request, terms, claim),
            again: (made) => again(request, made),
          })
        }),
      })
    }),
  )
}
