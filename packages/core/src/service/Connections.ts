/**
 * A workspace's numbers, as its keys list and connect them (contract: Numbers, Connecting a
 * number).
 */
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { CallbackUrls } from "./CallbackSettings.ts"
import { problem, refuse } from "../model/Refusal.ts"
import type { Failure, Problem, Refusal, StoreUnavailable } from "../model/Refusal.ts"
import { Ids, linkingId, eventId, numberEventIds } from "../model/Ids.ts"
import type { NumberId, LinkingId } from "../model/Ids.ts"
import { mayUse, authorize } from "../model/Auth.ts"
import type { AuthorizationCode, ApiKey, Caller, Authorized } from "../model/Auth.ts"
import { WakeUp } from "../store/DueWork.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../model/Recipient.ts"
import { Secrets, sameSecret, sign } from "../model/Secrets.ts"
import { described, IdInput, inputDecoder, PublicUrl } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"
import type {
  IdempotencyCode,
  FirstAnswer,
  IdempotencyClaim,
  IdempotencyKey,
} from "../model/Idempotency.ts"
import {
  connectView,
  linkingMillis,
  emptyLinkingView,
  openedAttempt,
  pairingCodeMillis,
  sealedView,
  testLinkingMillis,
  phoneWithoutLink,
} from "../model/Linking.ts"
import type {
  LinkingStore,
  ConnectView,
  LinkingOutcome,
  LinkingView,
  NewAttempt,
  LinkingAttempt,
  LeasedAttempt,
  QrLink,
} from "../model/Linking.ts"
import type { NumberStore } from "../store/NumberStore.ts"
import { StartingPacing } from "../model/Pacing.ts"
import { isVisibleTo, loginMethods, connectionReasons } from "../model/SendingNumber.ts"
import type { LoginMethod, SendingNumber, PublicNumber } from "../model/SendingNumber.ts"
import { currentRestrictions } from "../model/Restrictions.ts"
import type { NumberRestrictions } from "../model/Restrictions.ts"
import { connectionCallback } from "../model/MessageChange.ts"
import type { ConnectionEvent } from "../model/MessageChange.ts"
import { Store } from "../store/Store.ts"

export const ConnectBody = Schema.Struct({
  loginMethod: described(Schema.optionalKey(Schema.Literals(loginMethods)), "How to link it.", {
    default: "qr",
  }),
  // Unused with `qr`; validated below with `phone_code`.
  phone: described(
    Schema.optionalKey(Schema.String.annotate({ examples: phoneDescribed.examples })),
    "Required with `phone_code`: E.164 with a leading +. Unused with `qr`.",
  ),
  numberId: described(
    Schema.optionalKey(IdInput),
    "Reconnects this number instead of adding one. Required for a key limited to some numbers.",
  ),
}).annotate({ identifier: "ConnectNumber" })

/** A number to connect or reconnect. */
export type ConnectNumber = CommandOf<typeof ConnectBody.Encoded>

interface ConnectRequest {
  readonly method: LoginMethod
  /** Digits with country code; null with a QR code, which reveals the phone. */
  readonly phone: string | null
  /** The number to reconnect; null for a new one. */
  readonly numberId: NumberId | null
}

type Raw = Readonly<Record<string, unknown>>

const phoneProblems = ({
  loginMethod,
  phone,
}: Raw): ReadonlyArray<Problem<"validation_failed" | "invalid_phone">> => {
  if (loginMethod !== "phone_code") return []
  if (phone === undefined) return [problem("validation_failed", "phone", "is required")]
  return typeof phone !== "string" || parsePhone(phone) !== undefined
    ? []
    : [problem("invalid_phone", "phone")]
}

const numberIdMissing = problem(
  "validation_failed",
  "numberId",
  "is required: the key is limited to some numbers, which it may reconnect",
)

const decodeAny = inputDecoder(ConnectBody, {
  codes: ["invalid_phone"],
  across: phoneProblems,
})
const decodeLimited = inputDecoder(ConnectBody, {
  codes: ["invalid_phone"],
  across: (input) => [
    ...phoneProblems(input),
    ...(input["numberId"] === undefined ? [numberIdMissing] : []),
  ],
})

/**
 * Fails with `validation_failed` and `invalid_phone`. A limited key must name one of its numbers.
 */
const parseConnectRequest = (
  command: unknown,
  key: Pick<ApiKey, "numberIds">,
): Result.Result<ConnectRequest, Refusal<"validation_failed" | "invalid_phone">> =>
  Result.map((key.numberIds === null ? decodeAny : decodeLimited)(command), (input) => {
    const method = input.loginMethod ?? "qr"
    const phone = method === "qr" ? undefined : parsePhone(input.phone ?? "")
    return {
      method,
      phone: phone === undefined ? null : phoneDigits(phone),
      numberId: (input.numberId as NumberId | undefined) ?? null,
    }
  })

type ReconnectCode =
  | "validation_failed"
  | "number_not_found"
  | "number_not_allowed"
  | "already_connected"
  | "connect_in_progress"

/** What the begin of a link can be refused with, by stored state. */
type StartCode =
  | ReconnectCode
  | "plan_required"
  | "number_limit_reached"
  | "idempotency_in_progress"
  | "api_key_revoked"

/**
 * The number to reconnect. Test keys obey every rule, but reconnect only numbers that test keys
 * added: a live number has a real phone.
 */
const judgeReconnect = (
  key: Pick<ApiKey, "numberIds" | "mode">,
  number: SendingNumber | null,
): Result.Result<SendingNumber, Refusal<ReconnectCode>> => {
  const refused = (code: ReconnectCode, more: Parameters<typeof refuse>[1] = {}) =>
    Result.fail(refuse(code, { ...more, field: "numberId" }))
  if (number === null || !isVisibleTo(key.mode, number)) return refused("number_not_found")
  if (!mayUse(key, number.id)) return refused("number_not_allowed")
  if (number.platform !== "whatsapp") {
    return refused("validation_failed", { message: "Telegram accounts are not connected here." })
  }
  if (number.status === "connected") return refused("already_connected")
  if (number.status === "connecting") {
    return refused("connect_in_progress", { details: { numberId: number.id } })
  }
  const message = "A test key reconnects only numbers that a test key added."
  return number.mode === key.mode
    ? Result.succeed(number)
    : refused("number_not_found", { message })
}

/** A number, with the codes to scan or type while it connects. */
export interface NumberView extends SendingNumber {
  readonly connect: ConnectView | null
}

/** Makes the reader of what a number shows while it connects, with a fresh QR link; else null. */
export const makeConnectReader = Effect.gen(function* makeConnectReader() {
  const { numbers } = yield* Store
  const { link } = yield* QrLinks
  const secrets = yield* Secrets

  return Effect.fnUntraced(function* readConnect({ id, status }: SendingNumber) {
    if (status !== "connecting") return null
    const sealed = yield* numbers.getLinking(id)
    const attempt = sealed === null ? null : openedAttempt(secrets, sealed)
    return connectView(attempt, yield* Clock.currentTimeMillis, link)
  })
})

const isVisible = (caller: Authorized, number: SendingNumber): boolean =>
  isVisibleTo(caller.mode, number) && mayUse(caller, number.id)

/** What links numbers. */
interface LinkingWork {
  readonly numbers: NumberStore
  readonly attempts: LinkingStore
  readonly ids: Ids["Service"]
  readonly wakeUp: WakeUp["Service"]
  readonly startingPacing: typeof StartingPacing.Service
  readonly secrets: Secrets["Service"]
}

/** What a test number shows, since it has no connection to bring a code. */
const testView = ({ ids }: LinkingWork, { method }: ConnectRequest, now: number): LinkingView =>
  method === "qr"
    ? {
        ...emptyLinkingView,
        qrText: `test:${ids.alphanumeric(40)}`,
        // It has one code, and links itself long before.
        qrExpiresAt: now + linkingMillis,
      }
    : {
        ...emptyLinkingView,
        pairingCode: {
          code: ids.alphanumeric(8).toUpperCase(),
          expiresAt: now + pairingCodeMillis,
        },
      }

const newAttempt = (
  linking: LinkingWork,
  { mode }: Authorized,
  request: ConnectRequest,
  callbackUrl: string | null,
  now: number,
): NewAttempt => {
  const { ids, secrets, startingPacing } = linking
  const isTest = mode === "test"
  const id = linkingId(ids)
  return {
    id,
    mode,
    method: request.method,
    phone: request.phone,
    requestedAt: now,
    endsAt: now + linkingMillis,
    linksAt: isTest ? now + testLinkingMillis : null,
    callbackUrl,
    pacing: isTest ? null : startingPacing.whatsapp,
    ...(isTest ? sealedView(secrets, id, testView(linking, request, now)) : emptyLinkingView),
  }
}

/** Decides on the stored state, and starts the attempt unless that changed meanwhile. */
const begin = Effect.fnUntraced(function* begin(
  linking: LinkingWork,
  caller: Authorized,
  request: ConnectRequest,
  callbackUrl: string | null,
  claim: IdempotencyClaim | null,
): Effect.fn.Return<LinkingOutcome, Failure<ReconnectCode>> {
  const { attempts, numbers } = linking
  const { workspace } = caller
  const now = yield* Clock.currentTimeMillis
  const attempt = newAttempt(linking, caller, request, callbackUrl, now)
  if (request.numberId === null) {
    return yield* attempts.addLinking(
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

const start = Effect.fnUntraced(function* start(
  linking: LinkingWork,
  caller: Authorized,
  request: ConnectRequest,
  callbackUrl: string | null,
  claim: IdempotencyClaim | null,
): Effect.fn.Return<PublicNumber, Failure<StartCode>> {
  const { plan } = caller.workspace
  if (plan?.qrCodeApi !== true) {
    return yield* refuse("plan_required", {
      message: "The plan does not include the QR code API.",
    })
  }
  const max = plan.maxNumbers ?? 0
  for (;;) {
    const outcome = yield* begin(linking, caller, request, callbackUrl, claim)
    if (outcome._tag === "Begun") {
      yield* linking.wakeUp.wake("linking")
      return outcome.number
    }
    switch (outcome.guard) {
      case "idempotency":
        return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
      case "limit":
        return yield* refuse("number_limit_reached", {
          message: `The plan has room for ${max} ${max === 1 ? "number" : "numbers"}.`,
        })
      case "number":
        // A deleted workspace has no number to decide on again.
        if (request.numberId === null) return yield* refuse("api_key_revoked")
    }
  }
})

/** The first answer: a new number starts without a label. */
const again = Effect.fnUntraced(function* again(
  { numbers }: LinkingWork,
  { method, numberId, phone }: ConnectRequest,
  [id = 0]: ReadonlyArray<number>,
  first: FirstAnswer | undefined,
): Effect.fn.Return<PublicNumber, StoreUnavailable> {
  // For an erased number, or a reconnect by a version that stored nothing: the current state.
  const stored = first !== undefined && "label" in first ? first : null
  const now = numberId === null || stored !== null ? null : yield* numbers.find(numberId)
  const firstAnswer = stored ?? { phone: phone ?? now?.phone ?? null, label: now?.label ?? "" }
  return {
    id: id as NumberId,
    phone: firstAnswer.phone,
    label: firstAnswer.label,
    platform: "whatsapp",
    status: "connecting",
    loginMethod: method,
  }
})

export class Connections extends Context.Service<
  Connections,
  {
    /** GET /numbers: every number the key may use, oldest first. */
    list(caller: Caller): Effect.Effect<ReadonlyArray<SendingNumber>, Failure<AuthorizationCode>>
    /**
     * GET /numbers/{id}/restrictions: what WhatsApp lets it do with new chats, as last heard. Fails with
     * `number_not_found`.
     */
    restrictions(
      caller: Caller,
      id: NumberId | undefined,
    ): Effect.Effect<NumberRestrictions, Failure<AuthorizationCode | "number_not_found">>
    /**
     * GET /numbers/{id}: `connect` is set while it is connecting, with a fresh QR link. Fails with
     * `number_not_found`.
     */
    get(
      caller: Caller,
      id: NumberId | undefined,
    ): Effect.Effect<NumberView, Failure<AuthorizationCode | "number_not_found">>
    /**
     * POST /numbers: adds a number or reconnects one. Fails with `validation_failed`,
     * `invalid_phone`, `plan_required`, `number_limit_reached`, `number_not_found`,
     * `number_not_allowed`, `already_connected`, `connect_in_progress`, and the codes of
     * idempotency. `callbackUrl` receives the attempt's outcome and a later log-out (contract:
     * Version 1: callbacks); version 2 bodies have no such field. It adds the code
     * `invalid_callback_url`.
     */
    connect(
      caller: Caller,
      command: ConnectNumber,
      idempotency: IdempotencyKey | null,
      callbackUrl?: string | null,
    ): Effect.Effect<
      IdempotentResult<PublicNumber>,
      Failure<
        | "invalid_callback_url"
        | "api_key_revoked"
        | AuthorizationCode
        | IdempotencyCode
        | "validation_failed"
        | "invalid_phone"
        | "plan_required"
        | "number_limit_reached"
        | "already_connected"
        | "connect_in_progress"
        | "number_not_found"
      >
    >
  }
>()("core/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* make() {
      const { numbers } = yield* Store

      const readConnect = yield* makeConnectReader
      const idempotent = yield* makeIdempotent
      const callbackUrls = yield* CallbackUrls
      const linking: LinkingWork = {
        numbers,
        attempts: numbers,
        ids: yield* Ids,
        wakeUp: yield* WakeUp,
        startingPacing: yield* StartingPacing,
        secrets: yield* Secrets,
      }

      const notFound = refuse("number_not_found", { inPath: true })

      return Connections.of({
        list: Effect.fn("Connections.list")(function* list(input) {
          const caller = yield* authorize(input, "listNumbers")
          const all = yield* numbers.list(caller.workspace.id)
          return all.filter((number) => isVisible(caller, number))
        }),
        get: Effect.fn("Connections.get")(function* get(input, id) {
          const caller = yield* authorize(input, "getNumber")
          const number = id === undefined ? null : yield* numbers.get(caller.workspace.id, id)
          if (number === null || !isVisible(caller, number)) return yield* notFound
          // A live number has a real phone, which a test key must not link.
          const connect = number.mode === caller.mode ? yield* readConnect(number) : null
          return { ...number, connect }
        }),
        restrictions: Effect.fn("Connections.restrictions")(function* restrictions(input, id) {
          const caller = yield* authorize(input, "getNumberRestrictions")
          const number = id === undefined ? null : yield* numbers.get(caller.workspace.id, id)
          if (number === null || !isVisible(caller, number)) return yield* notFound
          const stored = yield* numbers.restrictions(caller.workspace.id, number.id)
          return { numberId: number.id, ...currentRestrictions(number, stored) }
        }),
        connect: Effect.fn("Connections.connect")(function* connect(
          input,
          command,
          requested,
          callbackUrl = null,
        ) {
          const caller = yield* authorize(input, "connectNumber")
          const request = yield* Effect.fromResult(parseConnectRequest(command, caller))
          yield* callbackUrls.check(callbackUrl, caller.workspaceId)
          return yield* idempotent.run(caller, requested, {
            work: (claim) => start(linking, caller, request, callbackUrl, claim),
            again: (created, firstAnswer) => again(linking, request, created, firstAnswer),
          })
        }),
      })
    }),
  )
}

// Callbacks of a number's connection, made from its stored state. The commit decides whether the
// event happens and is reported.

/** Makes a number's callbacks; null when it has no callback address. */
export const makeConnectionCallbacks = Effect.gen(function* makeConnectionCallbacks() {
  const { numbers } = yield* Store

  const ids = yield* Ids

  /** The number and its address; most have none, so that is checked first. */
  const reporting = Effect.fnUntraced(function* reporting(id: NumberId) {
    const url = yield* numbers.callbackUrl(id)
    const number = url === null ? null : yield* numbers.find(id)
    if (url === null || number === null) return null
    const now = yield* Clock.currentTimeMillis
    const report = (event: ConnectionEvent, phone: string | null) =>
      connectionCallback(eventId(ids, now), event, { ...number, phone }, url, now)
    return { number, report }
  })

  const getPhone = (number: SendingNumber) =>
    Effect.map(numbers.getLinking(number.id), (attempt) => phoneWithoutLink(number, attempt))

  return {
    /** The callback of an event; `phone` is one that the event reveals. */
    of: Effect.fnUntraced(function* (
      id: NumberId,
      event: ConnectionEvent,
      phone: string | null = null,
    ) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      const known = event === "disconnected" ? yield* getPhone(number) : number.phone
      return report(event, phone ?? known)
    }),
    /** Callbacks for a link with that phone, for either outcome. */
    ofEnd: Effect.fnUntraced(function* ofEnd(id: NumberId, phone: string) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      // A number that could not be linked does not keep another's phone.
      const before = yield* getPhone(number)
      return {
        connected: report("connected", phone),
        disconnected: report("disconnected", before === phone ? null : before),
      }
    }),
  }
})

// Applies the progress of an attempt, as reported by the worker's transport, the emulator's scan or
// a test number. The same commit writes the callback, if any.

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, { numberId }: LinkingAttempt) =>
  Effect.annotateLogs(effect, { number: numberId })

export const makeLinkProgress = Effect.gen(function* makeLinkProgress() {
  const store = (yield* Store).numbers
  const callbacks = yield* makeConnectionCallbacks
  const ids = yield* Ids
  const wakeUp = yield* WakeUp

  return {
    /** Stores a new, sealed view. False when the attempt ended or another worker holds it. */
    shown: Effect.fn("LinkProgress.shown")(function* shown(
      leased: LeasedAttempt,
      view: LinkingView,
    ) {
      const { attempt, lease } = leased
      const callback =
        view.qrText === null ? null : yield* callbacks.of(attempt.numberId, "qr-generated")
      return yield* store.showLinking(attempt.id, lease, view, callback)
    }),
    /** The phone took the code. False when the attempt ended. */
    scanned: Effect.fn("LinkProgress.taken")(function* scanned({ id }: LinkingAttempt) {
      return yield* store.isLinkingClaimed(id, yield* Clock.currentTimeMillis)
    }),
    /**
     * Connects the number, and its waiting messages may leave. If another number of the workspace
     * has that phone, it disconnects instead. `phone` is digits with country code. Null when the
     * attempt ended.
     */
    linked: Effect.fn("LinkProgress.linked")(function* linked(
      attempt: LinkingAttempt,
      phone: string,
    ) {
      const now = yield* Clock.currentTimeMillis
      const reports = yield* callbacks.ofEnd(attempt.numberId, phone)
      const number = yield* store.linked(attempt.id, phone, now, reports, numberEventIds(ids, now))
      if (number === null) return null
      if (number.status === "connected") {
        yield* Effect.logInfo("number linked")
        yield* wakeUp.wake("lanes")
      } else {
        yield* Effect.logWarning("number not linked: another one has its phone")
      }
      return number
    }, annotated),
    /** Ends the attempt without a link. False when it already ended. */
    ended: Effect.fn("LinkProgress.ended")(function* (attempt: LinkingAttempt, reason: string) {
      const callback = yield* callbacks.of(attempt.numberId, "disconnected")
      const at = yield* Clock.currentTimeMillis
      // Transports may give other reasons, for people: they are logged, not stored.
      const storedReason = connectionReasons.find((one) => one === reason) ?? "not_linked"
      const ended = yield* store.abandonLinking(
        attempt.id,
        { at, reason: storedReason },
        callback,
        numberEventIds(ids, at),
      )
      if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
      return ended
    }, annotated),
  }
})

/** How long a link works (contract: Number status). */
const qrLinkMillis = 10 * 60 * 1000

const suffix = ".png"

interface Meaning {
  readonly numberId: NumberId
  /** Epoch milliseconds. */
  readonly expires: number
  /** Distinguishes links made at the same time. */
  readonly nonce: string
}

const makeToken = (secret: string, attempt: LinkingId, meaning: Meaning): string => {
  const { expires, nonce, numberId } = meaning
  const signature = sign(secret, [attempt, numberId, expires, nonce])
  return `${numberId.toString(36)}-${expires.toString(36)}-${nonce}-${signature}`
}

/** Parses a token; the caller checks its signature. */
const readToken = (token: string): Meaning | undefined => {
  const match = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-f]{16})-[0-9a-f]{32}$/.exec(token)
  const [, number = "", ending = "", nonce = ""] = match ?? []
  const numberId = Number.parseInt(number, 36)
  const expires = Number.parseInt(ending, 36)
  return Number.isSafeInteger(numberId) && Number.isSafeInteger(expires)
    ? { numberId: numberId as NumberId, expires, nonce }
    : undefined
}

export class QrLinks extends Context.Service<
  QrLinks,
  {
    readonly link: QrLink
    /**
     * The current QR text for the last path segment of a link. Fails with `not_found`: forged,
     * expired, or the attempt ended.
     */
    read(segment: string): Effect.Effect<string, Failure<"not_found">>
  }
>()("core/QrLinks") {
  static readonly layer = Layer.effect(
    QrLinks,
    Effect.gen(function* make() {
      const ids = yield* Ids
      const store = (yield* Store).numbers
      const origin = yield* PublicUrl
      const secrets = yield* Secrets
      const secret = secrets.keys.qrLinks

      return QrLinks.of({
        link: (attempt, now) => {
          const { id, numberId } = attempt
          const meaning = { numberId, expires: now + qrLinkMillis, nonce: ids.hex(16) }
          return `${origin}/qr/${makeToken(secret, id, meaning)}${suffix}`
        },
        read: Effect.fn("QrLinks.read")(function* read(segment) {
          const token = segment.endsWith(suffix) ? segment.slice(0, -suffix.length) : ""
          const meaning = readToken(token)
          const now = yield* Clock.currentTimeMillis
          if (meaning === undefined || meaning.expires <= now) return yield* refuse("not_found")
          const attempt = yield* store.getLinking(meaning.numberId)
          if (attempt === null || attempt.endsAt <= now) return yield* refuse("not_found")
          if (!sameSecret(token, makeToken(secret, attempt.id, meaning))) {
            return yield* refuse("not_found")
          }
          return openedAttempt(secrets, attempt).qrText ?? (yield* refuse("not_found"))
        }),
      })
    }),
  )
}

export class QrImages extends Context.Service<
  QrImages,
  {
    /** A PNG of a QR code with exactly that text. */
    png(text: string): Effect.Effect<Uint8Array>
  }
>()("core/QrImages") {}
