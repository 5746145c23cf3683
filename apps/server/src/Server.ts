/**
 * The HTTP app. It binds its address, builds the service, shows what a first start must show, and
 * answers requests. The worker runs in the same process unless it runs elsewhere.
 */
import { BrowserSessions, OwnKind, Store, Worker, version } from "@messaging-service/core"
import { HttpOptions, httpApp, monitoringApp } from "@messaging-service/http"
import type { DashboardSource } from "@messaging-service/http"
import type { CannotStart } from "@messaging-service/node"
import {
  announce,
  isTerminal,
  listen,
  withLogging,
  logStop,
  terminalWriter,
} from "@messaging-service/node/process"
import type { HttpListener } from "@messaging-service/node/process"
import { loadOrMakeSecret, openService, storeCannotStart } from "@messaging-service/service/compose"
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import {
  exampleText,
  howToSignInText,
  keepKeys,
  localUrl,
  seedExample,
  signInText,
} from "./Example.ts"
import type { Example } from "./Example.ts"
import { operatorTokenKind } from "./ServerSettings.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** Runs until interrupted; then finishes running requests and attempts in parallel. */
export const runServer = (settings: ServerSettings): Effect.Effect<never, CannotStart> =>
  withLogging(
    settings.service.log,
    Effect.scoped(
      Effect.gen(function* () {
        const listeners = yield* listenAll(settings)
        const service = yield* Effect.provideService(
          openService(
            { ...settings.service, worksElsewhere: !settings.inlineWorker },
            listeners.open.url,
            terminalWriter(),
          ),
          OwnKind,
          "server",
        )
        return yield* Effect.provideContext(serve(settings, listeners), service)
      }),
    ),
  )

/** The ports of the server. */
interface Listeners {
  /** The customers' port, which also serves every part without its own port. */
  readonly open: HttpListener
  readonly admin: HttpListener | null
  readonly metrics: HttpListener | null
}

/** Binds all ports before it creates anything, so a taken one stops the start. */
const listenAll = Effect.fnUntraced(function* listenAll(
  settings: ServerSettings,
): Effect.fn.Return<Listeners, CannotStart, Scope.Scope> {
  const { adminPort, metricsPort, service, trustProxy: behindProxy } = settings
  const { host, port } = service
  const docs = service.publicUrl === null ? {} : { docsUrl: service.publicUrl }
  const open = yield* listen(host, port, { behindProxy, ...docs })
  const docsUrl = service.publicUrl ?? open.url
  return {
    open,
    admin:
      adminPort === null
        ? null
        : yield* listen(host, adminPort, { portVariable: "ADMIN_PORT", behindProxy, docsUrl }),
    metrics:
      metricsPort === null
        ? null
        : yield* listen(host, metricsPort, { portVariable: "METRICS_PORT", behindProxy }),
  }
})

/** Loads only for simulated phones. */
const emulatorControls = Effect.map(
  Effect.promise(() => import("@messaging-service/http/emulator")),
  (emulator) => emulator.emulatorControls,
)

/** Loads only when a page is asked for. */
const dashboardFiles: DashboardSource = async () => {
  const { loadDashboard } = await import("@messaging-service/dashboard")
  return loadDashboard()
}

const serve = Effect.fnUntraced(function* serve(settings: ServerSettings, listeners: Listeners) {
  const { admin, metrics, open } = listeners
  const { inlineWorker, service, trustProxy } = settings
  const { isNew, secret: token } = yield* operatorToken(settings)
  const options = {
    operatorToken: admin === null ? token : null,
    dashboard: settings.dashboard ? dashboardFiles : null,
    adjustableClock: service.clock === "adjustable",
    metrics: metrics === null,
    emulator: service.transport.kind === "simulated" ? yield* emulatorControls : null,
    publicUrl: service.publicUrl ?? open.url,
    stopping: open.stopping,
    trustProxy,
  }
  const served = [open.serve(yield* Effect.provideService(httpApp, HttpOptions, options))]
  if (admin !== null) {
    const app = yield* Effect.provideService(httpApp, HttpOptions, {
      ...options,
      operatorToken: token,
      customers: false,
      metrics: false,
      publicUrl: admin.url,
      stopping: admin.stopping,
      docsUrl: options.publicUrl,
    })
    served.push(admin.serve(app))
  }
  if (metrics !== null) {
    const app = yield* Effect.provideService(monitoringApp, HttpOptions, {
      ...options,
      metrics: true,
    })
    served.push(metrics.serve(app))
  }
  const worker = inlineWorker ? (yield* Worker).run : Effect.never
  const isFirst = isNew || (yield* storeIsEmpty(settings))
  if (settings.seedExample) yield* showExample(settings, open)
  if (isFirst && settings.dashboard) yield* showSignIn(settings, listeners, token)
  yield* announce(service.log, readyLine(listeners))
  return yield* Effect.all([...served, worker], {
    concurrency: "unbounded",
    discard: true,
  }).pipe(Effect.andThen(Effect.never), logStop)
})

const readyLine = ({ admin, metrics, open }: Listeners): string => {
  const others = [
    `version ${version}`,
    ...(admin === null ? [] : [`operator API on ${admin.url}`]),
    ...(metrics === null ? [] : [`metrics on ${metrics.url}/metrics`]),
  ]
  return `listening on ${open.url} (${others.join("; ")})`
}

/** The token, and whether this start has made it. */
const operatorToken = Effect.fnUntraced(function* operatorToken({
  operatorToken: input,
  service,
}: ServerSettings) {
  if (input !== null) return { secret: input, isNew: false }
  const { file, isNew, secret } = yield* loadOrMakeSecret(service.dataDirectory, operatorTokenKind)
  if (isNew) {
    const formatted = isTerminal() ? `: ${Redacted.value(secret)}` : ""
    yield* announce(service.log, `Operator token, stored in ${file}${formatted}\n`)
  }
  return { secret, isNew }
})

const storeIsEmpty = ({ service }: ServerSettings) =>
  Effect.flatMap(Store, ({ workspaces: store }) => store.isEmpty).pipe(
    Effect.catchTag("StoreUnavailable", (error) => Effect.fail(storeCannotStart(service, error))),
  )

/** A link for the person at the terminal. A log, which others read, only says how to get one. */
const showSignIn = (
  { service }: ServerSettings,
  { admin, open }: Listeners,
  token: Redacted.Redacted,
) =>
  Effect.gen(function* () {
    const url = admin === null ? (service.publicUrl ?? localUrl(open.url)) : localUrl(admin.url)
    if (!isTerminal()) return yield* announce(service.log, howToSignInText(url))
    const sessions = yield* BrowserSessions
    const code = yield* sessions.operatorLink(Redacted.value(token))
    yield* announce(service.log, signInText(`${url}/sign-in#code=${code}`))
  }).pipe(
    Effect.catchTag("StoreUnavailable", (error) => Effect.fail(storeCannotStart(service, error))),
  )

const showExample = ({ service }: ServerSettings, { url }: HttpListener) =>
  seedExample.pipe(
    Effect.flatMap((example) => {
      if (example === null) return Effect.void
      const print = (reported: Example, inFiles: boolean) =>
        announce(service.log, exampleText(reported, localUrl(url), inFiles))
      return isTerminal()
        ? print(example, false)
        : Effect.flatMap(keepKeys(example, service), (reported) => print(reported, true))
    }),
    Effect.catchTags({
      StoreUnavailable: (error) => Effect.fail(storeCannotStart(service, error)),
      // An empty store always grants these requests.
      Refusal: Effect.die,
    }),
  )
