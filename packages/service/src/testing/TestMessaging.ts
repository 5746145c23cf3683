/**
 * Options and result of `openTest`: a service for one test, with controls for its time and its phones.
 */
import type { ReceivedKind, ReceivedMessage } from "../api/chats.ts"
import type { Api, Messaging } from "../api/Messaging.ts"
import type { HasId, Moment } from "../api/common.ts"
import type { EnsureWorkspace, Workspace } from "../api/operator.ts"
import type { WaitsFor } from "../api/messages.ts"
import type { SendingNumber } from "../api/numbers.ts"
import type { HandlerOptions, MessagingLogger } from "../api/options.ts"

/** Initial state of a test. */
export interface TestOptions {
  /** Initial time. Default: 2026-01-01T00:00:00Z. */
  readonly at?: Moment | undefined
  /** The same seed gives the same run: ids, keys, jitter. Default: `0`. */
  readonly seed?: string | number | undefined
  /**
   * Draws from `seed` which runnable task comes next, and where to interrupt tasks: another seed is
   * another interleaving. Default: off, so tasks run in their order.
   */
  readonly interleave?: boolean | undefined
  /** The workspace of `api`. Default: one with a WhatsApp number, +15550100001. */
  readonly workspace?: EnsureWorkspace | undefined
  /** Turns conversations on for the workspace, groups included. Default: off. */
  readonly conversations?: boolean | undefined
  /** How `messaging.handler` and `nodeHandler` serve, as in `open`. Default origin: http://messaging.example. */
  readonly http?: HandlerOptions | undefined
  /** Logger. Default: warnings and errors go to `console`. */
  readonly logger?: MessagingLogger | undefined
}

/** A span of service time; it is the sum of its parts. */
export interface Span {
  /** Of 24 hours. */
  readonly days?: number | undefined
  /** Of 60 minutes. */
  readonly hours?: number | undefined
  /** Of 60 seconds. */
  readonly minutes?: number | undefined
  /** Of 1,000 milliseconds. */
  readonly seconds?: number | undefined
  /** Whole milliseconds. */
  readonly millis?: number | undefined
}

/** A copy on a recipient's phone. */
export interface SentCopy {
  /** Arrival time. */
  readonly at: Date
  /** Id of the message. */
  readonly messageId: number
  /** Id of the sending number. */
  readonly numberId: number
  /** The phone with +, the group's name, or the username. */
  readonly to: string
  /** The text, or the caption of the media. */
  readonly text: string
  /** The text of the message that it quotes; absent without one. */
  readonly quote?: string
  /** Null without an image or a file. */
  readonly media: {
    /** Its name. */
    readonly fileName: string
    /** Such as `image/png`. */
    readonly mimeType: string
    /** Bytes. */
    readonly size: number
    /** SHA-256 of its bytes, hexadecimal. */
    readonly sha256: string
  } | null
}

/** Outcome of a call to the receiver: a status, or no response at all. */
export type ReceiverAnswer = number | "timeout" | "dns" | "tls" | "connection"

/** A call that the receiver got. */
export interface ReceivedCall {
  /** Arrival time. */
  readonly at: Date
  /** Its URL. */
  readonly url: string
  /** Names in lower case, including `service-signature` and `service-timestamp`. */
  readonly headers: Readonly<Record<string, string>>
  /** The signed body, unchanged. */
  readonly body: string
  /** The body parsed as JSON; null when it is not JSON. */
  readonly json: unknown
  /** The receiver's response. */
  readonly answered: ReceiverAnswer
}

/**
 * The receiver of webhooks and callbacks. Every address but those of `receiverAt` leads here, and the test opens no
 * socket.
 */
export interface TestReceiver {
  /** URL of the preconfigured endpoint; it receives every event. */
  readonly url: string
  /** The secret that signs its calls. */
  readonly secret: string
  /**
   * Responses to the next calls, in order; later calls get 200. A `timeout` and other failures occur
   * at once, without waiting. Fails with nothing of its own.
   */
  readonly answer: (...answers: ReadonlyArray<ReceiverAnswer>) => void
  /**
   * From now on every call gets that response, until `up`. Default: `connection`. Forgets `answer`. Fails with
   * nothing of its own.
   */
  readonly down: (answer?: ReceiverAnswer) => void
  /** From now on every call gets 200. Forgets `answer` and `down`. Fails with nothing of its own. */
  readonly up: () => void
  /** Every call, oldest first. */
  readonly calls: ReadonlyArray<ReceivedCall>
  /**
   * Serves a file at an address, for messages with a link as media. Fails with nothing of its own.
   */
  readonly serve: (url: string, content: Uint8Array, mimeType: string) => void
}

/** What a receiver of the emulator answers. */
export interface NamedAnswer {
  /** Its status. Default: 200. */
  readonly status?: 200 | 410 | 500 | undefined
  /** Its content, up to 16,384 characters. Default: none. */
  readonly body?: string | undefined
  /** Answers nothing: a delivery ends after 15 seconds of service time. Default: false. */
  readonly hangs?: boolean | undefined
}

/** A call that a receiver of the emulator got. */
export interface NamedCall {
  /** Arrival time. */
  readonly at: Date
  /** Its path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The signed body, unchanged. */
  readonly body: string
  /** The body parsed as JSON; null when it is not JSON. */
  readonly json: unknown
  /** Id of the event; null without one. */
  readonly eventId: string | null
  /** Type of the event; null for a callback. */
  readonly type: string | null
  /** Whether a secret of the workspace signed it. */
  readonly signature: "valid" | "invalid" | "none"
  /** The answer that it got; null for none at all. */
  readonly answered: 200 | 410 | 500 | null
}

/** A receiver of the emulator, for the webhooks and callbacks of `workspace`. */
export interface NamedReceiver {
  /** A webhook's or callback's URL may have any path below it. */
  readonly url: string
  /** Its latest 100 calls, oldest first. Fails with `validation_failed`. */
  readonly calls: () => Promise<ReadonlyArray<NamedCall>>
  /** From now on every call gets that answer. Fails with `validation_failed`. */
  readonly answers: (answer: NamedAnswer) => Promise<void>
}

/** A statement as an object, as `pg` and the libraries above it write one. */
export interface TestStatement {
  /** Its text. */
  readonly text: string
  /** Values for `$1`, `$2` …; those of a second argument win. */
  readonly values?: ReadonlyArray<unknown> | undefined
  /** Of a prepared statement; unused. */
  readonly name?: string | undefined
  /** With `array` each row is an array of its values. */
  readonly rowMode?: string | undefined
}

/** The result of a statement. */
export interface TestResult {
  /** The first word of its text, in upper case. */
  readonly command: string
  /** One per row: an object, or an array with `rowMode: "array"`. */
  readonly rows: ReadonlyArray<unknown>
  /** Rows that it returned or changed. */
  readonly rowCount: number
  /** Its columns, as the first row has them. */
  readonly fields: ReadonlyArray<{
    /** Name of the column. */
    readonly name: string
  }>
}

/**
 * Answers your program's own statements: with the rows, each an object with its columns in the order of
 * the statement, or with the number of rows that it changed.
 */
export type TestAnswer = (
  text: string,
  values: ReadonlyArray<unknown>,
) => ReadonlyArray<unknown> | number | Promise<ReadonlyArray<unknown> | number>

/** A client of no database, for `transaction` of a send. */
export interface TestClient {
  /** Runs a statement. Fails with `message_rejected`, at a commit, and with what `answer` fails with. */
  readonly query: (
    statement: string | TestStatement,
    values?: ReadonlyArray<unknown>,
  ) => Promise<TestResult>
  /** Every statement of your program, oldest first. */
  readonly statements: ReadonlyArray<string>
  /** Does nothing, as a pool has no use for it. Fails with nothing of its own. */
  readonly release: () => void
}

/** What a person writes. */
export interface Writing {
  /** The text. Default: none. */
  readonly text?: string | undefined
  /** Exact name of the group that it is written in. Default: none, only to the number. */
  readonly group?: string | undefined
  /** What it is. Default: `text`, `document` with a file. */
  readonly kind?: ReceivedKind | undefined
  /** A file that comes with it, up to 1 MiB. Default: none. */
  readonly file?:
    | {
        /** As the sender says. Default: none. */
        readonly name?: string | undefined
        /** Its bytes. */
        readonly content: Uint8Array
      }
    | undefined
  /** To which number. Default: the first. */
  readonly to?: HasId | undefined
}

/** A person with a phone, or a Telegram user. */
export interface TestPerson {
  /**
   * The person writes to a number, and its message is stored with its event. Fails with `validation_failed`,
   * `number_not_found`, `conversations_not_enabled`.
   */
  readonly writes: (message: string | Writing) => Promise<ReceivedMessage>
  /**
   * The person writes what the number cannot read. Without a copy it is stored 10 minutes later, as of kind
   * `unreadable`. Fails with `validation_failed`, `number_not_found`, `conversations_not_enabled`.
   */
  readonly writesUnreadable: (message: string | Writing) => Promise<UnreadableWriting>
  /**
   * The author of a received message changes its text. Fails with `validation_failed`,
   * `received_message_not_found`.
   */
  readonly edits: (message: HasId, text: string) => Promise<ReceivedMessage>
  /** The author of a received message takes it back. Fails with `received_message_not_found`. */
  readonly revokes: (message: HasId) => Promise<ReceivedMessage>
  /**
   * The person reacts to a message that your program has sent, not to a received one; null takes the reaction
   * back. Fails with `validation_failed`, `message_not_found`, `conversations_not_enabled`.
   */
  readonly reacts: (message: HasId, emoji: string | null) => Promise<void>
}

/** What a number could not read. */
export interface UnreadableWriting {
  /** The copy that the number asked for comes, and is stored. Fails with `conversations_not_enabled`. */
  readonly copy: () => Promise<ReceivedMessage>
}

/** How much of a quota to use up. */
export interface QuotaUse {
  /** Messages that still fit afterwards. Default: none. */
  readonly leave?: number | undefined
  /** Default: the first number. */
  readonly number?: HasId | undefined
}

/** What WhatsApp lets a number do with new chats; what is left out is not restricted. */
export interface TestRestrictions {
  /** Until then people who never wrote to the number cannot be written to. */
  readonly newChatsClosedUntil?: Date | string | null | undefined
  /** The cap of new chats. */
  readonly limit?: number | null | undefined
  /** New chats of the period. */
  readonly used?: number | undefined
  /** When `used` starts again. */
  readonly resetsAt?: Date | string | null | undefined
}

/** The simulated phones. Without `number` a control acts on the first one. */
export interface TestPhones {
  /** From now on every attempt to send fails with that reason. Fails with `number_not_found`. */
  readonly fail: (reason?: string, number?: HasId) => Promise<void>
  /**
   * The next message reaches its recipient, but the confirmation gets lost. Fails with
   * `number_not_found`.
   */
  readonly loseNextAnswer: (number?: HasId) => Promise<void>
  /** From now on no attempt gets an answer. Fails with `number_not_found`. */
  readonly hang: (number?: HasId) => Promise<void>
  /** From now on each attempt takes that many milliseconds. Fails with `number_not_found`. */
  readonly delay: (millis: number, number?: HasId) => Promise<void>
  /** From now on every attempt succeeds at once, as initially. Fails with `number_not_found`. */
  readonly succeed: (number?: HasId) => Promise<void>
  /** Sets the groups of the number; initially `Team`. Fails with `number_not_found`. */
  readonly groups: (names: ReadonlyArray<string>, number?: HasId) => Promise<void>
  /** Logs the number out on its phone. Fails with `number_not_found`. */
  readonly logOut: (number?: HasId) => Promise<void>
  /** Connects the number again. Fails with `number_not_found`. */
  readonly logIn: (number?: HasId) => Promise<void>
  /** The platform skips messages of the number. Fails with `number_not_found`, `conversations_not_enabled`. */
  readonly skip: (number?: HasId) => Promise<void>
  /**
   * WhatsApp closes new chats to the number until then, or opens them (null), and caps them. Fails with
   * `number_not_found`, `conversations_not_enabled`, `validation_failed`, `invalid_datetime`.
   */
  readonly restrict: (restrictions: TestRestrictions, number?: HasId) => Promise<void>
  /**
   * Sets the only phones on WhatsApp; null for all but those that end in 0000, as initially. Fails
   * with `validation_failed`, `invalid_phone`.
   */
  readonly exist: (phones: ReadonlyArray<string> | null) => Promise<void>
  /**
   * Marks the message as shown on the recipient's phone, or as read. Fails with `message_not_found`,
   * `validation_failed`.
   */
  readonly tick: (message: HasId, status: "delivered" | "read") => Promise<void>
  /**
   * Uses up a number's quota of 24 hours as if it had just sent the rest, without a message, an event or a call.
   * Fails with `number_not_found`, `validation_failed`.
   */
  readonly useUpQuota: (options?: QuotaUse) => Promise<void>
}

/** A service for one test: in memory, with simulated phones, at a time that only the test moves. */
export interface TestMessaging {
  /** The whole facade. */
  readonly messaging: Messaging
  /** Your program's calls: trusted, in `workspace`. All due work is done before a call resolves. */
  readonly api: Api
  /** The workspace of `api`. */
  readonly workspace: Workspace
  /** Its first number. */
  readonly number: SendingNumber
  /** The other end of webhooks. */
  readonly receiver: TestReceiver
  /**
   * The emulator's receiver at `https://<name>.receiver.test/…`, as a service with simulated phones has it. Its calls
   * are not among those of `receiver`. Fails with nothing of its own.
   */
  readonly receiverAt: (name: string) => NamedReceiver
  /** The simulated phones. */
  readonly phones: TestPhones
  /** A person by its phone, perhaps with the name that it calls itself. Fails with nothing of its own. */
  readonly person: (phone: string, name?: string) => TestPerson
  /**
   * Makes a client with transactions that `messages.send` can join, as with one of the package `pg`, itself or
   * behind the function of another library. `begin`, `commit`, `rollback` and savepoints are understood;
   * `answer` gets all other statements, which return no rows without it. A message exists after `commit`, and
   * not after `rollback`. A commit fails with `message_rejected` when other sends have used up the room
   * meanwhile. Fails with nothing of its own.
   */
  readonly client: (answer?: TestAnswer) => TestClient
  /** Messages that recipients received, oldest first. */
  readonly sent: ReadonlyArray<SentCopy>
  /** Current service time. */
  readonly now: Date
  /**
   * Advances time from due time to due time, and does the due work at each. Fails with
   * `validation_failed`.
   */
  readonly advance: (span: Span) => Promise<void>
  /** The same up to a given time. Fails with `validation_failed`. */
  readonly advanceTo: (moment: Moment) => Promise<void>
  /**
   * Everything that must end before the message leaves. Empty when only earlier messages block it;
   * null when it does not wait. Fails with `message_not_found`.
   */
  readonly why: (message: HasId) => Promise<ReadonlyArray<WaitsFor> | null>
  /** Ends the service. Fails with nothing of its own. */
  readonly close: () => Promise<void>
}
