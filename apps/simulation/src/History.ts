/**
 * The history of one run, as seen from outside the service: calls and answers, copies that
 * recipients saw, calls of receivers, and the final state. The model judges this and knows no code
 * of the service. Text and recipient together name a message.
 */

export const toName = (text: string, phone: string): string => `${text}>${phone.slice(-4)}`

/** A public status, or `waiting` for both queued and scheduled. */
export type State = "waiting" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired"

/** Media of a message, by a link or by the name of an uploaded file. */
export type MediaRequest = {
  /** Their content; null where a message can never have them. */
  readonly content: string | null
} & ({ readonly url: string; readonly isSure: boolean } | { readonly file: string })

/** A caller's request. Times in epoch milliseconds. */
export type CallRequest =
  | {
      readonly _tag: "Send"
      readonly text: string
      readonly phones: ReadonlyArray<string>
      /** Index of the sending number. */
      readonly number: number
      readonly sendAt: number | null
      readonly expiresAt: number | null
      readonly idempotencyKey: string
      readonly mode: "live" | "test"
      /** Sent in calm, in a workspace that is not audited. */
      readonly isProbe: boolean
      /** The URL for its callback, as in a version 1 send. */
      readonly callback?: string
      /**
       * Not audited: its workspace is deleted in the storm, or it is sent in calm from a number
       * that is refused, that is full, or that is stopped while its media are fetched.
       */
      readonly fate?: "deleted" | "refused" | "saturated" | "fetched" | "planned"
      /** The service chooses the number. */
      readonly leavesOutNumber?: true
      /** The name of its contact. */
      readonly contact?: string
      /** The name of its API key; absent for one that is never revoked. */
      readonly key?: string
      /** Index of the only number of its key. */
      readonly onlyNumber?: number
      /** Of a single message: if its number is full, it is stored as failed. */
      readonly keepsRefused?: true
      readonly media?: MediaRequest
    }
  | { readonly _tag: "Upload" | "DeleteFile"; readonly file: string }
  /** Asks which of the phones are registered. */
  | {
      readonly _tag: "Check"
      readonly key: string
      readonly phones: ReadonlyArray<string>
      readonly mode: "live" | "test"
      /** Index of the asking number. */
      readonly number: number
    }
  | { readonly _tag: "Connect"; readonly key: string }
  /** A phone scans or types the code of the number with that id. */
  | { readonly _tag: "Scan"; readonly number: number; readonly phone: string }
  | {
      readonly _tag: "Read"
      readonly name: string
      /** As of a send. */
      readonly key?: string
      readonly onlyNumber?: number
    }
  | { readonly _tag: "Cancel"; readonly name: string }
  | Control
  | MakeEndpoint
  | ChangeEndpoint
  | {
      readonly _tag: "MakeReminder"
      readonly text: string
      readonly isOther: boolean
      /** It runs once, in a workspace that is not audited. */
      readonly isProbe: boolean
    }
  | MakeCampaign
  | AddCampaignRows
  | { readonly _tag: "ReadCampaign"; readonly campaign: string }
  | { readonly _tag: "RotateCallbackSecret" | "ReadCallbackSecret" }
  | { readonly _tag: "MakeKey" | "RevokeKey" | "UseKey"; readonly key: string }
  /** A person writes; answered once the platform may forget it. */
  | {
      readonly _tag: "Write"
      /** Index of the number. */
      readonly number: number
      readonly written: Written
    }
  /** The copy of a message that could not be read comes. */
  | { readonly _tag: "Copy"; readonly number: number; readonly index: number }
  /** A person edits or revokes a message. */
  | { readonly _tag: "Amend"; readonly number: number; readonly amended: Amended }

/** What an author, or another person, does to a message. */
export interface Amended {
  /** Of the message. */
  readonly index: number
  /** Null: it is revoked. */
  readonly text: string | null
  /** Others may not. */
  readonly isByAuthor: boolean
  /** The author's time. */
  readonly at: number
}

/** What a person, or a number's owner on the phone, writes. Its text names it. */
export interface Written {
  /** Unique in the seed; its time of sending tells it. */
  readonly index: number
  readonly text: string
  /**
   * When it cannot be read, how many milliseconds later a copy comes, in calm at the latest; null for none.
   * Undefined when it can be read.
   */
  readonly copyAfter: number | null | undefined
  /** Index of the person, also of the one to whom the owner writes. */
  readonly person: number
  /** Under which of its addresses the platform names the person. */
  readonly by: "phone" | "lid" | "both"
  readonly group: string | null
  readonly isEcho: boolean
}

/** An operator's setting for some numbers. Of those with the same key the latest applies. */
export interface Control {
  readonly _tag: "Control"
  readonly key: string
  /** Ids of its numbers. */
  readonly numbers: ReadonlyArray<number>
  readonly value:
    | { readonly _tag: "Stopped"; /** Null: until it is reopened. */ readonly until: number | null }
    | { readonly _tag: "Open" }
    /** Previously accepted messages wait until it is reopened. */
    | { readonly _tag: "Held" }
    | { readonly _tag: "Paced"; readonly pacing: Paced | null }
    /** A reminder runs every so many minutes. */
    | { readonly _tag: "Every"; readonly minutes: number }
    /** A plan has room for so many messages; null for any number. */
    | { readonly _tag: "Planned"; readonly messages: number | null }
  readonly isProbe: boolean
}

/** A number's sending limits; null for no limit of that kind. */
export interface Paced {
  readonly minIntervalMillis: number | null
  readonly perMinute: number | null
  readonly newRecipientsPerDay: number | null
}

/** Makes a draft; the texts of its messages begin with its name. */
export interface MakeCampaign {
  readonly _tag: "MakeCampaign"
  readonly campaign: string
  readonly mode: "live" | "test"
  /** Indexes of its numbers; null for all. */
  readonly numbers: ReadonlyArray<number> | null
  /** What it leaves to others of a number's 24 hours. */
  readonly reserve: number
  /** Whether a recipient that comes again is refused. */
  readonly dropsDuplicates: boolean
  /** Made in calm, in a workspace that is not audited: all its rows leave. */
  readonly isProbe: boolean
  readonly sendAt: number | null
}

/** A campaign with a stop that the death of every process cuts off. It is read once all has come to rest. */
export const cutStop = "gs"

/** A row to add. Its text is the campaign's name and its label. */
export interface RequestedRow {
  readonly label: string
  readonly phone: string
  /** What it is refused with when it is added; null for one that is accepted. */
  readonly code: string | null
  readonly sendAt: number | null
  readonly expiresAt: number | null
}

export interface AddCampaignRows {
  readonly _tag: "AddCampaignRows"
  readonly campaign: string
  readonly rows: ReadonlyArray<RequestedRow>
  /** Whether they come as a file. */
  readonly isFile: boolean
}

/** Creates a webhook endpoint; its URL names it. */
export interface MakeEndpoint {
  readonly _tag: "MakeEndpoint"
  readonly url: string
  /** The caller's key: its revocation stops the endpoint; null for one that is never revoked. */
  readonly key: string | null
  readonly mode: "live" | "test"
  readonly events: ReadonlyArray<string>
  readonly idempotencyKey: string
  /** Whether the body differs from the first one with this key. */
  readonly isOther: boolean
}

export interface ChangeEndpoint {
  readonly _tag:
    | "RotateSecret"
    | "RemoveEndpoint"
    | "ResumeEndpoint"
    | "Ping"
    | "Redeliver"
    | "Recover"
  readonly url: string
  /** The event of a redelivery. */
  readonly eventId: string | null
}

/** The service's answer. */
export type Answer =
  /** The status of the number after a scan; `over` where there was nothing to scan. */
  | { readonly _tag: "Scanned"; readonly status: string }
  | { readonly _tag: "Accepted"; readonly ids: ReadonlyArray<number> }
  /** `hasLink` of a message with a file: whether the answer leads to it. */
  | { readonly _tag: "State"; readonly state: State; readonly hasLink?: boolean }
  /** An endpoint. A repeat of its creation omits the secret. */
  | {
      readonly _tag: "Made"
      readonly id: number
      readonly secret: string | null
      readonly isReplayed: boolean
    }
  | { readonly _tag: "Secret"; readonly secret: string }
  | { readonly _tag: "Queued"; readonly eventId: string }
  /** A request was admitted; so many remain in this minute. */
  | { readonly _tag: "Admitted"; readonly remaining: number }
  /** `queued`: messages of a campaign that wait once it has been stopped. */
  | { readonly _tag: "Done"; readonly queued?: number }
  /** Rows of a draft. */
  | { readonly _tag: "Added"; readonly firstRow: number; readonly lastRow: number }
  | { readonly _tag: "Counted"; readonly rows: Readonly<Record<string, number>> }
  | {
      readonly _tag: "Refused"
      readonly code: string
      /** The status in `not_cancellable`. */
      readonly status: State | null
      /** Whether a transport still has the message. */
      readonly isSending: boolean
      /** The message that a refused send left. */
      readonly kept?: number
    }

export type Entry = {
  /** The world's time, epoch milliseconds. */
  readonly at: number
} & (
  | { readonly _tag: "Asked"; readonly call: number; readonly request: CallRequest }
  /** The caller received it. Callers that hang up, and callers in processes that die, receive nothing. */
  | { readonly _tag: "Answered"; readonly call: number; readonly answer: Answer }
  /** The service gave an attempt to a transport. */
  | {
      readonly _tag: "HandedOver"
      readonly name: string
      readonly transportId: string
      /** Id of the sending number. */
      readonly number: number
      readonly process: string
      /** When the transport received it; it may first wait for a connection. */
      readonly issuedAt: number
    }
  /** A transport's outcome of an attempt; `nothing` of one that the service cut off. */
  | {
      readonly _tag: "Said"
      readonly name: string
      readonly number: number
      readonly outcome: string
      readonly againstNumber: boolean
    }
  /** The service asks which phones are registered. */
  | {
      readonly _tag: "LooksUp"
      readonly lookUp: number
      readonly number: number
      readonly phones: ReadonlyArray<string>
      readonly process: string
    }
  /** The outcome of a look-up. One that is cut off has none. */
  | { readonly _tag: "LookedUp"; readonly lookUp: number; readonly outcome: string }
  /** A recipient sees a copy. */
  | {
      readonly _tag: "Shown"
      readonly name: string
      readonly transportId: string
      /** The content of its media; null for none. */
      readonly media: string | null
    }
  /** A receiver was called. */
  | ({ readonly _tag: "Told" } & ReceivedCall)
  /** Calm begins. */
  | { readonly _tag: "Calm" }
  | ServerEntry
  | ProcessEntry
)

/** A call of a receiver, as received. */
export interface ReceivedCall {
  readonly kind: "webhook" | "callback"
  readonly url: string
  readonly eventId: string
  /** Of a webhook; empty for a callback. */
  readonly type: string
  readonly body: string
  readonly timestamp: string
  readonly signature: string
  /** When the service began the call, epoch milliseconds of the world. */
  readonly calledAt: number
  /** Whether the receiver got it, and whether it accepted it and its 2xx arrived or was in transit. */
  readonly reached: boolean
  readonly heard: boolean
}

/** Actions of the remote server. */
export type ServerEntry =
  /** It refuses everything more from that number for so long. */
  | {
      readonly _tag: "Flooded"
      readonly number: number
      readonly process: string
      readonly until: number
    }
  /** It reports a message's progress. */
  | {
      readonly _tag: "Ticked"
      readonly number: number
      readonly transportId: string
      readonly status: "delivered" | "read"
    }
  /** A process gained or lost a number's connection. */
  | {
      readonly _tag: "LineOpened"
      readonly line: number
      readonly number: number
      readonly process: string
    }
  | { readonly _tag: "LineClosed"; readonly line: number }
  /** A process that wanted to connect a number was refused. */
  | {
      readonly _tag: "TurnedAway"
      readonly number: number
      readonly process: string
      readonly reason: string
    }
  /** An operator has repaired a number that was shut out. */
  | { readonly _tag: "Mended"; readonly number: number }

/** Events of processes. */
export type ProcessEntry =
  | { readonly _tag: "Died"; readonly process: string }
  | { readonly _tag: "Frozen"; readonly process: string }
  | { readonly _tag: "Thawed"; readonly process: string }
  /** Its clock is now so many milliseconds ahead of the store's, negative when behind. */
  | { readonly _tag: "ClockSet"; readonly process: string; readonly skew: number }

/** A message in the store at the end. */
export interface FinalMessage {
  readonly id: number
  readonly name: string
  readonly text: string
  readonly state: State
  readonly error: string | null
  /** Whether it was refused, but stored as failed. */
  readonly isStored: boolean
  readonly mode: "live" | "test"
  readonly number: number
  readonly transportId: string
  /** Planned time. */
  readonly dueAt: number
  /** When it left, as the service reports it. */
  readonly sentAt: number | null
  /** When the remote server's reports moved it, as its timeline has them. */
  readonly deliveredAt: number | null
  readonly readAt: number | null
  /** Types of its events in the outbox. */
  readonly events: ReadonlyArray<string>
}

export interface FinalReminder {
  readonly text: string
  /** Every time at which it was due. */
  readonly due: ReadonlyArray<number>
  readonly runs: ReadonlyArray<{ readonly dueAt: number; readonly outcome: string }>
}

/** A campaign of the audited workspace that is not removed. */
export interface FinalCampaign {
  readonly id: number
  readonly name: string
  readonly state: string
  /** Why it is paused; null unless it is. */
  readonly reason: string | null
  /** How many rows have each status, as it reports them. */
  readonly counts: Readonly<Record<string, number>>
  readonly rows: ReadonlyArray<FinalRow>
  /** Connected numbers that it may use and that are not paused; of WhatsApp if there are any. */
  readonly usable: ReadonlyArray<number>
}

export interface FinalRow {
  readonly row: number
  readonly status: string
  /** Of its message, once it has one; null where it never can. */
  readonly name: string | null
  readonly messageId: number | null
  readonly code: string | null
}

/** An endpoint that is not removed, with its delivery log. */
export interface FinalEndpoint {
  readonly id: number
  readonly url: string
  /** Null while it runs. */
  readonly disabledReason: string | null
  readonly secretLast4: string
}

/** An attempt of the delivery log. */
export interface FinalAttempt {
  readonly url: string
  readonly eventId: string
  /** From 1. */
  readonly attempt: number
  /** Epoch milliseconds, by the clock of the process that made the call. */
  readonly attemptedAt: number
  readonly delivered: boolean
  readonly isLast: boolean
}

/** A stored message of a person. */
export interface FinalReceived {
  readonly id: number
  /** See `Written`. */
  readonly index: number
  readonly kind: string
  /** Index of the number. */
  readonly number: number
  readonly sequence: number
  readonly text: string
  readonly isEcho: boolean
  /** Those in the outbox that report it. */
  readonly events: ReadonlyArray<{ readonly eventId: string; readonly type: string }>
}

export interface FinalCheck {
  readonly id: number
  readonly mode: "live" | "test"
  readonly number: number
  readonly status: string
  readonly results: ReadonlyArray<{ readonly phone: string; readonly status: string }>
}

/** A number with a connection that processes keep, in calm. */
export interface FinalLine {
  readonly number: number
  /** How many connections it has. */
  readonly lines: number
  /** The service's report of it; null once it is removed. */
  readonly status: string | null
  /** The connection stored as the latest; null for none. */
  readonly written: number | null
}

export interface FinalState {
  /** When it was read, epoch milliseconds. */
  readonly at: number
  /** Empty where processes keep no connections. */
  readonly lines: ReadonlyArray<FinalLine>
  /** Of the audited workspace. */
  readonly messages: ReadonlyArray<FinalMessage>
  /** Of every workspace. */
  readonly events: ReadonlyArray<{
    readonly eventId: string
    readonly type: string
    readonly messageId: number
    readonly mode: "live" | "test"
    /** Epoch milliseconds, by the clock of the process that created it. */
    readonly createdAt: number
  }>
  readonly endpoints: ReadonlyArray<FinalEndpoint>
  /** Of endpoints that are not removed, and of callbacks; oldest first. */
  readonly attempts: ReadonlyArray<FinalAttempt>
  readonly allowanceLeft: number
  readonly reminders: ReadonlyArray<FinalReminder>
  readonly campaigns: ReadonlyArray<FinalCampaign>
  readonly checks: ReadonlyArray<FinalCheck>
  /** Numbers that callers connected. */
  readonly links: ReadonlyArray<{
    readonly id: number
    readonly status: string
    readonly phone: string | null
  }>
  /** What people wrote, by number and sequence, and its chats; empty in a seed without it. */
  readonly received: {
    readonly messages: ReadonlyArray<FinalReceived>
    /** Index of the number of each. */
    readonly chats: ReadonlyArray<{ readonly number: number }>
    /** Indexes of messages that were stored without the key that opened them. */
    readonly keyless: ReadonlyArray<number>
  }
  /** Deleted files with content that remains. */
  readonly filesLeft: ReadonlyArray<string>
  /** Remaining messages of the workspace that is deleted in the storm. */
  readonly leftOfDeleted: number
  /** Ids of the audited workspace's numbers. */
  readonly numbers: ReadonlyArray<number>
}

/** What remains of ended messages at a later moment, with a retention of a day. */
export interface Stored {
  readonly at: number
  /** Ids of messages, and of events, of the audited workspace. */
  readonly messages: ReadonlyArray<number>
  readonly events: ReadonlyArray<string>
  /** Messages of another workspace, and whether the service keeps them longer. */
  readonly others: number
  /** Null where some of them may have reached their age. */
  readonly areOthersRetained: boolean | null
  /** Codes of refusals for erased messages; "" for an answer. */
  readonly refusals: ReadonlyArray<string>
}

/** The facts of a world that its promises depend on. */
export interface Setting {
  readonly allowance: number
  readonly quota: number
  /** Whether the remote server shows one copy for one transport id. */
  readonly dropsCopies: boolean
  /** Whether clocks are true and no process pauses: then times are exact to the millisecond. */
  readonly isTimeTrue: boolean
  /** Whether no fault of time or of a slow store can happen: then claimed work is done at once. */
  readonly isPunctual: boolean
  /** Whether no clock jumps. */
  readonly hasTrueClocks: boolean
  /** No process pauses, and clocks are true except those that an entry names. */
  readonly isSteady: boolean
  /** Whether the run lasts until every delivery of a webhook has used up its attempts. */
  readonly isLong: boolean
}

/** A whole run. */
export interface History {
  readonly setting: Setting
  readonly entries: ReadonlyArray<Entry>
  readonly final: FinalState
  /** Reads a workspace with a retention of a day, with the first message right at the audit. */
  readonly kept: ReadonlyArray<Stored>
}

type Distributed<A> = A extends unknown ? Omit<A, "at"> : never

/** An entry without its time. */
export type NewEntry = Distributed<Entry>

/** Writes a history, and a digest of everything that happened. */
export class Recorder {
  readonly entries: Array<Entry> = []
  /** Readable lines; null where none are kept. */
  readonly trace: Array<string> | null
  readonly #now: () => number
  readonly #start: number
  #calls = 0
  #lookUps = 0
  #h1 = 0x811c9dc5
  #h2 = 0x1b873593

  constructor(now: () => number, hasTrace: boolean) {
    this.#now = now
    this.#start = now()
    this.trace = hasTrace ? [] : null
  }

  /** A number for the next call of a caller. */
  nextCall(): number {
    return this.#calls++
  }

  /** A number for the next look-up of phones. */
  nextLookUp(): number {
    return this.#lookUps++
  }

  mix(value: number): void {
    this.#h1 = Math.imul(this.#h1 ^ value, 0x01000193)
    this.#h2 = Math.imul((this.#h2 << 13) | (this.#h2 >>> 19), 5) + (value ^ this.#h1)
  }

  mixText(text: string): void {
    for (let i = 0; i < text.length; i++) this.mix(text.charCodeAt(i))
  }

  /** Writes a line: part of the digest, and of the trace where one is kept. */
  note(text: string): void {
    this.mixText(text)
    this.mix(this.#now() | 0)
    this.trace?.push(`${((this.#now() - this.#start) / 1000).toFixed(3)} ${text}`)
  }

  add(entry: NewEntry, line: string): void {
    this.entries.push({ at: this.#now(), ...entry } as Entry)
    this.note(line)
  }

  /** Of all entries, in 16 hexadecimal digits. */
  get digest(): string {
    const hex = (half: number) => (half >>> 0).toString(16).padStart(8, "0")
    return hex(this.#h1) + hex(this.#h2)
  }
}
