/** Numbers being linked, for the suites of the whole service. */
import { Emulator } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import type { Stream } from "effect"
import { Connections, NumberLinking, QrLinks, Store } from "../../src/index.ts"
import type {
  Caller,
  ConnectNumber,
  LinkingEvent,
  LinkingRequest,
  NumberId,
} from "../../src/index.ts"
import { aKey, aWorkspace } from "./Service.ts"

export const connect = (key: Caller, body: ConnectNumber = {}) =>
  Effect.map(
    Connections.use((connections) => connections.connect(key, body, null)),
    ({ answer }) => answer,
  )

export const read = (key: Caller, number: { readonly id: number }) =>
  Connections.use((connections) => connections.get(key, number.id as NumberId))

export const scan = (number: { readonly id: number }, body: object = {}) =>
  Emulator.use((emulator) => emulator.scan(number.id as NumberId, body))

export const aKeyToConnect = Effect.flatMap(aWorkspace(), (workspace) => aKey(workspace))

/** The code behind a number's QR link. */
export const qrText = (key: Caller, number: { readonly id: number }) =>
  Effect.gen(function* () {
    const { connect: shown } = yield* read(key, number)
    const segment = String(shown?.qrCodeUrl).split("/").at(-1) ?? ""
    return yield* QrLinks.use((links) => links.read(segment))
  })

export const findAttempt = (number: { readonly id: number }) =>
  Store.use(({ numbers: store }) => store.getLinking(number.id as NumberId))

/** A scripted remote server. */
export const linkingBy = (link: (request: LinkingRequest) => Stream.Stream<LinkingEvent>) =>
  Layer.succeed(NumberLinking, { link })
