/**
 * What `openTest` takes and gives: a service for one test, with the controls of its time and its
 * phones.
 */
import type { Api, Messaging } from "../api/Messaging.ts"
import type { HasId, Moment } from "../api/common.ts"
import type { EnsureWorkspace, Workspace } from "../api/operator.ts"
import type { SendingNumber } from "../api/numbers.ts"
import type { MessagingLogger } from "../api/options.ts"

/** What a test begins with. */
export interface TestOptions {
  /** The moment at which it begins; 2026-01-01T00:00:00Z when left out. */
  readonly at?: Moment | undefined
  /** The same seed gives the same run: ids, keys, jitter. `0` when left out. */
  readonly seed?: string | number | undefined
  /**
   * Draws from `seed` which of the tasks that may run comes next, and where tasks are interrupted: another
   * seed is another interleaving. Off when left out: tasks run in their order.
   */
  readonly interleave?: boolean | undefined
  /** The workspace that `api` acts for; with one WhatsApp number, +15550100001, when left out. */
  readonly workspace?: EnsureWorkspace | undefined
  /** Where lines of the log go; warnings and errors to `console` when left out. */
  readonly logger?: MessagingLogger | undefined
}

/** A span of service time; its parts are added up. */
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

/** A copy that a recipient has on their phone. */
export interface SentCopy {
  /** When it arrived. */
  readonly at: Date
  /** Id of the message. */
  readonly messageId: number
  /** Id of the number that it came from. */
  readonly numberId: number
  /** The phone with +, the group's name, or the username. */
  readonly to: string
  /** The text, or the caption of the media. */
  readonly text: string
  /** Null without an image or a file. */
  readonly media: {
    /** Its name. */
    readonly fileName: string
    /** Such as `image/png`. */
    readonly mimeType: string
    /** Bytes. */
    readonly size: number
    /** The SHA-256 of its bytes, hexadecimal. */
    readonly sha256: string
  } | null
}

/** How a call of the receiver ends: a status, or no answer at all. */
export type ReceiverAnswer = number | "timeout" | "dns" | "tls" | "connection"

/** A call that the receiver got. */
export interface ReceivedCall {
  /** When. */
  readonly at: Date
  /** Where it was sent. */
  readonly url: string
  /** Lower-case names; `service-signature` and `service-timestamp` among them. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as it was sent, which the signature is of. */
  readonly body: string
  /** The body read as JSON; null when it is not JSON. */
  readonly json: unknown
  /** How it was answered. */
  readonly answered: ReceiverAnswer
}

/** The other end of webhooks and callbacks: every address leads here, and no socket is opened. */
export interface TestReceiver {
  /** The address of the endpoint that is there from the start, told of every event. */
  readonly url: string
  /** The secret that its calls are signed with. */
  readonly secret: string
  /** Answers the next calls like this, one after the other, and those after them with 200. A `timeout` and the like are told at once, without waiting. Fails with nothing of its own. */
  readonly answer: (...answers: ReadonlyArray<ReceiverAnswer>) => void
  /** Every call, oldest first. */
  readonly calls: ReadonlyArray<ReceivedCall>
  /** Puts a file at an address, for messages whose media are a link. Fails with nothing of its own. */
  readonly serve: (url: string, content: Uint8Array, mimeType: string) => void
}

/** How much of a quota is used up. */
export interface QuotaUse {
  /** Messages that still fit afterwards; none when left out. */
  readonly leave?: number | undefined
  /** Of the first number when left out. */
  readonly number?: HasId | undefined
}

/** The simulated phones. Where `number` is left out, the first number is meant. */
export interface TestPhones {
  /** From now on each attempt to send is refused, with that reason. Fails with `number_not_found`. */
  readonly fail: (reason?: string, number?: HasId) => Promise<void>
  /** The next message reaches its recipient, but the answer that says so is lost. Fails with `number_not_found`. */
  readonly loseNextAnswer: (number?: HasId) => Promise<void>
  /** From now on no attempt is answered. Fails with `number_not_found`. */
  readonly hang: (number?: HasId) => Promise<void>
  /** From now on each attempt takes so many milliseconds. Fails with `number_not_found`. */
  readonly delay: (millis: number, number?: HasId) => Promise<void>
  /** From now on every attempt succeeds at once, as in the beginning. Fails with `number_not_found`. */
  readonly succeed: (number?: HasId) => Promise<void>
  /** The groups that the number belongs to; `Team` in the beginning. Fails with `number_not_found`. */
  readonly groups: (names: ReadonlyArray<string>, number?: HasId) => Promise<void>
  /** The number is logged out on its phone. Fails with `number_not_found`. */
  readonly logOut: (number?: HasId) => Promise<void>
  /** The number is connected again. Fails with `number_not_found`. */
  readonly logIn: (number?: HasId) => Promise<void>
  /** The only phones that WhatsApp knows; null for all but those that end in 0000, as in the beginning. Fails with `validation_failed`, `invalid_phone`. */
  readonly exist: (phones: ReadonlyArray<string> | null) => Promise<void>
  /** The recipient's phone shows the message, or its owner reads it. Fails with `message_not_found`, `validation_failed`. */
  readonly tick: (message: HasId, status: "delivered" | "read") => Promise<void>
  /** Sends as many messages as a number's quota of 24 hours still takes. Fails with `number_not_found`, `validation_failed`. */
  readonly useUpQuota: (options?: QuotaUse) => Promise<void>
}

/** One thing that has to end before a message leaves. */
export interface WaitsFor {
  /**
   * `disabled`: its workspace. `held`: the store went back in time, and an operator has not released it.
   * `paused`, `not_connected`: its number. `scheduled`: its time has not come.
   * `limited`: pacing or the quota of its number is used up. `no_room`: the disk has no room for the file
   * that it needs, or that one before it needs. `resting`: its number rests after a message, or
   * because the far side asked for it. `sending`: a message of its number is under way, this one or one
   * before it. In this order.
   */
  readonly reason:
    | "disabled"
    | "held"
    | "paused"
    | "not_connected"
    | "scheduled"
    | "limited"
    | "no_room"
    | "resting"
    | "sending"
  /** When it ends by itself; null where that is not known. */
  readonly until: Date | null
  /** Why the workspace or the number sends nothing, such as `account_disabled` or `logged_out`; else null. */
  readonly because: string | null
}

/** A service for one test: in memory, with simulated phones, at a time that only the test moves on. */
export interface TestMessaging {
  /** The whole facade. */
  readonly messaging: Messaging
  /** What your program calls: trusted, in `workspace`. Before the promise of a call resolves, everything that is due is done. */
  readonly api: Api
  /** The workspace of `api`. */
  readonly workspace: Workspace
  /** Its first number. */
  readonly number: SendingNumber
  /** The other end of webhooks. */
  readonly receiver: TestReceiver
  /** The simulated phones. */
  readonly phones: TestPhones
  /** What has arrived at recipients, oldest first. */
  readonly sent: ReadonlyArray<SentCopy>
  /** The moment at which the service lives. */
  readonly now: Date
  /** Moves time on, from due moment to due moment, and does at each what falls due. Fails with `validation_failed`. */
  readonly advance: (span: Span) => Promise<void>
  /** The same up to a moment. Fails with `validation_failed`. */
  readonly advanceTo: (moment: Moment) => Promise<void>
  /** Everything that has to end before the message leaves. Empty when only messages before it are in the way; null when it does not wait. Fails with `message_not_found`. */
  readonly why: (message: HasId) => Promise<ReadonlyArray<WaitsFor> | null>
  /** Ends the service. Fails with nothing of its own. */
  readonly close: () => Promise<void>
}
