/** What the app that serves the HTTP interface decides about it (contract: Configuration). */
import { Context, Effect } from "effect"
import type { Redacted } from "effect"
import type { EmulatorControls } from "./operator/pipeline.ts"
import type { ClientAddressSettings } from "./IncomingRequest.ts"

export interface HttpSettings extends ClientAddressSettings {
  /** The bearer token of the operator API; null for no operator API at all. */
  readonly operatorToken: Redacted.Redacted | null
  /** False: neither version of the interface, nor what its links lead to. True when left out. */
  readonly customers?: boolean
  /** False: `/metrics` is served elsewhere, or nowhere. True when left out. */
  readonly metrics?: boolean
  /**
   * Null for no emulator controls; else `emulatorControls` of `@messaging-service/http/emulator`,
   * which need the `Emulator` of `@messaging-service/emulator` among the services.
   */
  readonly emulator: EmulatorControls | null
  /**
   * The origin that links begin with, without a slash at its end; an effect when it is known only
   * once a port is bound.
   */
  readonly publicUrl: string | Effect.Effect<string>
  /**
   * The origin that `docs` of errors begins with, where it is another one than this app's own, as on a
   * port for operators alone.
   */
  readonly docsUrl?: string
  /** Whether a web-standard request came after the service was closed: it is answered 503. */
  readonly cameTooLate?: (request: Request) => boolean
  /** Returns once requests that are still under way are to be ended: they are answered 500 then. */
  readonly cutOff?: Effect.Effect<void>
}

export class HttpOptions extends Context.Service<HttpOptions, HttpSettings>()("http/HttpOptions") {}

/** What `docs` of errors begins with. */
export const docsUrlOf = ({ docsUrl, publicUrl }: HttpSettings): Effect.Effect<string> =>
  docsUrl === undefined ? publicUrlOf({ publicUrl }) : Effect.succeed(docsUrl)

export const publicUrlOf = ({
  publicUrl,
}: Pick<HttpSettings, "publicUrl">): Effect.Effect<string> =>
  typeof publicUrl === "string" ? Effect.succeed(publicUrl) : publicUrl
