/** Parts of the callers' behaviour: each plans its commands from the seed alone, and performs them. */
import type {
  Caller,
  CampaignId,
  ContactId,
  Incoming,
  NumberId,
  WorkspaceId,
} from "@messaging-service/core"
import type { Chance } from "@messaging-service/emulator"
import type { TestControls } from "@messaging-service/store-memory"
import type { Effect } from "effect"
import type { Lost } from "../calls.ts"
import type { Switchboard } from "../faults/lines.ts"
import type { Answer, CallRequest, Entry, FinalReminder, Written } from "../History.ts"
import type { Services } from "../SimulatedService.ts"

/** The main workspace. */
export interface Tenant {
  readonly workspace: WorkspaceId
  readonly numbers: ReadonlyArray<NumberId>
  /** By mode. */
  readonly callers: Readonly<Record<"live" | "test", Caller>>
}

/** A workspace's initial records. */
export interface FirstSecrets {
  readonly endpoint: { readonly id: number; readonly url: string; readonly secret: string }
  readonly callbackSecret: string
}

/** A command's environment. */
export interface Stage {
  readonly tenant: Tenant
  /** A workspace that is deleted in the storm. */
  readonly doomed: Tenant
  /** The audited workspace; `tenant` is another one for probes. */
  readonly audited: Tenant
  /** Of this command alone. */
  readonly chance: Chance
  /** The world's time, epoch milliseconds. */
  readonly now: () => number
  /** Writes calls and answers into the history. */
  recordRequest(request: CallRequest): number
  answered(call: number, answer: Answer): void
  /** Calls a live process; some callers hang up early, unless told to wait, and their request continues. */
  callProcess<A, E>(
    effect: Effect.Effect<A, E, Services>,
    waits?: boolean,
  ): Effect.Effect<A, E | Lost>
  /** Ids of messages that callers received, by text. */
  readonly ids: Map<string, number>
  /** The remote server refuses that number's sends because of the number, until then. */
  restrict(number: NumberId, until: number): void
  /** The receiver with that URL accepts nothing until then. */
  refuseCalls(url: string, until: number): void
  /** From now on that operation of the store takes so long in every process. */
  delay(operation: string, millis: number): void
  /** Every process dies, and others replace them within 20 seconds. */
  killProcesses(): void
  /** Keys that callers received, by name, and ids of endpoints, by URL. */
  readonly keys: Map<string, { readonly id: number; readonly token: string }>
  readonly endpoints: Map<string, number>
  /** The history so far. */
  readonly history: ReadonlyArray<Entry>
  /** Ids of connecting numbers, by key. */
  readonly links: Map<string, number>
  /** Uploaded files, by name: where their content is, and the id once known. */
  readonly files: Map<string, { readonly storageKey: string; readonly id: number | null }>
  /** Begins and ends callers' transactions at the store, outside of every process. */
  readonly transactions: typeof TestControls.Service
  /** Created contacts, by name. */
  readonly contacts: Map<string, ContactId>
  /** Connections of numbers at the remote server; null where processes keep none. */
  readonly board: Switchboard | null
  /** Records that an operator repairs a number that was shut out. */
  mended(number: number): void
  /** Ids of campaigns, by name. */
  readonly campaigns: Map<string, { readonly id: CampaignId; readonly mode: "live" | "test" }>
  /** Numbers that people write to, and what the platform keeps for each; empty in a seed without them. */
  readonly receivers: ReadonlyArray<NumberId>
  readonly mailboxes: ReadonlyArray<Mailbox>
  /** Whether one process at a time writes for a number, so that its writes take effect in order. */
  readonly ordersWrites: boolean
  /** Created reminders, for the judgement. */
  readonly reminders: Array<MadeReminder>
}

/** With the call that is answered once it is stored. */
export interface MailboxItem {
  readonly call: number
  readonly incoming: Incoming
  /** A message opens while its number has opened no later one; null for what needs no key. */
  readonly lock: number | null
}

/** What the platform keeps for a number, in the order in which it was written. */
export interface Mailbox {
  readonly waiting: Array<MailboxItem>
  readonly stored: Array<MailboxItem>
  /** Messages that could not be read and still get a copy. */
  readonly copies: Set<Written>
  /** The latest time of an edit. */
  amendedAt: number
  /** How many messages needed a key to open. */
  locks: number
  /** Indexes of messages that were stored, and could still be opened. */
  readonly keyless: Array<number>
  /** Whether it is given to a process just now. */
  isOpen: boolean
}

export interface MadeReminder extends Pick<FinalReminder, "text"> {
  readonly id: number
  /** Of each schedule that it has had. */
  readonly everyMinutes: Array<number>
}

export interface Command {
  /** Milliseconds after the start. */
  readonly at: number
  /** For traces. */
  readonly name: string
  perform(stage: Stage): Effect.Effect<void>
}

/** A feature's inputs for planning. */
export interface Planning {
  readonly chance: Chance
  /** The approximate number of its commands. */
  readonly count: number
  /** When the storm begins, in epoch milliseconds, and how long it lasts. */
  readonly start: number
  readonly span: number
  /** Draws when a command comes: evenly, or in bursts, where commits meet. */
  instant(): number
  /** How many numbers there are. */
  readonly numbers: number
}

export interface Feature {
  readonly name: string
  plan(planning: Planning): ReadonlyArray<Command>
  /** Once faults have ended: undoes whatever would keep messages waiting. */
  calm?(stage: Stage): Effect.Effect<void, unknown>
  /** In calm, in the workspace of the probes: must leave no message waiting. */
  probe?(stage: Stage): Effect.Effect<void, unknown>
}
