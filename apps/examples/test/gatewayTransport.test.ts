/**
 * The transport of `docs/writing-a-transport.md` follows the contract of transports, against a
 * gateway on loopback.
 */
import { assert, it } from "@effect/vitest"
import * as Core from "@messaging-service/core"
import { WhatsAppTransport } from "@messaging-service/core"
import type { NumberId, Phone, TransportId } from "@messaging-service/core"
import { RemoteServer, listenOnLoopback, transportContract } from "@messaging-service/testkit"
import type { ReceivedCopy, Taking } from "@messaging-service/testkit"
import { layerCryptoIds, layerQrCodeImages } from "@messaging-service/node"
import * as StoreMemory from "@messaging-service/store-memory"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { byWord, sendAndFollow } from "../src/coreWithoutHttp.ts"
import { layerGateway } from "../src/gatewayTransport.ts"

const known = "+15550100002" as Phone

class Line {
  connected = true
  reaction: Taking = "acknowledge"
  waiting = 0
  readonly received: Array<ReceivedCopy> = []
}

/** The remote server: numbers by id, each with what its recipients see. */
class Gateway {
  readonly #lines = new Map<string, Line>()

  add(): NumberId {
    const id = this.#lines.size + 1
    this.#lines.set(String(id), new Line())
    return id as NumberId
  }

  line(id: NumberId): Line {
    const line = this.#lines.get(String(id))
    if (line === undefined) throw new Error(`no number ${id}`)
    return line
  }

  /** The contract suite of transports defines each `Taking`. */
  async answer(request: IncomingMessage, response: ServerResponse) {
    const [, number = "", id = ""] =
      /^\/numbers\/(\d+)\/messages\/(\w+)$/.exec(request.url ?? "") ?? []
    const bytes = await buffer(request)
    const end = bytes.indexOf("\n")
    const { file, text, to } = JSON.parse(bytes.subarray(0, end).toString())
    const line = this.#lines.get(number)
    if (line === undefined || !line.connected) return void response.writeHead(409).end()
    if (line.reaction === "stay_silent") {
      line.waiting++
      return void response.on("close", () => line.waiting--)
    }
    if (to.phone !== known) return void response.writeHead(404).end()
    if (line.reaction === "refuse") return void response.writeHead(422).end("Not today.")
    if (!line.received.some(({ transportId }) => transportId === id)) {
      const content = bytes.subarray(end + 1)
      line.received.push({
        transportId: id as TransportId,
        to: to.phone,
        text,
        media: file && {
          fileName: file.name,
          mimeType: file.type,
          size: content.length,
          sha256: createHash("sha256").update(content).digest("hex"),
        },
      })
    }
    if (line.reaction === "acknowledge") return void response.writeHead(200).end()
    line.reaction = "acknowledge"
    response.destroy()
  }
}

const layerGatewayNumbers = Layer.unwrap(
  Effect.gen(function* () {
    const gateway = new Gateway()
    const origin = yield* listenOnLoopback(
      createServer((request, response) => {
        // A truncated message does not count.
        gateway.answer(request, response).catch(() => response.destroy())
      }),
    )
    const remoteServer = RemoteServer.of({
      aNumber: Effect.sync(() => gateway.add()),
      recipients: [{ target: { kind: "phone", phone: known }, displayedAs: known }],
      strangers: [
        {
          target: { kind: "phone", phone: "+15550100009" as Phone },
          code: "recipient_not_found",
        },
      ],
      namesPictures: true,
      take: (id, claiming) => Effect.sync(() => void (gateway.line(id).reaction = claiming)),
      logOut: (id) => Effect.sync(() => void (gateway.line(id).connected = false)),
      logIn: (id) => Effect.sync(() => void (gateway.line(id).connected = true)),
      seen: (id) => Effect.sync(() => gateway.line(id).received),
      waiting: (id) => Effect.sync(() => gateway.line(id).waiting > 0),
    })
    return layerGateway(origin).pipe(Layer.merge(Layer.succeed(RemoteServer, remoteServer)))
  }),
)

transportContract("a gateway over HTTP", WhatsAppTransport, layerGatewayNumbers)

const Service = Core.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      StoreMemory.layerMediaFiles,
      layerQrCodeImages,
      Core.Egress.layerClosed,
      Core.WakeUp.layerLocal,
      Core.NumberOwnership.layerAll,
      layerGatewayNumbers,
    ),
  ),
  Layer.provideMerge(StoreMemory.layer),
  Layer.provideMerge(Core.SecretsKey.layerRandom),
  Layer.provideMerge(layerCryptoIds),
)

it.live("the whole service sends over it", () =>
  Effect.gen(function* () {
    const remoteServer = yield* RemoteServer
    const numberId = yield* remoteServer.aNumber
    assert.deepStrictEqual(yield* sendAndFollow(yield* byWord), ["waiting", "sent"])
    assert.deepStrictEqual(
      (yield* remoteServer.seen(numberId)).map(({ text }) => text),
      ["Hello"],
    )
  }).pipe(Effect.provide(Service)),
)
