/**
 * What a generator chooses with: the numbers of its command, the records that its store is known to
 * have, and a clock that moves on with the sequence.
 */
import { claimRetentionMillis } from "@messaging-service/core"
import type {
  CallerScope,
  ClaimOutcome,
  EventId,
  IdempotencyClaim,
  KeyId,
  Message,
  MessageId,
  Mode,
  NumberId,
  Owned,
  PageQuery,
  Phone,
  SendingNumber,
  TransportId,
  Workspace,
  WorkspaceId,
} from "@messaging-service/core"
import { day, hour, minute, noon, oneSecond } from "../Records.ts"
import { unknownId } from "./Side.ts"
import type { Known, Side } from "./Side.ts"

/** How far the clock moves before a command; mostly not at all, so that moments meet. */
const shortSteps = [0, 0, 0, 0, 0, 1, 1, oneSecond, 5 * oneSecond, 30 * oneSecond, minute]
const longSteps = [10 * minute, hour, 6 * hour, day]

/** Long steps end leases and links: every other sequence has few. */
export const toStep = (choice: number | undefined, sequence: number): number => {
  const steps =
    sequence % 2 === 0
      ? [...shortSteps, ...longSteps]
      : [...shortSteps, ...shortSteps, ...shortSteps, hour]
  return steps[(choice ?? 0) % steps.length] ?? 0
}

/** A claim of an idempotency key, and when it was made: its holder has it for a while. */
interface HeldClaim {
  readonly claim: IdempotencyClaim
  readonly at: number
}

/** Thrown where a command makes no sense yet: both stores pass it over. */
export class PassedOver extends Error {}

export class Chooser {
  readonly side: Side
  readonly now: number
  readonly #serial: number
  readonly #choices: ReadonlyArray<number>
  #taken = 1
  #created = 0

  /** `serial`: the command's place in its sequence, which makes its texts unique. */
  constructor(side: Side, now: number, serial: number, choices: ReadonlyArray<number>) {
    this.side = side
    this.now = now
    this.#serial = serial
    this.#choices = choices
  }

  /** From 0 up to, not including, `bound`. */
  below(bound: number): number {
    return bound <= 1 ? 0 : (this.#choices[this.#taken++] ?? 0) % bound
  }

  one<const Values extends readonly [unknown, ...ReadonlyArray<unknown>]>(
    values: Values,
  ): Values[number] {
    return values[this.below(values.length)]
  }

  /** False at zero; true once in so many times. */
  once(inHowMany: number): boolean {
    return this.below(inHowMany) === inHowMany - 1
  }

  /** Null at zero and mostly. */
  maybe<A>(make: () => A): A | null {
    return this.below(3) === 2 ? make() : null
  }

  /** A number unique in the sequence. */
  fresh(): number {
    return this.#serial * 100 + ++this.#created
  }

  some<A>(max: number, make: () => A): Array<A> {
    return Array.from({ length: this.below(max + 1) }, make)
  }

  /** One of the records of that kind, mostly a late one; undefined before the first. */
  record<A = Known>(of: string): A | undefined {
    const known = this.side.known(of)
    const back = this.once(4) ? this.below(known.length) : this.below(Math.min(known.length, 4))
    return known[known.length - 1 - back] as A | undefined
  }

  /** The same, where a command makes no sense without one. */
  needed<A = Known>(of: string): A {
    const found = this.record<A>(of)
    if (found === undefined) throw new PassedOver()
    return found
  }

  /** One known to be of that id. */
  recordWith<A = Known>(of: string, id: number): A | undefined {
    return this.side.known(of).findLast((one) => (one as Known).id === id) as A | undefined
  }

  /** The id of such a record; sometimes one that no record has. */
  id<Id extends number>(of: string): Id {
    const { id = unknownId } = this.record(of) ?? {}
    return (this.once(24) ? unknownId : id) as Id
  }

  ids<Id extends number>(of: string, max = 4): Array<Id> {
    return [...new Set(this.some(max, () => this.id<Id>(of)))]
  }

  workspaceId(): WorkspaceId {
    return this.id("workspace")
  }

  workspace(): Workspace | undefined {
    return this.record<Workspace>("workspace")
  }

  /** That record's workspace; sometimes another. */
  getWorkspaceId(record: unknown): WorkspaceId {
    const { workspaceId } = (record ?? {}) as { readonly workspaceId?: WorkspaceId }
    return this.once(12) || workspaceId === undefined ? this.workspaceId() : workspaceId
  }

  number(): SendingNumber {
    return (
      this.record<SendingNumber>("number") ?? {
        id: unknownId as NumberId,
        workspaceId: this.workspaceId(),
        mode: "live",
        phone: null,
        label: "",
        platform: "whatsapp",
        status: "connected",
        loginMethod: "qr",
        createdAt: this.now,
      }
    )
  }

  /** The id of a workspace that is there. */
  owner(): WorkspaceId {
    const { id } = this.needed<Workspace>("workspace")
    // No port says what may still be added to a deleted one.
    if (this.recordWith("deleted", id) !== undefined) throw new PassedOver()
    return id
  }

  message(): Message | undefined {
    return this.record<Message>("message")
  }

  messageId(): MessageId {
    return this.id("message")
  }

  mode(): Mode {
    return this.one(["live", "live", "live", "test"])
  }

  /** The mode of that record; sometimes another. */
  getMode(record: unknown): Mode {
    const { mode = "live" } = (record ?? {}) as { readonly mode?: Mode }
    return this.once(12) ? this.mode() : mode
  }

  /** Who asks for that record. */
  scope(record: unknown): CallerScope {
    return {
      workspaceId: this.getWorkspaceId(record),
      mode: this.getMode(record),
      restriction: this.once(4) ? this.ids<NumberId>("number") : null,
    }
  }

  /** One of few, so that records meet. */
  phone(): Phone {
    return this.one([
      "+15550000001",
      "+15550000002",
      "+15550000003",
      "+4915550000",
      "+15550010000",
    ]) as Phone
  }

  text(): string {
    return this.one(["Hello", "hello again", "Grüße, 100 %", "a\\b_c", "", "Zeile\nzwei 🙂"])
  }

  name(): string {
    return this.one(["One", "Two", "Öne", "one"])
  }

  hash(): string {
    return this.fresh().toString(16).padStart(64, "0")
  }

  eventId(): EventId {
    return `evt_${String(this.fresh()).padStart(24, "0")}` as EventId
  }

  transportId(): TransportId {
    return this.fresh().toString(16).toUpperCase().padStart(20, "0") as TransportId
  }

  url(): string {
    return `${this.one(["https://a.example.com", "https://b.example.com"])}/hook`
  }

  /** Around now: the past and the future that commands speak of. */
  moment(): number {
    return (
      this.now + this.one([0, 1, -1, minute, -minute, hour, -hour, day, -day, 40 * day, -40 * day])
    )
  }

  later(): number {
    return this.now + this.one([minute, 1, oneSecond, hour, day, 30 * day])
  }

  limit(): number {
    return this.one([100, 1, 2, 3])
  }

  page(of: string): PageQuery {
    return { before: this.maybe(() => this.id<number>(of)), limit: this.limit() }
  }

  owned(): Owned {
    return this.one([
      "all",
      "all",
      "all",
      { of: unknownId, shards: this.ids<NumberId>("number", 6) },
    ])
  }

  /** What some workspaces have already of a share. */
  held(): ReadonlyMap<WorkspaceId, number> {
    return new Map(this.ids<WorkspaceId>("workspace", 1).map((id) => [id, 1 + this.below(2)]))
  }

  shares() {
    return { perWorkspace: this.one([1000, 1, 2]), held: this.held() }
  }

  lease() {
    return {
      now: this.now,
      leaseUntil: this.now + this.one([minute, 1, hour]),
      limit: this.limit(),
    }
  }

  /** Takes all that is due: what a limit or a share leaves of those due at one moment is the store's. */
  whole() {
    const taken = { perWorkspace: 1000, held: new Map<WorkspaceId, number>() }
    return { ...this.lease(), ...taken, limit: 100 }
  }

  /** A claim of an idempotency key, of few, so that they meet; null for none. */
  claim(): IdempotencyClaim | null {
    return this.below(4) === 3 ? this.getClaim() : null
  }

  getClaim(): IdempotencyClaim {
    const held = this.record<HeldClaim>("claim")
    if (held !== undefined && this.now < held.at + claimRetentionMillis && this.below(3) < 2) {
      return held.claim
    }
    return {
      keyId: this.record<{ readonly id: KeyId }>("key")?.id ?? -1,
      key: this.one(["k1", "k2", "k3"]),
      fingerprint: this.one(["f", "g"]).repeat(64),
      token: `token ${this.fresh()}`,
    }
  }

  learnClaim(outcome: ClaimOutcome | null, claim: IdempotencyClaim | null): void {
    if (outcome?._tag === "Claimed") this.side.learn("claim", { claim, at: this.now })
  }
}

/** Where every sequence begins. */
export const beginning = noon
