/**
 * The adapter over a store, in memory unless a test wants another, and a WhatsApp server on this machine:
 * numbers are linked by QR code, and what they send is read on the phones of others. Connections live by
 * the real clock.
 */
import { assert } from "@effect/vitest"
import { parsePhone, Secrets, SecretsKey } from "@messaging-service/core"
import {
  Ids,
  NumberLinking,
  NumberOwnership,
  NumberProxies,
  NumberStore,
  SentTexts,
  SessionStore,
  SessionVault,
  StoreUnavailable,
  WhatsAppTransport,
  WorkspaceStore,
} from "@messaging-service/core/ports"
import type {
  LinkingEvent,
  LinkingRequest,
  NumberId,
  OutgoingMessage,
  Phone,
  Target,
  TransportEvent,
  TransportId,
} from "@messaging-service/core/ports"
import { layer as memoryStore } from "@messaging-service/store-memory"
import type { MemoryStore } from "@messaging-service/store-memory"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Clock, Context, Effect, Layer, Redacted, Stream } from "effect"
import { defaultSettings, layer as layerWhatsApp } from "../src/index.ts"
import type { WhatsAppSettings } from "../src/index.ts"

export const phone = (text: string): Phone => {
  const parsed = parsePhone(text)
  assert.isDefined(parsed)
  return parsed as Phone
}

const live = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** What the adapter told by itself, oldest first. */
export const Told = Context.Service<"test/Told", Array<TransportEvent>>("test/Told")

/** What the stores do not answer, by the operation and what it was given; `write` sees sealed texts. */
interface StoreTrouble {
  meets: (operation: string, ...given: ReadonlyArray<unknown>) => boolean
  /** Operations that were refused so far. */
  readonly met: Array<string>
}

export const Trouble = Context.Service<StoreTrouble, StoreTrouble>("test/Trouble")

/** While it is there, these operations are not answered. */
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

/** The service, whose operations fail while there is trouble. */
const troubled = <S extends object>(service: S, trouble: StoreTrouble): S => {
  const failing = <A>(operation: string, given: ReadonlyArray<unknown>, run: () => A) =>
    Effect.suspend((): Effect.Effect<unknown, unknown> => {
      if (!trouble.meets(operation, ...given)) return run() as Effect.Effect<unknown>
      trouble.met.push(operation)
      return Effect.fail(new StoreUnavailable({ operation, cause: "trouble" }))
    })
  return Object.fromEntries(
    Object.entries(service).map(([name, member]: [string, unknown]) => [
      name,
      typeof member === "function"
        ? (...given: ReadonlyArray<unknown>) =>
            failing(name, given, () => Reflect.apply(member, service, given))
        : failing(name, [], () => member),
    ]),
  ) as S
}

/** What `aText` made: messages reach the transport past the store. */
const textsMade = new Map<TransportId, string>()

const sentTexts = SentTexts.of({
  of: (_, transportId) => Effect.sync(() => textsMade.get(transportId) ?? null),
})

const layerTroubled = Layer.effectContext(
  Effect.gen(function* () {
    const trouble: StoreTrouble = { meets: () => false, met: [] }
    return Context.make(Trouble, trouble).pipe(
      Context.add(SessionStore, troubled(yield* SessionStore, trouble)),
      Context.add(NumberStore, troubled(yield* NumberStore, trouble)),
      Context.add(SentTexts, troubled(sentTexts, trouble)),
    )
  }),
)

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
export const layerStoresOn = (store: Layer.Layer<MemoryStore>) =>
  SessionVault.layer.pipe(
    Layer.merge(layerProxies),
    Layer.provide(Secrets.layer),
    Layer.provideMerge(layerTroubled),
    Layer.provideMerge(Layer.merge(store, NumberOwnership.layerAll)),
    Layer.provide(SecretsKey.layerRandom),
    Layer.provideMerge(Ids.layerRandom),
  )

export const layerStores = layerStoresOn(memoryStore)

export const layerServer = WhatsAppServer.layer()

/** Reads the adapter's events for as long as the layer lives, and keeps numbers' statuses by them. */
const layerTold = Layer.effect(
  Told,
  Effect.gen(function* () {
    const told: Array<TransportEvent> = []
    const numbers = yield* NumberStore
    const { listen } = yield* WhatsAppTransport
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

/** For tests that take events by themselves. */
export const layerNotTold = Layer.succeed(Told, [])

export const layerAdapter = (
  settings: Partial<WhatsAppSettings> = {},
  taking: Layer.Layer<typeof Told.Identifier, never, WhatsAppTransport | NumberStore> = layerTold,
) =>
  taking.pipe(
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
    Layer.provide(live),
  )

/** Everything: an adapter with these settings over stores and a far side of its own. */
export const layerWorldWith = (settings: Partial<WhatsAppSettings>) =>
  layerAdapter(settings).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

export const layerWorld = layerWorldWith({})

let made = 0

/** A person of the far side, with a phone of their own. */
export const aPerson = Effect.gen(function* () {
  const server = yield* WhatsAppServer
  const digits = `49151${String(10_000_000 + ++made)}`
  yield* server.person(digits)
  return digits
})

/** A number of a workspace of its own that is not linked. */
export const anUnlinkedNumber = Effect.gen(function* () {
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
  const number = yield* (yield* NumberStore).insert({
    workspaceId: id,
    mode: "live",
    phone: null,
    label: "",
    platform: "whatsapp",
    status: "connecting",
    loginMethod: "qr",
    createdAt: 0,
  })
  return number.id
})

/**
 * Runs attempts as the worker does, until one is linked or fails; `answer` is what the person does
 * with each event.
 */
export const attempt = <R>(
  request: LinkingRequest,
  answer: (event: LinkingEvent) => Effect.Effect<unknown, never, R>,
) =>
  Effect.gen(function* () {
    const { link } = yield* NumberLinking
    const numbers = yield* NumberStore
    const shown: Array<LinkingEvent> = []
    const isOver = () => shown.some(({ _tag }) => _tag === "Linked" || _tag === "Failed")
    yield* numbers.setStatus(request.numberId, "connecting", undefined, 0)
    while (!isOver()) {
      yield* link(request).pipe(
        Stream.takeWhileEffect((event) =>
          Effect.gen(function* () {
            shown.push(event)
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
    return shown
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

export const aText = (
  { id }: Pick<LinkedNumber, "id">,
  to: Target,
  text = "Hello",
): OutgoingMessage => {
  const transportId = (++made).toString(16).toUpperCase().padStart(20, "B") as TransportId
  textsMade.set(transportId, text)
  return { numberId: id, transportId, to, text, media: null }
}

export const to = (digits: string): Target => ({ kind: "phone", phone: phone(`+${digits}`) })

export const sendNow = (message: OutgoingMessage) =>
  WhatsAppTransport.use((transport) => transport.send(message))

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

/** An attempt at linking each of whose QR codes that person scans. */
export const scanning = (id: NumberId, digits: string) =>
  Effect.flatMap(WhatsAppServer, (server) =>
    attempt({ numberId: id, method: "qr", phone: null }, (event) =>
      event._tag === "QrShown"
        ? Effect.forkDetach(Effect.exit(server.scan(digits, event.text)))
        : Effect.void,
    ),
  )

export const tags = (shown: ReadonlyArray<LinkingEvent>) => shown.map(({ _tag }) => _tag)

/** How many devices that person has. */
export const devicesOf = (digits: string) =>
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
