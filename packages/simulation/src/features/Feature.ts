/** Parts of what callers do: each plans its commands from the seed alone, and performs them. */
import type { Caller, ContactId, NumberId, WorkspaceId } from "@messaging-service/core"
import type { Chance } from "@messaging-service/emulator"
import type { Effect } from "effect"
import type { Lost } from "../calls.ts"
import type { Switchboard } from "../faults/lines.ts"
import type { Answer, Ask, Entry, FinalReminder } from "../History.ts"
import type { Services } from "../SimulatedService.ts"

/** The workspace that everything happens in. */
export interface Given {
  readonly workspace: WorkspaceId
  readonly numbers: ReadonlyArray<NumberId>
  /** By mode. */
  readonly callers: Readonly<Record<"live" | "test", Caller>>
}

/** What a workspace was given from the start. */
export interface FirstSecrets {
  readonly endpoint: { readonly id: number; readonly url: string; readonly secret: string }
  readonly callbackSecret: string
}

/** What a command may do. */
export interface Stage {
  readonly given: Given
  /** A workspace that is deleted in the storm. */
  readonly doomed: Given
  /** The workspace that is audited; `given` is another one for probes. */
  readonly audited: Given
  /** Of this command alone. */
  readonly chance: Chance
  /** The world's time, epoch milliseconds. */
  readonly now: () => number
  /** Writes what is asked, and what is heard, into the history. */
  asked(ask: Ask): number
  answered(call: number, answer: Answer): void
  /** Asks a process that lives; some callers hang up early, and what they asked for goes on. */
  ask<A, E>(effect: Effect.Effect<A, E, Services>): Effect.Effect<A, E | Lost>
  /** Ids of messages that a caller was told, by text. */
  readonly ids: Map<string, number>
  /** The phones' side refuses what that number sends, because of the number, until then. */
  restrict(number: NumberId, until: number): void
  /** The receiver with that URL takes nothing in until then. */
  refuseCalls(url: string, until: number): void
  /** From now on that operation of the store, of everybody, takes so long. */
  delay(operation: string, millis: number): void
  /** Keys that a caller was given, by name, and ids of endpoints, by URL. */
  readonly keys: Map<string, { readonly id: number; readonly token: string }>
  readonly endpoints: Map<string, number>
  /** What was seen until now. */
  readonly seen: ReadonlyArray<Entry>
  /** Ids of numbers that are being connected, by key. */
  readonly links: Map<string, number>
  /** Files that were uploaded, by name: where their content is kept, and the id once it is known. */
  readonly files: Map<string, { readonly storageKey: string; readonly id: number | null }>
  /** Contacts that were made, by name. */
  readonly contacts: Map<string, ContactId>
  /** Connections of numbers at the remote server; null where processes keep none. */
  readonly board: Switchboard | null
  /** Writes that an operator mends what shut the number out. */
  mended(number: number): void
  /** Reminders that were made, for the judgement. */
  readonly reminders: Array<MadeReminder>
}

export interface MadeReminder extends Pick<FinalReminder, "text"> {
  readonly id: number
  readonly everyMinutes: number
}

export interface Command {
  /** Milliseconds after the start. */
  readonly at: number
  /** For traces. */
  readonly name: string
  perform(stage: Stage): Effect.Effect<void>
}

/** What a feature plans with. */
export interface Planning {
  readonly chance: Chance
  /** How many commands it makes about. */
  readonly count: number
  /** When the storm begins, in epoch milliseconds, and how long commands come. */
  readonly start: number
  readonly span: number
  /** Draws when a command comes: evenly, or in bursts, where commits meet. */
  moment(): number
  /** How many numbers there are. */
  readonly numbers: number
}

export interface Feature {
  readonly name: string
  plan(planning: Planning): ReadonlyArray<Command>
  /** Once faults have ended: undoes what would keep messages waiting. */
  calm?(stage: Stage): Effect.Effect<void, unknown>
  /** Once all is well, in the workspace of the probes: what it did must not keep anything waiting. */
  probe?(stage: Stage): Effect.Effect<void, unknown>
}
