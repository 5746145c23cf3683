/**
 * The whole service over the memory store or embedded PostgreSQL, media files on disk and simulated
 * phones, served on a free port.
 */
import { layerServer } from "@effect/platform-node/NodeHttpServer"
import { Egress, PublicUrl, Worker } from "@messaging-service/core"
import type {
  Admission,
  BrowserSessions,
  MediaFiles,
  StoreUnavailable,
  Store,
} from "@messaging-service/core"
import { layerQrCodeImages, realTimeLayer } from "@messaging-service/node"
import { layer as layerMemory } from "@messaging-service/store-memory"
import * as Simulated from "@messaging-service/emulator"
import { Layer, Redacted } from "effect"
import { createServer } from "node:http"
import { emulatorControls } from "../src/emulator.ts"
import { HttpOptions, layerHttp } from "../src/index.ts"
import type { DashboardFile, HttpSettings } from "../src/index.ts"
import { layerDisk } from "./Disk.ts"
import { HttpTestClients } from "./HttpTestClients.ts"

export const operatorToken = "an operator's token"

export const publicUrl = "https://messages.test"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A dashboard of three files. */
export const dashboardFiles: ReadonlyMap<string, DashboardFile> = new Map([
  [
    "index.html",
    {
      body: bytes('<meta content="./"><script src="./assets/main-1a2b.js"></script>'),
      type: "text/html; charset=utf-8",
      etag: '"page"',
      br: bytes("of another page"),
      immutable: false,
    },
  ],
  [
    "assets/main-1a2b.js",
    {
      body: bytes("console.log(1)"),
      type: "text/javascript; charset=utf-8",
      etag: '"main"',
      br: bytes("br"),
      gzip: bytes("gzip"),
      immutable: true,
    },
  ],
  ["icon.svg", { body: bytes("<svg/>"), type: "image/svg+xml", etag: '"icon"', immutable: false }],
])

export const defaultSettings: HttpSettings = {
  operatorToken: Redacted.make(operatorToken),
  dashboard: () => Promise.resolve(dashboardFiles),
  emulator: emulatorControls,
  publicUrl,
  trustProxy: false,
  clientAddress: () => "192.0.2.1",
}

export const layerPorts = Simulated.layerPorts(
  Layer.merge(layerMemory, layerDisk),
  layerQrCodeImages,
).pipe(Layer.provideMerge(realTimeLayer))

export interface ServiceParts {
  readonly settings?: Partial<HttpSettings>
  /** Replaces some of the core's services. */
  readonly instead?: Layer.Layer<never, never, Admission | BrowserSessions | Store | MediaFiles>
  /** Replaces some of the ports, or the clock. */
  readonly ports?: Layer.Layer<never, StoreUnavailable, Layer.Success<typeof layerPorts>>
  /** The egress; none by default. */
  readonly egress?: Layer.Layer<Egress>
}

/** One service with a running worker, and both clients. */
export const layerService = ({
  settings = {},
  instead = Layer.empty,
  ports = Layer.empty,
  egress = Egress.layerClosed,
}: ServiceParts = {}) => {
  const all = { ...defaultSettings, ...settings }
  return HttpTestClients.layer(all).pipe(
    Layer.provideMerge(layerHttp),
    Layer.provideMerge(Layer.succeed(HttpOptions, all)),
    Layer.provideMerge(layerServer(createServer, { port: 0, host: "127.0.0.1" })),
    Layer.provideMerge(instead),
    Layer.provideMerge(Worker.layerRunning),
    Layer.provideMerge(Simulated.layerService),
    Layer.provide(Layer.succeed(PublicUrl, publicUrl)),
    Layer.provideMerge(egress),
    Layer.provideMerge(ports),
    Layer.provideMerge(layerPorts),
  )
}
