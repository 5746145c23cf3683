/** The facade over a composed service, and the HTTP interface below its path. */
import { Admission, Caller, refuse, roles, scopes, Workspaces } from "@messaging-service/core"
import type { NumberId, Refusal, WorkspaceId } from "@messaging-service/core"
import { Effect, Exit, Fiber, Redacted, Scope } from "effect"
import type { Context } from "effect"
import type { HasId } from "../api/common.ts"
import type {
  Messaging,
  NodeRequest,
  NodeResponse,
  OperatorOptions,
  ServedParts,
  Trust,
} from "../api/Messaging.ts"
import type { HandlerOptions, OpenOptions } from "../api/options.ts"
import type { ComposedService } from "../compose/index.ts"
import { missingPackage } from "../compose/startFaults.ts"
import { requireNoLinkedNumbers } from "../compose/transports.ts"
import { makeApi } from "./CallerApi.ts"
import { closedError, errorOfFailure, errorOfRefusal, toId, makeCalls } from "./Calls.ts"
import type { Run } from "./Calls.ts"
import { makeListening } from "./Listening.ts"
import { makeSubscribing } from "./Subscribing.ts"
import { makeNodeHandler } from "./nodeHandler.ts"
import { operatorApi, storeApi, workspacesApi } from "./OperatorApi.ts"
import { toBasePath, isBelow, startsWorker } from "./options.ts"
import { fields, isObject, listOf, must, oneOf, checkRule } from "./rules.ts"
import { cutOffMillis, exitWithin, startWork } from "./Work.ts"

const unmounted = (): Response =>
  Response.json(
    { error: { code: "not_found", message: "There is nothing at this address." } },
    { status: 404 },
  )

/**
 * Response to a request that outlived the service and cannot be interrupted: it may have taken effect.
 */
const closedAnswer = (): Response =>
  Response.json(
    {
      error: {
        code: "internal_error",
        message: "The messaging service is closed. Retry later with the same Idempotency-Key.",
      },
    },
    { status: 500, headers: { "cache-control": "no-store" } },
  )

/** What a handler needs from the service. */
interface Served {
  readonly publicUrl: string
  readonly isClosed: () => boolean
  /** Returns when the service begins to close. */
  readonly closing: Effect.Effect<void>
  /** Whether phones are simulated, as the emulator controls need them. */
  readonly isSimulated: boolean
  /** Returns when running requests must end. */
  readonly cutOff: Effect.Effect<void>
}

type Answer = (request: Request, address?: string) => Promise<Response>

const dashboardPackage = "@messaging-service/dashboard"

/** Loads with the first page. */
const loadDashboard = async () => {
  const dashboard = await import("@messaging-service/dashboard")
  return dashboard.loadDashboard()
}

/** Why a 404 was answered, for the log of the program that mounted the handler; null: for no such reason. */
const findHint = async (
  path: string,
  { operatorToken }: HandlerOptions,
  { isSimulated }: Served,
  { dashboard }: ServedParts,
): Promise<string | null> => {
  const { isDashboardPage } = await import("@messaging-service/http")
  const isControl = path.startsWith("/admin/v1/simulator")
  if (!dashboard && (isControl || isDashboardPage(path))) {
    return "a page or an emulator control was asked for: handler({ dashboard: true }) and nodeHandler({ dashboard: true }) serve them"
  }
  if (!isControl) return null
  if (!isSimulated) return "an emulator control was asked for: they need simulated phones"
  return operatorToken === undefined
    ? "an emulator control was asked for: they need http.operatorToken"
    : null
}

const outsideWarning = (base: string): string =>
  `404 for a request outside http.basePath: pass full URLs, such as ${base}/api/v2/me`

/** What the interface has besides its own paths; the emulator controls move phones, so they need a token. */
const getParts = async (
  { operatorToken }: HandlerOptions,
  { isSimulated }: Served,
  { dashboard }: ServedParts,
) => {
  if (!dashboard) return { dashboard: null, emulator: null }
  const hasControls = isSimulated && operatorToken !== undefined
  const emulator = hasControls ? await import("@messaging-service/http/emulator") : null
  return { dashboard: loadDashboard, emulator: emulator?.emulatorControls ?? null }
}

/** Loads the interface at the first request, so a program that serves none never loads it. */
const makeHandler = (
  context: Context.Context<ComposedService>,
  options: HandlerOptions,
  served: Served,
  parts: ServedParts,
): Answer => {
  const { closing, cutOff, isClosed, publicUrl } = served
  const base = toBasePath(options)
  const addressOf = options.clientAddress
  /** The request as the service's own server would receive it, and its client address. */
  const addresses = new WeakMap<Request, string>()
  const late = new WeakSet<Request>()
  let loaded: Promise<(request: Request) => Promise<Response>> | undefined
  const hints = new Set<string>()
  /** Logs each hint once: it is about how the program mounts the handler. */
  const hint = (text: string | null) => {
    if (text === null || hints.has(text)) return
    hints.add(text)
    Effect.runForkWith(context)(Effect.logWarning(text))
  }

  const load = async () => {
    const { webHandler } = await import("@messaging-service/http")
    return Effect.runPromise(
      webHandler(context, {
        operatorToken:
          options.operatorToken === undefined ? null : Redacted.make(options.operatorToken),
        ...(await getParts(options, served, parts)),
        publicUrl,
        cameTooLate: (request) => late.has(request),
        stopping: closing,
        cutOff,
        trustProxy: options.trustProxy ?? false,
        clientAddress: (request) => addresses.get(request) ?? "",
      }),
    )
  }

  return async (request, address) => {
    const url = new URL(request.url)
    if (!isBelow(base, url.pathname)) {
      hint(outsideWarning(base))
      return unmounted()
    }
    url.pathname = url.pathname.slice(base.length)
    const inner = base === "" ? request : new Request(url, request)
    if (isClosed()) late.add(inner)
    const from = addressOf === undefined ? address : addressOf(request)
    if (from !== undefined) addresses.set(inner, from)
    const answer = await (await (loaded ??= load()))(inner)
    if (answer.status === 404) hint(await findHint(url.pathname, options, served, parts))
    return answer
  }
}

const partsRules = fields<ServedParts>({
  dashboard: must("true or false", (value) => typeof value === "boolean"),
})

/** Throws for wrong parts, and for those without their package. `takes` says what the call takes. */
const assertServable = (parts: ServedParts, accepts: string) => {
  if (!isObject(parts) || "headers" in parts) {
    throw errorOfRefusal(refuse("validation_failed", { message: accepts }))
  }
  refused(checkRule(partsRules, parts))
  if (!parts.dashboard) return
  // Bundles and some hosts cannot tell; there the first page fails.
  const missing = missingPackage(dashboardPackage, "dashboard", import.meta.resolve)
  if (missing !== null) throw errorOfFailure(missing)
}

const isRequest = (input: Request | ServedParts): input is Request =>
  isObject(input) && "headers" in input

const isNodeRequest = (input: NodeRequest | ServedParts): input is NodeRequest =>
  isObject(input) && !("dashboard" in input)

const handlerTakes =
  "handler takes a web-standard Request, or what it serves too, such as { dashboard: true }."

const nodeHandlerTakes =
  "nodeHandler takes a request and a response of a Node server, or what it serves too, such as { dashboard: true }."

/** Both handlers: of requests, and of what else is to be served. */
const makeHandlers = (
  options: HandlerOptions,
  answerWith: (parts: ServedParts) => Answer,
): Pick<Messaging, "handler" | "nodeHandler"> => {
  const base = toBasePath(options)
  const answer = answerWith({ dashboard: false })
  const node = makeNodeHandler(base, answer)

  function handler(request: Request): Promise<Response>
  function handler(parts: ServedParts): (request: Request) => Promise<Response>
  function handler(input: Request | ServedParts) {
    if (isRequest(input)) return answer(input)
    assertServable(input, handlerTakes)
    const wider = answerWith(input)
    return (request: Request) => wider(request)
  }

  function nodeHandler(
    request: NodeRequest,
    response: NodeResponse,
    next?: () => void,
  ): Promise<void>
  function nodeHandler(parts: ServedParts): ReturnType<typeof makeNodeHandler>
  function nodeHandler(
    input: NodeRequest | ServedParts,
    response?: NodeResponse,
    next?: () => void,
  ) {
    if (response !== undefined && isNodeRequest(input)) return node(input, response, next)
    assertServable(input as ServedParts, nodeHandlerTakes)
    return makeNodeHandler(base, answerWith(input as ServedParts))
  }
  return { handler, nodeHandler }
}

/** How long a shared store may take to close: a frozen one never answers. */
const letGoMillis = 2000

/** The service counts wrong keys by address: all calls of a program share one. */
const ownAddress = "127.0.0.1"

/** A misspelt `mode` would send live, and a misspelt `numberIds` from every number. */
const trustRules = fields<Trust>({
  mode: oneOf("live", "test"),
  scopes: listOf(`a list of ${scopes.join(", ")}`, (scope) =>
    (scopes as ReadonlyArray<unknown>).includes(scope),
  ),
  numberIds: (value, field) =>
    value === null
      ? []
      : listOf(
          "a list of ids of numbers, or null",
          (id) => Number.isSafeInteger(id) && Number(id) > 0,
        )(value, field),
})

const operatorRules = fields<OperatorOptions>({ role: oneOf(...roles) })

/** Throws the error that a promise would reject with. */
const refused = (refusal: Refusal | undefined) => {
  if (refusal !== undefined) throw errorOfRefusal(refusal)
}

interface Made {
  readonly context: Context.Context<ComposedService>
  /** Scope of all the service's resources; it closes with the service. */
  readonly scope: Scope.Closeable
  readonly publicUrl: string
  readonly stopMillis: number
  /**
   * Whether the store is PostgreSQL, which can join the program's transactions and can become
   * unreachable.
   */
  readonly isShared: boolean
  /** Whether sends can join transactions of the program. Default: `isShared`. */
  readonly joins?: boolean
  /** Runs after each call; the call's result waits for it. */
  readonly afterCall?: () => Promise<void>
  /** Wraps each handler call of a listener. */
  readonly whileTold?: <A, E>(notifying: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** The program itself as a caller in a workspace, with the limits that it set. */
const trustedCaller = (workspace: HasId, { mode, numberIds, scopes: allowed }: Trust) => {
  const id = toId<WorkspaceId>(workspace)
  return Effect.map(
    Workspaces.use((workspaces) => workspaces.get(id)),
    (found) =>
      Caller.trusted(found, {
        ...(mode === undefined ? {} : { mode }),
        ...(allowed === undefined ? {} : { scopes: allowed }),
        ...(numberIds === undefined
          ? {}
          : { numberIds: numberIds as ReadonlyArray<NumberId> | null }),
      }),
  )
}

const keyCaller = (key: string) =>
  Effect.map(
    Admission.use((admission) => admission.admitV2(`Bearer ${key}`, ownAddress)),
    ({ caller }) => caller,
  )

/** The caller: the program itself, a key, or an operator. */
const makeCallers = (run: Run, joins: boolean): Pick<Messaging, "as" | "withKey" | "operator"> => ({
  as: (workspace, trust = {}) => {
    refused(checkRule(trustRules, trust))
    const caller = trustedCaller(workspace, trust)
    return makeApi({ run, joins, isTrusted: true, caller })
  },
  withKey: (key) => makeApi({ run, joins, isTrusted: false, caller: keyCaller(key) }),
  operator: (workspace, acting = {}) => {
    refused(checkRule(operatorRules, acting))
    return operatorApi(run, workspace, acting.role ?? "owner")
  },
})

/** Builds the facade, and starts the worker unless the options disable it. */
export const makeMessaging = (
  options: OpenOptions,
  { afterCall, context, isShared, joins = isShared, publicUrl, scope, stopMillis, whileTold }: Made,
): Effect.Effect<Messaging> =>
  Effect.gen(function* () {
    const calls = makeCalls(context, afterCall)
    const { run } = calls
    const listeners = yield* Scope.fork(scope)
    const { caughtUp, on } = yield* makeListening(calls, whileTold).pipe(Scope.provide(listeners))
    const { idle, subscribe } = yield* makeSubscribing(calls, whileTold).pipe(
      Scope.provide(listeners),
    )
    const isSimulated = (options.transport ?? "simulated") === "simulated"
    const work = yield* startWork(
      startsWorker(options),
      isSimulated ? requireNoLinkedNumbers : Effect.void,
      stopMillis,
    )
    const { closing: startClosing, cutOff, isClosed } = calls
    const served = { publicUrl, isClosed, isSimulated, closing: startClosing, cutOff }
    const answerWith = (parts: ServedParts): Answer => {
      const answer = makeHandler(context, options.http ?? {}, served, parts)
      return (request, address) => calls.counted(() => answer(request, address), closedAnswer)
    }

    const lettingGo = Effect.andThen(
      Scope.close(listeners, Exit.void),
      Scope.close(scope, Exit.void),
    )

    const close = Effect.gen(function* close() {
      const stopped = Fiber.await(yield* Effect.forkDetach(work.stop))
      const ended = Effect.all([calls.ended, stopped, idle], {
        concurrency: "unbounded",
        discard: true,
      })
      // Running calls and attempts end, and listeners receive their events.
      yield* exitWithin(stopMillis, Effect.andThen(ended, Effect.ignore(caughtUp)))
      yield* calls.interrupt
      yield* exitWithin(cutOffMillis, ended)
      yield* calls.abandon
      yield* isShared ? exitWithin(letGoMillis, lettingGo) : lettingGo
    })

    let closing: Promise<void> | undefined

    const messaging: Messaging = {
      workspaces: workspacesApi(run),
      ...storeApi(run),
      ...makeCallers(run, joins),
      on: (type, handle, listening) => {
        if (calls.isClosed()) throw closedError()
        return on(type, handle, listening)
      },
      subscribe: (name, type, handle) => {
        if (calls.isClosed()) throw closedError()
        return subscribe(name, type, handle)
      },
      drain: (requested) => run(work.drain(requested)),
      ...makeHandlers(options.http ?? {}, answerWith),
      close: () => {
        calls.refuseLater()
        return (closing ??= Effect.runPromiseWith(context)(close))
      },
    }
    return messaging
  }).pipe(Effect.provideContext(context))
