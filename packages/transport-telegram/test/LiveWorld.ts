/**
 * The adapter over a store in memory, and a Telegram server on this machine: accounts log in by code, and
 * other phones read what they send. Connections use the real clock.
 */
import { assert } from "@effect/vitest"
import {
  Ids,
  NumberOwnership,
  layerStoredSecrets,
  SecretsKey,
  SessionVault,
  TelegramLogin,
  TelegramTransport,
  parsePhone,
  WakeUp,
} from "@messaging-service/core"
import type {
  NumberId,
  OutgoingMessage,
  Phone,
  Target,
  WorkspaceId,
  Store,
} from "@messaging-service/core"
import { layer as memoryStore } from "@messaging-service/store-memory"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { Group, PersonOptions } from "@messaging-service/telegram-server"
import { aNumber as aStoredNumber, aWorkspace, live } from "@messaging-service/testkit"
import { toggleChannelIdMark } from "@mtcute/node/utils.js"
import { Effect, Layer, Redacted } from "effect"
import { layerLogin } from "../src/Login.ts"
import { Sessions } from "../src/Account.ts"
import { defaultSettings } from "../src/TelegramSettings.ts"
import type { TelegramSettings } from "../src/TelegramSettings.ts"
import { layerTransport } from "../src/Transport.ts"

export const phone = (text: string): Phone => {
  const parsed = parsePhone(text)
  assert.isDefined(parsed)
  return parsed as Phone
}

export const { Proxies, Told, until, untilSo } = live

const layerStoresWith = <E>(ownership: Layer.Layer<NumberOwnership, E, Store>) =>
  SessionVault.layer.pipe(
    Layer.provide(WakeUp.layerLocal),
    Layer.merge(live.layerProxies),
    Layer.provideMerge(layerStoredSecrets),
    Layer.provideMerge(Layer.provideMerge(ownership, memoryStore)),
    Layer.provide(SecretsKey.layerRandom),
    Layer.provideMerge(Ids.layerRandom),
  )

/** Stores, and the vault over them, that outlive an adapter. */
export const layerStores = layerStoresWith(NumberOwnership.layerAll)

export const layerServer = TelegramServer.layer()

/** As programs have it, with access to the sessions. */
const layersWith = (settings: TelegramSettings) =>
  Layer.merge(
    layerTransport.pipe(Layer.provideMerge(Sessions.layer(settings))),
    layerLogin(settings),
  )

export const layerAdapter = (settings: Partial<TelegramSettings> = {}) =>
  live.layerTold(TelegramTransport).pipe(
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
    Layer.provide(live.realClock),
  )

/** Everything: an adapter with these settings over its own stores and remote server. */
export const layerWorldWith = (settings: Partial<TelegramSettings>) =>
  layerAdapter(settings).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

export const layerWorld = layerWorldWith({})

/** The same for a worker that shares the numbers of its store with others. */
export const layerSharedWorld = layerAdapter().pipe(
  Layer.provideMerge(layerStoresWith(NumberOwnership.layerShared(100))),
  Layer.provideMerge(layerServer),
)

/** A person of the remote server, with a unique phone. */
export const aPerson = (options: PersonOptions = {}) =>
  Effect.gen(function* () {
    const server = yield* TelegramServer
    const digits = live.someDigits()
    const id = yield* server.person(digits, options)
    return { digits, id }
  })

/** A number that is not logged in, by default of its own workspace. */
export const aNumber = (digits: string, workspaceId?: WorkspaceId) =>
  Effect.gen(function* () {
    const { id } = yield* aStoredNumber(workspaceId ?? (yield* aWorkspace({ plan: null })).id, {
      platform: "telegram",
      phone: digits,
      status: "disconnected",
      loginMethod: "phone_code",
      createdAt: 0,
    })
    return id
  })

/** Waits until that was the adapter's last report of that number. */
export const awaitConnection = (numberId: NumberId, status: "connected" | "disconnected") =>
  Effect.flatMap(Told, (received) =>
    until(
      () =>
        received
          .flatMap((event) =>
            event._tag === "ConnectionChanged" && event.numberId === numberId ? [event.status] : [],
          )
          .at(-1) === status,
    ),
  )

/** Logs in by code, and waits until the number is connected. */
export const logIn = (numberId: NumberId, digits: string, isShutOut?: boolean) =>
  Effect.gen(function* () {
    const login = yield* TelegramLogin
    const byCode = { method: "code", phone: phone(`+${digits}`) } as const
    assert.isNotNull(yield* login.begin(numberId, byCode, isShutOut))
    const after = yield* login.giveCode(numberId, "12345")
    assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
    yield* awaitConnection(numberId, "connected")
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

export const aText = ({ id }: Pick<Account, "id">, to: Target, text?: string): OutgoingMessage =>
  live.aText(id, to, text)

export const toUser = (username: string): Target => ({ kind: "username", username })

export const toSupergroup = ({ id }: Pick<Group, "id">): Target => ({
  kind: "group_id",
  groupId: String(toggleChannelIdMark(id)),
})

export const accepted = { _tag: "Accepted" } as const

export const sendNow = (message: OutgoingMessage) =>
  TelegramTransport.use((transport) => transport.send(message))

/** Rejections that no code has handled while this runs. */
export const unhandled = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const reasons: Array<unknown> = []
    const emit = process.emit.bind(process)
    yield* Effect.acquireUseRelease(
      Effect.sync(() =>
        Object.assign(process, {
          emit: (name: "unhandledRejection", reason: unknown, ...rest: [Promise<unknown>]) =>
            name === "unhandledRejection" ? reasons.push(reason) > 0 : emit(name, reason, ...rest),
        }),
      ),
      () => work,
      () => Effect.sync(() => Object.assign(process, { emit })),
    )
    return reasons
  })

/** Node reports unhandled rejections before the next macrotask; the library takes some for a part. */
export const ticks = Effect.promise(async () => {
  for (let iteration = 0; iteration < 50; iteration++) {
    await new Promise<void>((resolve) => void setImmediate(resolve))
  }
})
