/**
 * One of the two stores that are compared, with what is known of it: the records that its answers
 * gave, by kind, and a name for each id that the store made, given at first sight. Both stores know as
 * many records of each kind, so a command names one by its place.
 */
import type { Store } from "@messaging-service/core"

type Service = typeof Store.Service

/** What stores make ids or numbers for. */
export type Kind =
  | "workspace"
  | "key"
  | "number"
  | "contact"
  | "message"
  | "media"
  | "check"
  | "result"
  | "reminder"
  | "run"
  | "campaign"
  | "link"
  | "webhook"
  | "delivery"
  | "target"
  | "attempt"
  | "callbackAttempt"
  | "chat"
  | "activity"
  | "received"
  | "worker"
  | "place"

/** A record that an answer gave, and what a generator needs to know of it again. */
export type Known = { readonly id: number } & Readonly<Record<string, unknown>>

/** An id that no store gives out. */
export const unknownId = 999_999_999

export class Side {
  readonly name: string
  readonly store: Service
  readonly #known = new Map<string, Array<unknown>>()
  readonly #names = new Map<Kind, Map<number, string>>()

  constructor(name: string, store: Service) {
    this.name = name
    this.store = store
  }

  /** Newest last. */
  known(of: string): ReadonlyArray<unknown> {
    return this.#known.get(of) ?? []
  }

  learn(of: string, record: unknown): void {
    this.#known.set(of, [...this.known(of), record])
  }

  /** The name that an id has, if any. */
  nameSoFar(kind: Kind, id: number): string | undefined {
    return this.#names.get(kind)?.get(id)
  }

  /** The name of an id; the same for both stores when they first show it at the same place. */
  toName(kind: Kind, id: number): string {
    const names = this.#names.get(kind) ?? new Map<number, string>()
    this.#names.set(kind, names)
    const name = names.get(id) ?? (id === unknownId ? `${kind}?` : `${kind}${names.size + 1}`)
    names.set(id, name)
    return name
  }
}
