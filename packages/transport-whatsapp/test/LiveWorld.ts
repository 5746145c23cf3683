/**
 * The adapter over a store, in memory by default, and a WhatsApp server on this machine: numbers are linked
 * by QR code, and other phones read what they send. Connections use the real clock.
 */
import { assert } from "@effect/vitest"
import {
  Ids,
  NumberLinking,
  NumberOwnership,
  layerStoredSecrets,
  SecretsKey,
  SentTexts,
  SessionVault,
  StoreUnavailable,
  WhatsAppTransport,
  parsePhone,
  Store,
  WakeUp,
} from "@messaging-service/core"
import type {
  ConversationSettings,
  LinkingEvent,
  LinkingRequest,
  NumberId,
  OutgoingMessage,
  Quote,
  Phone,
  ReceivedMessage,
  Target,
  TransportId,
} from "@messaging-service/core"
import { layer as memoryStore } from "@messaging-service/store-memory"
import { aNumber, aWorkspace, live } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Context, Effect, Layer, Stream } from "effect"
import { layerLinking } from "../src/Linking.ts"
import { Sessions } from "../src/Account.ts"
import { defaultSettings } from "../src/WhatsAppSettings.ts"
import type { WhatsAppSettings } from "../src/WhatsAppSettings.ts"
import { layerTransport } from "../src/Transport.ts"

export const phone = (text: string): Phone => {
  const parsed = parsePhone(text)
  assert.isDefined(parsed)
  return parsed as Phone
}

export const { Proxies, Told, until, untilSo } = live

/** The operations that the store does not answer, by operation and input; `write` sees sealed texts. */
interface StoreTrouble {
  meets: (operation: string, ...args: ReadonlyArray<unknown>) => boolean
  /** Operations refused so far. */
  readonly met: Array<string>
}

export const Trouble = Context.Service<StoreTrouble, StoreTrouble>("test/Trouble")

/** While it exists, these operations get no answer. */
export const inTrouble = (meets: StoreTrouble["meets"]) =>
  Effect.acquireRelease(
    Effect.map(Trouble, (trouble) => {
      trouble.meets = meets
      trouble.met.length = 0
      return trouble
    }),
    (trouble) => Effect.sync(() => (trouble.meets = () => false)),
  )

export const noTrouble = Effect.map(Trouble, (trouble) => {
  trouble.meets = () => false
})

/** The service, with operations that fail while there is trouble. */
const troubled = <S extends object>(service: S, trouble: StoreTrouble): S => {
  const failing = <A>(operation: string, args: ReadonlyArray<unknown>, run: () => A) =>
    Effect.suspend((): Effect.Effect<unknown, unknown> => {
      if (!trouble.meets(operation, ...args)) return run() as Effect.Effect<unknown>
      trouble.met.push(operation)
      return Effect.fail(new StoreUnavailable({ operation, cause: "trouble" }))
    })
  return Object.fromEntries(
    Object.entries(service).map(([name, member]: [string, unknown]) => [
      name,
      typeof member === "function"
        ? (...args: ReadonlyArray<unknown>) =>
            failing(name, args, () => Reflect.apply(member, service, args))
        : failing(name, [], () => member),
    ]),
  ) as S
}

/** The texts of `aText`: messages reach the transport past the store. */
const textsCreated = new Map<TransportId, string>()

const quotesCreated = new Map<TransportId, Quote>()

const sentTexts = SentTexts.of({
  of: (_, transportId) =>
    Effect.sync(() => {
      const text = textsCreated.get(transportId)
      return text === undefined ? null : { text, quote: quotesCreated.get(transportId) ?? null }
    }),
})

const layerTroubled = Layer.effectContext(
  Effect.gen(function* () {
    const trouble: StoreTrouble = { meets: () => false, met: [] }
    const store = yield* Store
    return Context.make(Trouble, trouble).pipe(
      Context.add(Store, {
        ...store,
        sessions: troubled(store.sessions, trouble),
        numbers: troubled(store.numbers, trouble),
      }),
      Context.add(SentTexts, troubled(sentTexts, trouble)),
    )
  }),
)

/** Stores, and the vault over them, that outlive an adapter. */
export const layerStoresOn = (
  store: Layer.Layer<Store>,
  ownership: Layer.Layer<NumberOwnership> = NumberOwnership.layerAll,
) =>
  SessionVault.layer.pipe(
    Layer.provide(WakeUp.layerLocal),
    Layer.merge(live.layerProxies),
    Layer.provideMerge(layerStoredSecrets),
    Layer.provideMerge(layerTroubled),
    Layer.provideMerge(Layer.merge(store, ownership)),
    Layer.provide(SecretsKey.layerRandom),
    Layer.provideMerge(Ids.layerRandom),
  )

export const layerStores = layerStoresOn(memoryStore)

/** Tests of whole processes cover the cost of 812 pre-keys. */
export const layerServer = WhatsAppServer.layer({ asksForFewPreKeys: true })

/** For tests that take events by themselves. */
export const layerNotTold = Layer.succeed(Told, [])

/** As programs have it, with access to the sessions. */
const layerWhatsApp = (settings: WhatsAppSettings) =>
  Layer.merge(layerTransport, layerLinking(settings)).pipe(
    Layer.provideMerge(Sessions.layer(settings)),
  )

export const layerAdapter = (
  settings: Partial<WhatsAppSettings> = {},
  claiming: Layer.Layer<typeof Told.Identifier, never, WhatsAppTransport | Store> = live.layerTold(
    WhatsAppTransport,
  ),
) =>
  claiming.pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(WhatsAppServer, (server) =>
          layerWhatsApp({
            ...defaultSettings,
            url: new URL(server.url),
            firstPauseMillis: 20,
            longestPauseMillis: 100,
            trusted: [server.mediaCertificate],
            ...settings,
          }),
        ),
      ),
    ),
    Layer.provide(live.realClock),
  )

/** Everything: an adapter with these settings over its own stores and remote server. */
export const layerWorldWith = (settings: Partial<WhatsAppSettings>) =>
  layerAdapter(settings).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

export const layerWorld = layerWorldWith({})

/** A person of the remote server, with a phone of their own. */
export const aPerson = Effect.gen(function* () {
  const server = yield* WhatsAppServer
  const digits = live.someDigits()
  yield* server.person(digits)
  return digits
})

/** A number that is not linked, of its own workspace. */
export const anUnlinkedNumber = Effect.gen(function* () {
  const workspace = yield* aWorkspace({ plan: null })
  const { id } = yield* aNumber(workspace.id, { phone: null, status: "connecting", createdAt: 0 })
  return id
})

/**
 * Runs attempts as the worker does, until one is linked or fails; `answer` is the person's reaction to each
 * event.
 */
export const attempt = <R>(
  request: LinkingRequest,
  answer: (event: LinkingEvent) => Effect.Effect<unknown, never, R>,
) =>
  Effect.gen(function* () {
    const { link } = yield* NumberLinking
    const { numbers } = yield* Store
    const visible: Array<LinkingEvent> = []
    const isOver = () => visible.some(({ _tag }) => _tag === "Linked" || _tag === "Failed")
    yield* numbers.setStatus(request.numberId, "connecting", undefined, 0)
    while (!isOver()) {
      yield* link(request).pipe(
        Stream.takeWhileEffect((event) =>
          Effect.gen(function* () {
            visible.push(event)
            if (event._tag === "Linked") {
              yield* Effect.orDie(numbers.setStatus(request.numberId, "connected", event.phone, 0))
            }
            yield* answer(event)
            return !isOver()
          }),
        ),
        Stream.runDrain,
      )
    }
    return visible
  })

/** Links by QR code, scanned by that person. */
export const linkTo = (numberId: NumberId, digits: string) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    return yield* attempt({ numberId, method: "qr", phone: null }, (event) =>
      event._tag === "QrShown"
        ? Effect.orDie(Effect.asVoid(server.scan(digits, event.text))).pipe(Effect.forkDetach)
        : Effect.void,
    )
  })

export const aText = ({ id }: Pick<LinkedNumber, "id">, target: Target, text = "Hello") => {
  const message = live.aText(id, target, text)
  textsCreated.set(message.transportId, text)
  return message
}

/** The message, quoting. */
export const quoting = (message: OutgoingMessage, quote: Quote): OutgoingMessage => {
  quotesCreated.set(message.transportId, quote)
  return { ...message, quote }
}

export const to = (digits: string): Target => ({ kind: "phone", phone: phone(`+${digits}`) })

export const sendNow = (message: OutgoingMessage) =>
  WhatsAppTransport.use((transport) => transport.send(message))

/** A linking attempt: that person scans its QR codes. */
export const scanning = (id: NumberId, digits: string) =>
  Effect.flatMap(WhatsAppServer, (server) =>
    attempt({ numberId: id, method: "qr", phone: null }, (event) =>
      event._tag === "QrShown"
        ? Effect.forkDetach(Effect.exit(server.scan(digits, event.text)))
        : Effect.void,
    ),
  )

export const tags = (visible: ReadonlyArray<LinkingEvent>) => visible.map(({ _tag }) => _tag)

/** How many devices that person has. */
export const getDevices = (digits: string) =>
  Effect.map(WhatsAppServer, (server) => () => server.sessions(digits).length)

export const hasCredentials = (id: NumberId) =>
  SessionVault.use((vault) =>
    Effect.map(Effect.orDie(vault.credentials(id)), (credentials) => credentials !== null),
  )

export interface LinkedNumber {
  readonly id: NumberId
  readonly digits: string
}

export const aLinkedNumber = Effect.gen(function* () {
  const digits = yield* aPerson
  const id = yield* anUnlinkedNumber
  yield* linkTo(id, digits)
  const linked: LinkedNumber = { id, digits }
  return linked
})

const getScope = ({ id }: LinkedNumber) =>
  Effect.map(
    Store.use(({ numbers }) => Effect.orDie(numbers.find(id))),
    (number) => {
      if (number === null) throw new Error("it is gone")
      return { workspaceId: number.workspaceId, mode: "live", restriction: null } as const
    },
  )

/** Turns conversations on for the number's workspace. */
export const withConversations = (
  number: LinkedNumber,
  groups = false,
  settings: Partial<ConversationSettings> = {},
) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const { workspaceId } = yield* getScope(number)
    yield* chats.putConversations(workspaceId, {
      groups,
      retentionDays: 30,
      media: "off",
      maxFileBytes: 1,
      maxStorageBytes: 1,
      holdNewChats: false,
      since: 0,
      ...settings,
    })
    return number
  }).pipe(Effect.orDie)

/** What the number has received, in order. */
export const getReceived = (
  number: LinkedNumber,
): Effect.Effect<ReadonlyArray<ReceivedMessage>, never, Store> =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    return yield* chats.receivedAfter(yield* getScope(number), number.id, 0, null, 10_000)
  }).pipe(Effect.orDie)
