/**
 * The adapter over a store in memory, and a Telegram server on this machine: accounts log in by code, and
 * what they send is read on the phones of others. Connections live by the real clock.
 */
import { assert } from "@effect/vitest"
import { parsePhone, Secrets, SecretsKey } from "@messaging-service/core"
import {
  Ids,
  NumberOwnership,
  NumberProxies,
  NumberStore,
  SessionVault,
  TelegramLogin,
  TelegramTransport,
  WorkspaceStore,
} from "@messaging-service/core/ports"
import type {
  NumberId,
  OutgoingMessage,
  Phone,
  Target,
  TransportEvent,
  TransportId,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { layer as memoryStore } from "@messaging-service/store-memory"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { PersonOptions } from "@messaging-service/telegram-server"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { defaultSettings, layerLogin, layer as layerTelegram } from "../src/index.ts"
import type { TelegramSettings } from "../src/index.ts"

export const phone = (text: string): Phone => {
  const parsed = parsePhone(text)
  assert.isDefined(parsed)
  return parsed as Phone
}

const live = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** What the adapter told by itself, oldest first. */
export const Told = Context.Service<"test/Told", Array<TransportEvent>>("test/Told")

/** The URLs of numbers' proxies. */
export const Proxies = Context.Service<Map<NumberId, string>, Map<NumberId, string>>("test/Proxies")

const layerProxies = Layer.effectContext(
  Effect.sync(() => {
    const urls = new Map<NumberId, string>()
    const of = (numberId: NumberId) =>
      Effect.sync(() => {
        const url = urls.get(numberId)
        return url === undefined ? null : Redacted.make(url)
      })
    return Context.make(Proxies, urls).pipe(Context.add(NumberProxies, { of }))
  }),
)

/** Stores, and the vault over them, that outlive an adapter. */
export const layerStores = SessionVault.layer.pipe(
  Layer.merge(layerProxies),
  Layer.provide(Secrets.layer),
  Layer.provideMerge(Layer.merge(memoryStore, NumberOwnership.layerAll)),
  Layer.provide(SecretsKey.layerRandom),
  Layer.provideMerge(Ids.layerRandom),
)

export const layerServer = TelegramServer.layer()

/** Reads the adapter's events for as long as the layer lives, and keeps numbers' statuses by them. */
const layerTold = Layer.effect(
  Told,
  Effect.gen(function* () {
    const told: Array<TransportEvent> = []
    const numbers = yield* NumberStore
    const { listen } = yield* TelegramTransport
    yield* Effect.forkScoped(
      listen((event) =>
        Effect.gen(function* () {
          told.push(event)
          if (event._tag === "ConnectionChanged") {
            const { numberId, phone: digits, reason, status } = event
            yield* numbers.setStatus(numberId, status, digits ?? undefined, 0, null, reason)
          }
        }).pipe(Effect.orDie),
      ),
    )
    return told
  }),
)

const layersWith = (settings: TelegramSettings) =>
  Layer.merge(layerTelegram(settings), layerLogin(settings))

export const layerAdapter = (settings: Partial<TelegramSettings> = {}) =>
  layerTold.pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(TelegramServer, ({ apiHash, apiId, port, publicKey }) =>
          layersWith({
            ...defaultSettings,
            application: { id: apiId, hash: Redacted.make(apiHash) },
            server: { host: "127.0.0.1", port },
            publicKey,
            firstPauseMillis: 20,
            longestPauseMillis: 100,
            lookMillis: 50,
            ...settings,
          }),
        ),
      ),
    ),
    Layer.provide(live),
  )

/** Everything: an adapter with these settings over stores and a far side of its own. */
export const layerWorldWith = (settings: Partial<TelegramSettings>) =>
  layerAdapter(settings).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

export const layerWorld = layerWorldWith({})

let made = 0

/** A person of the far side, with a phone that no other one has. */
export const aPerson = (options: PersonOptions = {}) =>
  Effect.gen(function* () {
    const server = yield* TelegramServer
    const digits = `49151${String(10_000_000 + ++made)}`
    const id = yield* server.person(digits, options)
    return { digits, id }
  })

const aWorkspace = Effect.gen(function* () {
  const { id } = yield* (yield* WorkspaceStore).insert(
    {
      name: "Workspace",
      demo: false,
      accountDisabled: false,
      apiV2Enabled: true,
      plan: null,
      createdAt: 0,
    },
    { v1: true, v2: true },
  )
  return id
})

/** A number that is not logged in, of a workspace of its own unless one is given. */
export const aNumber = (digits: string, workspaceId?: WorkspaceId) =>
  Effect.gen(function* () {
    const number = yield* (yield* NumberStore).insert({
      workspaceId: workspaceId ?? (yield* aWorkspace),
      mode: "live",
      phone: digits,
      label: "",
      platform: "telegram",
      status: "disconnected",
      loginMethod: "phone_code",
      createdAt: 0,
    })
    return number.id
  })

/** Lets everything else of the process run, sockets too, until it is so. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
      else turn = setTimeout(look, 5)
    }
    let turn = setTimeout(look, 0)
    return Effect.sync(() => clearTimeout(turn))
  })

/** The same for what must be asked for. */
export const untilSo = <R>(
  condition: Effect.Effect<boolean, never, R>,
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    while (!(yield* condition)) yield* until(() => true)
  })

/** Waits until the adapter has told so of that number last. */
export const toldOf = (numberId: NumberId, status: "connected" | "disconnected") =>
  Effect.flatMap(Told, (told) =>
    until(
      () =>
        told
          .flatMap((event) =>
            event._tag === "ConnectionChanged" && event.numberId === numberId ? [event.status] : [],
          )
          .at(-1) === status,
    ),
  )

/** Logs in by code, and waits until the number is connected. */
export const logIn = (numberId: NumberId, digits: string) =>
  Effect.gen(function* () {
    const login = yield* TelegramLogin
    yield* login.begin(numberId, { method: "code", phone: phone(`+${digits}`) })
    const after = yield* login.giveCode(numberId, "12345")
    assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
    yield* toldOf(numberId, "connected")
  })

export interface Account {
  readonly id: NumberId
  readonly digits: string
}

export const anAccount = Effect.gen(function* () {
  const { digits } = yield* aPerson()
  const id = yield* aNumber(digits)
  yield* logIn(id, digits)
  const account: Account = { id, digits }
  return account
})

export const aText = (
  { id }: Pick<Account, "id">,
  to: Target,
  text = "Hello",
): OutgoingMessage => ({
  numberId: id,
  transportId: (++made).toString(16).toUpperCase().padStart(20, "B") as TransportId,
  to,
  text,
  media: null,
})

export const sendNow = (message: OutgoingMessage) =>
  TelegramTransport.use((transport) => transport.send(message))
