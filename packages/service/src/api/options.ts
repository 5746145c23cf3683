/** Options of `open`. */

/** Any logger with these methods: `console`, pino, winston, or one of your own. */
export interface MessagingLogger {
  /** Details that help to find a fault. */
  readonly debug: LogMethod
  /** Normal events. */
  readonly info: LogMethod
  /** Problems that the service handles itself. */
  readonly warn: LogMethod
  /** Problems that need a person. */
  readonly error: LogMethod
}

/**
 * Methods take a text, then an object of fields. For a logger that takes the fields first, such as
 * pino, the service swaps them.
 */
export type LogMethod = (first: never, second: never) => unknown

/** Where the service stores everything. */
export type Store =
  /** In this process, for its lifetime. Needs no setup. */
  | "memory"
  | {
      /**
       * A directory, where an embedded PostgreSQL stores everything. The service closes it to other
       * users; one process at a time may use it. Needs the package `@electric-sql/pglite`.
       */
      readonly embedded: string
    }
  | {
      /** URL of a PostgreSQL 15 or later, such as `postgres://user:password@host/database`. Processes may share it. */
      readonly postgres: string
      /** The service's schema, which the first start creates. Default: `messaging`. */
      readonly schema?: string | undefined
    }
  | {
      /**
       * Your own pool on a PostgreSQL 15 or later, of the package `pg`; `close` leaves it open. Size
       * it for the working clients plus one that the service keeps. A call of the service takes a client
       * of its own, unless it joins a transaction: make no other while one of your transactions is open,
       * or enough of them at once wait for each other. With `max: 1` the service polls
       * for work four times a second.
       */
      readonly pool: PostgresPool
      /** The service's schema, as with `postgres`. */
      readonly schema?: string | undefined
    }

/** The part of `pg`'s `Pool` that the service uses. */
export interface PostgresPool {
  /** Returns a client. */
  readonly connect: () => Promise<object>
  /** Maximum of clients. */
  readonly options?: object | undefined
}

/** How numbers connect. */
export type Transport =
  /** Simulated phones: every number is connected, and nothing reaches a real phone. */
  | "simulated"
  /** WhatsApp, through linked numbers. Needs the package `@messaging-service/transport-whatsapp`. */
  | "live"
  | {
      /** WhatsApp with your own settings; add `telegram` for Telegram accounts. */
      readonly live: LiveSettings
    }

/** Settings of live numbers. */
export interface LiveSettings {
  /**
   * Your Telegram application. With it the service logs in Telegram accounts
   * (`operator(workspace).telegramLogins`), connects them and sends from them. Needs the package
   * `@messaging-service/transport-telegram`. Without it the service connects no Telegram account.
   */
  readonly telegram?: TelegramApplication | undefined
  /** Server of WhatsApp numbers: `wss://`, or `ws://` on this machine. Default: WhatsApp's own. */
  readonly url?: string | undefined
  /** Client version for WhatsApp, three numbers with dots. Default: the library's. */
  readonly version?: string | undefined
  /**
   * Device name that WhatsApp shows under linked devices, and Telegram among its sessions. Default:
   * `Messaging Service`.
   */
  readonly deviceName?: string | undefined
}

/** A Telegram application. Create one for your account at https://my.telegram.org. */
export interface TelegramApplication {
  /** Its `api_id`. */
  readonly apiId: number
  /** Its `api_hash`: 32 hexadecimal characters, a secret. */
  readonly apiHash: string
  /** `host:port` of a test server to use instead of Telegram's. */
  readonly server?: string | undefined
  /** RSA public key of that server, in PEM. */
  readonly publicKey?: string | undefined
}

/** How requests reach `handler`. */
export interface HandlerOptions {
  /** Path where you mount `handler`, such as `/messaging`. Default: the root. */
  readonly basePath?: string | undefined
  /**
   * Public URL of the service: http or https without a path, such as `https://shop.example.com`. Links
   * in responses and events begin with it and `basePath`. Default: `http://127.0.0.1:8080`.
   */
  readonly publicUrl?: string | undefined
  /**
   * Bearer token of the operator API, at least 32 printable ASCII characters. Without one the service
   * has no operator API.
   */
  readonly operatorToken?: string | undefined
  /** Whether the last entry of `X-Forwarded-For` is the client's address. Default: false. */
  readonly trustProxy?: boolean | undefined
  /**
   * Returns the client address of a request, because a web-standard request does not contain it. The
   * service counts wrong keys and wrong operator tokens per address. After 30 wrong operator tokens in
   * a minute it refuses that address, even with the right token, until the minute is over. Without
   * this option all requests share one address, and the service never refuses the right operator
   * token.
   */
  readonly clientAddress?: ((request: Request) => string) | undefined
}

/** Where the service sends spans and metrics. */
export interface TelemetryOptions {
  /**
   * Base URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as
   * `http://127.0.0.1:4318`.
   */
  readonly otlp: string
  /** Service name for the collector. Default: `messaging-service`. */
  readonly serviceName?: string | undefined
  /** Headers of every request to it, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of `open`. */
export interface OpenOptions {
  /** Where the service stores everything. Default: `memory`. */
  readonly store?: Store | undefined
  /** How numbers connect. Default: `simulated`. */
  readonly transport?: Transport | undefined
  /**
   * On PostgreSQL, the directory for uploaded files and a generated secrets key. The service closes
   * both to other users of the machine, and leaves your own files there as they are. Default:
   * `./data`. An embedded store uses its own directory, and a memory store needs none. The service
   * refuses it in a worker of an edge host, which has no disk.
   */
  readonly dataDirectory?: string | undefined
  /**
   * 64 hexadecimal characters. The service derives all its keys from them. Use the same at every
   * start, and in total processes that share a store. Older keys may follow, after commas. By default
   * the service generates one in `dataDirectory`. Required on PostgreSQL in a worker of an edge host.
   */
  readonly secretsKey?: string | undefined
  /**
   * Default, `guarded`: webhook calls and link fetches reach only public addresses, and webhooks need
   * https. `open` also allows private and local addresses, for development.
   */
  readonly egress?: "guarded" | "open" | undefined
  /** Logger. Default: warnings and errors go to `console`. */
  readonly logger?: MessagingLogger | undefined
  /** Lowest logged level. Default: `info` with a logger, else `warn`. */
  readonly logLevel?: "debug" | "info" | "warn" | "error" | undefined
  /** Sends spans and metrics to this OpenTelemetry collector, the last at `close`. Default: none. */
  readonly telemetry?: TelemetryOptions | undefined
  /**
   * Whether this process runs due work from `open` on: sends, reminders, webhooks. Default: true, but
   * false in a worker of an edge host. Use false for processes that only accept messages, when others
   * work or when you call `drain`.
   */
  readonly worker?: boolean | undefined
  /**
   * How long `close` waits for running work, in milliseconds (from 0 to 2,147,483,647). Default:
   * 5,000.
   */
  readonly shutdownMillis?: number | undefined
  /**
   * Maximum of live numbers for this process, 1 to 100,000, when processes share them. Default: as
   * many as its memory allows.
   */
  readonly maxNumbers?: number | undefined
  /**
   * Days after their end until messages are erased, 1 to 3,650. Default: never. A workspace's own
   * `retentionDays` may be lower.
   */
  readonly retentionDays?: number | undefined
  /** How requests reach `handler`. */
  readonly http?: HandlerOptions | undefined
}
