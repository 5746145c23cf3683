/**
 * How the facade calls the core: effects over the opened service run as promises that fail with one
 * error. Also what operations share: ids, idempotency keys and lists.
 */
import {
  bodyRule,
  canonicalJson,
  catalogue,
  fingerprint,
  MediaLinks,
  parseId,
  parseIdempotencyKey,
  Refusal,
  refusalOfStore,
  refuse,
  StoreUnavailable,
} from "@messaging-service/core"
import type {
  Caller,
  Code,
  CursorPage,
  Failure,
  IdempotencyKey,
  ListPage,
  MediaLink,
} from "@messaging-service/core"
import type { CannotStart } from "@messaging-service/node"
import { Cause, Clock, Effect, Exit, Latch } from "effect"
import type { Context, Fiber } from "effect"
import type { HasId, Listing, Made, Page, PageOptions, RepeatOptions } from "../api/common.ts"
import { SettingFault } from "../compose/startFaults.ts"
import type { Setting, SettingNames } from "../compose/startFaults.ts"
import type { ComposedService } from "../compose/index.ts"
import { MessagingError } from "../MessagingError.ts"
import { anything, fields, isObject, isText, must, checkRule, InvalidOptions } from "./rules.ts"
import type { Rule, Violation } from "./rules.ts"

/** A message that names its field. */
const naming = (field: string | null, message: string): string =>
  field === null || message.startsWith(`${field} `) ? message : `${field}: ${message}`

interface OfCall {
  readonly message: string
  /** The option to blame. */
  readonly field?: string
}

/** Catalogue texts about requests, rewritten for calls: a program sends no headers and no body. */
const ofCalls: Readonly<Partial<Record<Code, OfCall>>> = {
  validation_failed: { message: "The command is not valid." },
  idempotency_key_reused: {
    field: "idempotencyKey",
    message: "was used for another command within 24 hours",
  },
  idempotency_in_progress: {
    field: "idempotencyKey",
    message: "belongs to a call that is still running",
  },
  internal_error: {
    message:
      "The service failed, and `cause` says how. Whether the call took effect is not known: make it again later, with the same idempotencyKey if it takes one.",
  },
  service_unavailable: {
    message:
      "There is no room for this call at the moment, or another transaction holds what it needs. Make it again after `retryAfterMillis`.",
  },
  rate_limited: { message: "Too many calls with this key." },
  too_many_auth_failures: { message: "Too many calls with a wrong key. Wait a minute." },
  missing_api_key: { message: "`withKey` takes the text of a key of version 2." },
  number_not_allowed: { message: "This caller is limited to other numbers." },
  telegram_not_configured: {
    message:
      "Telegram accounts can log in where `open` was given `transport: { live: { telegram: { apiId, apiHash } } }`.",
  },
}

const notAnObject = "The command must be an object."

/** A problem in words for a program; its own message stays. */
const inCalls = (problem: Refusal["errors"][number]): Refusal["errors"][number] => {
  const { code, field, message } = problem
  if (message === bodyRule) return { ...problem, message: notAnObject }
  const override = message === catalogue[code].message ? ofCalls[code] : undefined
  return override === undefined ? problem : { field, ...override, code }
}

const toProblem = (problem: Refusal["errors"][number]) => {
  const { code, field, message } = inCalls(problem)
  return { code, field, message: naming(field, message) }
}

/** A trusted caller has no key. */
const lacking = ({ details, message }: Refusal): string =>
  details.requiredScope === undefined
    ? message
    : `This caller lacks the scope ${details.requiredScope}.`

export const errorOfRefusal = (refusal: Refusal, cause?: unknown): MessagingError =>
  new MessagingError(
    {
      ...toProblem({
        code: refusal.code,
        field: refusal.field,
        message: lacking(refusal),
      }),
      status: refusal.status,
      errors: refusal.errors.map(toProblem),
      details: { ...refusal.details },
      retryAfterMillis: refusal.retryAfter === null ? null : refusal.retryAfter * 1000,
    },
    cause === undefined ? undefined : { cause },
  )

/** The service is closed, or closing. */
export const closedError = (): MessagingError =>
  new MessagingError({ code: "closed", status: 503, message: "The messaging service is closed." })

const errorOfOptions = ({ first, others }: InvalidOptions): MessagingError => {
  const toCannotStart = ({ field, rule }: Violation) => ({
    code: "cannot_start" as const,
    field,
    message: `${field} ${rule}`,
  })
  return new MessagingError({
    ...toCannotStart(first),
    status: 500,
    errors: others.map(toCannotStart),
  })
}

export const errorOfFailure = (failure: Failure | CannotStart | InvalidOptions): MessagingError => {
  if (failure instanceof Refusal) return errorOfRefusal(failure)
  if (failure instanceof InvalidOptions) return errorOfOptions(failure)
  if (failure instanceof StoreUnavailable) return errorOfRefusal(refusalOfStore(failure), failure)
  return new MessagingError({ code: "cannot_start", status: 500, ...inOptions(failure) })
}

const optionNames: SettingNames = {
  DATABASE_URL: "store.postgres",
  DATABASE_SCHEMA: "store.schema",
  DATA_DIR: "dataDirectory",
  SECRETS_KEY: "secretsKey",
  pool: "store.pool",
  embedded: "store.embedded",
  live: 'transport: "live"',
  telegram: "transport.live.telegram",
  simulated: 'transport: "simulated"',
  dashboard: "dashboard: true",
}

/** The option itself, where the text names it by its value. */
const findOption = (setting: Setting): string => {
  if (setting === "dashboard") return setting
  return setting === "live" || setting === "simulated" ? "transport" : optionNames[setting]
}

/** The start's failure, in the words of the options. */
const inOptions = (
  failure: CannotStart,
): { readonly field: string | null; readonly message: string } =>
  failure instanceof SettingFault
    ? {
        field: failure.setting === null ? null : findOption(failure.setting),
        message: failure.describe(optionNames),
      }
    : { field: null, message: failure.message }

/** The error of a rejected promise. */
export const toError = (
  cause: Cause.Cause<Failure | CannotStart | InvalidOptions>,
): MessagingError => {
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) return errorOfFailure(failure.error)
  if (Cause.hasInterruptsOnly(cause)) return closedError()
  return errorOfRefusal(refuse("internal_error"), Cause.squash(cause))
}

/** Runs an effect over the service. */
export type Run = <A>(
  effect: Effect.Effect<A, Failure | CannotStart, ComposedService>,
) => Promise<A>

/** The caller and the way of the call. */
export interface Calling {
  readonly run: Run
  /** Loads for each call, with the workspace at that moment. */
  readonly caller: Effect.Effect<Caller, Failure, ComposedService>
  /** Whether the caller is the program itself, without a key to authenticate. */
  readonly isTrusted: boolean
  /** Whether the store can join a transaction of the program. */
  readonly joins: boolean
}

/** Builds a part of the interface for a caller. */
export type CallerApi<Part> = (calling: Calling) => Part

/** A promise of the exit, which never rejects. */
const awaitExit = <A, E>(fiber: Fiber.Fiber<A, E>): Promise<Exit.Exit<A, E>> =>
  new Promise((resolve) => void fiber.addObserver(resolve))

/** `after` runs after each call, and the call's result waits for it. */
export const makeCalls = (
  context: Context.Context<ComposedService>,
  after: () => Promise<void> = () => Promise.resolve(),
) => {
  const runFork = Effect.runForkWith(context)
  const idle = Latch.makeUnsafe(true)
  const cutOff = Latch.makeUnsafe(false)
  const closing = Latch.makeUnsafe(false)
  const fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  /** For each running call: settles its promise without waiting for the call. */
  const underWay = new Set<() => void>()
  /** What later calls wait for, such as a listener that must receive their events. */
  let before: Promise<unknown> | null = null
  let isClosed = false

  const counted = <A>(call: () => Promise<A>, abandoned: () => A): Promise<A> =>
    new Promise((resolve, reject) => {
      const abandon = () => resolve(abandoned())
      underWay.add(abandon)
      idle.closeUnsafe()
      const ended = call().finally(() => {
        underWay.delete(abandon)
        if (underWay.size === 0) idle.openUnsafe()
      })
      ended.then(resolve, reject)
    })

  const run: Run = async (effect) => {
    if (isClosed) throw closedError()
    const earlier = before
    const fiber = runFork(
      earlier === null
        ? effect
        : Effect.andThen(
            Effect.promise(() => earlier),
            effect,
          ),
    )
    fibers.add(fiber)
    fiber.addObserver(() => fibers.delete(fiber))
    const exit = await counted(() => awaitExit(fiber), Exit.interrupt)
    await after()
    if (Exit.isSuccess(exit)) return exit.value
    // Releasing its resources may add another failure.
    if (cutOff.isOpen() && exit.cause.reasons.some(Cause.isInterruptReason)) throw closedError()
    throw toError(exit.cause)
  }

  return {
    run,
    /**
     * Counts a call by another route as running. It may end by itself once `cutOff` returns; after
     * that `abandoned` answers for it.
     */
    counted,
    /** Makes later calls wait for it, however it ends. */
    holdUp: (until: Promise<unknown>) => {
      before = Promise.allSettled([before, until])
    },
    /** Refuses every later call, from now on. */
    refuseLater: () => {
      isClosed = true
      closing.openUnsafe()
    },
    /** Returns once later calls are refused. */
    closing: closing.await,
    isClosed: () => isClosed,
    /** Returns once no call runs. */
    ended: idle.await,
    /** Interrupts running calls: their promises fail with `closed`, unless the work is already done. */
    interrupt: Effect.sync(() => {
      cutOff.openUnsafe()
      for (const fiber of fibers) fiber.interruptUnsafe()
    }),
    /** Returns once the interrupted calls have ended. */
    cutOff: cutOff.await,
    /** Settles the promises of calls that do not end although interrupted. */
    abandon: Effect.sync(() => {
      for (const abandon of underWay) abandon()
    }),
  }
}

/** The id of a thing or its id; undefined when it cannot be one. */
export const toId = <Id extends number>(input: HasId): Id | undefined =>
  parseId<Id>(String(typeof input === "object" && input !== null ? input.id : input))

/** Options of a repeatable operation. `idempotencyKey` has its own check below. */
const repeatOptions = fields<RepeatOptions>({ idempotencyKey: anything })

/**
 * The key of a repeatable call. A call over HTTP with the same key, by the same API key, is a repeat
 * of it: the same path and body identify both.
 */
export const repeatable = (
  options: RepeatOptions | undefined,
  path: string,
  body: unknown,
  rule: Rule = repeatOptions,
): Effect.Effect<IdempotencyKey | null, Failure> => {
  const wrong = checkRule(rule, options)
  if (wrong !== undefined) return Effect.fail(wrong)
  const value: unknown = options?.idempotencyKey
  if (value === undefined) return Effect.succeed(null)
  // Do not convert to text first: all objects would share one key, and so would null.
  return Effect.fromResult(parseIdempotencyKey([isText(value) ? value : ""])).pipe(
    Effect.mapError((refusal) =>
      refuse(refusal.code, { field: "idempotencyKey", message: keyRule }),
    ),
    Effect.map((key) =>
      key === null ? null : { key, fingerprint: fingerprint("POST", path, canonicalJson(body)) },
    ),
  )
}

const keyRule = "must be 1 to 255 printable ASCII characters"

/** Result of an idempotent operation. */
export const withReplayed = <A extends object>(record: A, replayed: boolean): Made<A> => ({
  ...record,
  replayed,
})

/** Page size when a caller loops over a list without a `limit`. */
const loopLimit = 100

/** Builds a list over the pages that `load` returns. */
export const listing = <A, B, Query extends PageOptions>(
  run: Run,
  query: Query | undefined,
  load: (query: Query & ListPage) => Effect.Effect<CursorPage<A>, Failure, ComposedService>,
  show: Effect.Effect<(record: A) => B, Failure, ComposedService>,
): Listing<B> => {
  // Check before spreading, which would turn a non-object into an object without fields.
  const wrong = checkRule(must("an object", isObject), query ?? undefined, "query")
  const page = (request: Query & ListPage): Promise<Page<B>> =>
    run(
      Effect.gen(function* () {
        if (wrong !== undefined) return yield* wrong
        const { items, next } = yield* load(request)
        const toPublic = yield* show
        return { items: items.map(toPublic), nextCursor: next }
      }),
    )
  const input = { ...query } as Query & ListPage
  return {
    page: () => page(input),
    async *[Symbol.asyncIterator]() {
      let request: Query & ListPage = { limit: loopLimit, ...input }
      for (;;) {
        const { items, nextCursor } = await page(request)
        yield* items
        if (nextCursor === null) return
        request = { ...request, cursor: nextCursor }
      }
    },
  }
}

/** Shows records in their current state, with fresh links. */
export const showingNow = <A, B>(show: (record: A, now: number, link: MediaLink) => B) =>
  Effect.gen(function* () {
    const { link } = yield* MediaLinks
    const now = yield* Clock.currentTimeMillis
    return (record: A) => show(record, now, link)
  })
