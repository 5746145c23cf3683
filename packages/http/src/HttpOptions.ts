/** The options of the app that serves the HTTP interface (contract: Configuration). */
import { Context, Effect } from "effect"
import type { Redacted } from "effect"
import type { EmulatorControls } from "./operator/pipeline.ts"
import type { ClientAddressSettings } from "./IncomingRequest.ts"

/** A file of the dashboard, by its path without a leading slash. */
export interface DashboardFile {
  readonly body: Uint8Array
  /** Its content type. */
  readonly type: string
  /** With its quotes. */
  readonly etag: string
  /** Compressed copies; absent where they would not be smaller. */
  readonly br?: Uint8Array
  readonly gzip?: Uint8Array
  /** Whether its name holds a hash of its content. */
  readonly immutable: boolean
}

/** Called when the first page is asked for. */
export type DashboardSource = () => Promise<ReadonlyMap<string, DashboardFile>>

export interface HttpSettings extends ClientAddressSettings {
  /**
   * The bearer token of the operator API. Null admits no operator; portals still are admitted where
   * a dashboard is served.
   */
  readonly operatorToken: Redacted.Redacted | null
  /** Loads the dashboard's files. Null or left out: no pages and no browser sessions. */
  readonly dashboard?: DashboardSource | null
  /** Whether the emulator controls can move the clock. Default: false. */
  readonly adjustableClock?: boolean
  /** False serves neither version of the interface, and no links. Default: true. */
  readonly customers?: boolean
  /** False when `/metrics` is served elsewhere, or not at all. Default: true. */
  readonly metrics?: boolean
  /**
   * Null for no emulator controls; else `emulatorControls` of `@messaging-service/http/emulator`,
   * which need the `Emulator` of `@messaging-service/emulator` among the services.
   */
  readonly emulator: EmulatorControls | null
  /** The origin of links, without a trailing slash; an effect when only a bound port decides it. */
  readonly publicUrl: string | Effect.Effect<string>
  /** The origin of `docs` in errors, where it differs from `publicUrl`, as on an operators' port. */
  readonly docsUrl?: string
  /** Whether a web-standard request came after the service closed, and gets a 503. */
  readonly cameTooLate?: (request: Request) => boolean
  /** Returns when the process begins to stop: streams end, so that only requests are waited for. */
  readonly stopping?: Effect.Effect<void>
  /** Returns when requests in flight are to end: they are answered 500. */
  readonly cutOff?: Effect.Effect<void>
}

export class HttpOptions extends Context.Service<HttpOptions, HttpSettings>()("http/HttpOptions") {}

/** The prefix of `docs` in errors. */
export const getDocsUrl = ({ docsUrl, publicUrl }: HttpSettings): Effect.Effect<string> =>
  docsUrl === undefined ? getPublicUrl({ publicUrl }) : Effect.succeed(docsUrl)

export const getPublicUrl = ({
  publicUrl,
}: Pick<HttpSettings, "publicUrl">): Effect.Effect<string> =>
  typeof publicUrl === "string" ? Effect.succeed(publicUrl) : publicUrl
