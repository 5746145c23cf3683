/** What the service is opened with. */

/** Any logger with these methods: `console`, pino, winston, or one of your own. */
export interface MessagingLogger {
  /** Details that help to find a fault. */
  readonly debug: LogMethod
  /** What happened. */
  readonly info: LogMethod
  /** What went wrong, and the service copes with by itself. */
  readonly warn: LogMethod
  /** What needs a person. */
  readonly error: LogMethod
}

/** Takes a text, then an object of fields. A logger that wants the fields first, as pino does, gets them first. */
export type LogMethod = (first: never, second: never) => unknown

/** Where everything is kept. */
export type Store =
  /** In this process, and gone with it. Needs nothing. */
  | "memory"
  | {
      /** A directory, in which an embedded PostgreSQL keeps everything, closed to other users; one process at a time may use it. Needs the package `@electric-sql/pglite`. */
      readonly embedded: string
    }
  | {
      /** URL of a PostgreSQL 15 or later, such as `postgres://user:password@host/database`. Processes may share it. */
      readonly postgres: string
      /** The schema that holds everything of the service, made at the first start; `messaging` when left out. */
      readonly schema?: string | undefined
    }
  | {
      /** Your own pool on a PostgreSQL 15 or later, of the package `pg`; `close` leaves it open. It should have room for one client of the service's own, beside those that work; with `max: 1` the service looks for work four times a second. */
      readonly pool: PostgresPool
      /** The schema that holds everything of the service, as with `postgres`. */
      readonly schema?: string | undefined
    }

/** What is used of a `Pool` of the package `pg`. */
export interface PostgresPool {
  /** Lends a client. */
  readonly connect: () => Promise<object>
  /** How many clients it has at most. */
  readonly options?: object | undefined
}

/** What numbers are connected by. */
export type Transport =
  /** Simulated phones: every number is connected, and nothing reaches a real phone. */
  | "simulated"
  /** WhatsApp, by numbers that are linked. Needs the package `@messaging-service/transport-whatsapp`. */
  | "live"
  | {
      /** WhatsApp with settings of your own, and with `telegram` in them Telegram accounts too. */
      readonly live: LiveSettings
    }

/** Settings of live numbers. */
export interface LiveSettings {
  /** Your Telegram application: with it Telegram accounts are logged in (`operator(workspace).telegramLogins`), connected and sent from. Needs the package `@messaging-service/transport-telegram`. Without it no Telegram account is connected. */
  readonly telegram?: TelegramApplication | undefined
  /** Where WhatsApp numbers connect: `wss://`, or `ws://` on this machine; WhatsApp's own when left out. */
  readonly url?: string | undefined
  /** The client version that the service names to WhatsApp, three numbers with dots; the library's own when left out. */
  readonly version?: string | undefined
  /** What phones show under their linked devices, and Telegram's apps among theirs; `Messaging Service` when left out. */
  readonly deviceName?: string | undefined
}

/** An application, as Telegram gives one to the owner of an account who asks for it at https://my.telegram.org. */
export interface TelegramApplication {
  /** Its `api_id`. */
  readonly apiId: number
  /** Its `api_hash`: 32 hexadecimal characters, a secret. */
  readonly apiHash: string
  /** `host:port` of another server than Telegram's own, for tests. */
  readonly server?: string | undefined
  /** The RSA public key of that server, in PEM. */
  readonly publicKey?: string | undefined
}

/** How requests reach `handler`. */
export interface HandlerOptions {
  /** The path that `handler` is mounted at, such as `/messaging`; the root when left out. */
  readonly basePath?: string | undefined
  /** Where the service is reached from outside: http or https without a path, such as `https://shop.example.com`. Links in answers and events begin with it, then comes `basePath`. `http://127.0.0.1:8080` when left out. */
  readonly publicUrl?: string | undefined
  /** Bearer token of the operator API, at least 32 printable ASCII characters; without one there is no operator API. */
  readonly operatorToken?: string | undefined
  /** Whether the client's address is the last entry of `X-Forwarded-For`. False when left out. */
  readonly trustProxy?: boolean | undefined
  /** Tells the address that a request came from, which a web-standard request does not know. Wrong keys and wrong operator tokens are counted for each address: after 30 wrong operator tokens in a minute, the right one is refused too from there until the minute is over. Without this option all requests count as one address, and the right operator token is never refused. */
  readonly clientAddress?: ((request: Request) => string) | undefined
}

/** Where spans and metrics go. */
export interface TelemetryOptions {
  /** Base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. */
  readonly otlp: string
  /** What the service is called there; `messaging-service` when left out. */
  readonly serviceName?: string | undefined
  /** Headers of every request to it, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What `open` takes. */
export interface OpenOptions {
  /** Where everything is kept; `memory` when left out. */
  readonly store?: Store | undefined
  /** What numbers are connected by; `simulated` when left out. */
  readonly transport?: Transport | undefined
  /**
   * On PostgreSQL, the directory for uploaded files and a generated secrets key, which are closed to other
   * users of the machine; files of yours beside them stay as they are. `./data` when left out. An embedded
   * store keeps them in its own directory, and one in memory needs none. Refused in a worker of an edge
   * host, which has no disk.
   */
  readonly dataDirectory?: string | undefined
  /**
   * 64 hexadecimal characters, from which all keys that seal and sign are derived. It must be the same at
   * every start, and in all processes that share a store. Older keys may follow it, after commas. When
   * left out one is made and kept in `dataDirectory`; it must be given on PostgreSQL in a worker of an edge host.
   */
  readonly secretsKey?: string | undefined
  /**
   * `guarded`, when left out: calls of webhooks and fetched links reach public addresses alone, and
   * webhooks need https. `open` lets them reach private and local addresses too, for development.
   */
  readonly egress?: "guarded" | "open" | undefined
  /** Where lines of the log go; warnings and errors to `console` when left out. */
  readonly logger?: MessagingLogger | undefined
  /** The least that is logged; `info` with a logger, else `warn`. */
  readonly logLevel?: "debug" | "info" | "warn" | "error" | undefined
  /** Sends spans and metrics to this OpenTelemetry collector, the last of them at `close`. Nothing is sent when left out. */
  readonly telemetry?: TelemetryOptions | undefined
  /**
   * Whether this process does what falls due, from `open` on: sends, reminders, webhooks. True when
   * left out, but for a worker of an edge host, where it is false. False for processes that only accept,
   * beside others that work, or with `drain`.
   */
  readonly worker?: boolean | undefined
  /** How long `close` waits for what is under way, in milliseconds (from 0 to 2,147,483,647); 5,000 when left out. */
  readonly shutdownMillis?: number | undefined
  /** Live numbers that this process takes at most, 1 to 100,000, where it shares them; as many as its memory allows when left out. */
  readonly maxNumbers?: number | undefined
  /** Days after their end that messages are erased, 1 to 3,650; kept when left out. A workspace's own `retentionDays` may be lower. */
  readonly retentionDays?: number | undefined
  /** How requests reach `handler`. */
  readonly http?: HandlerOptions | undefined
}
