/**
 * One whole seed: setting up a service, a storm of commands and faults, and a calm in which
 * everything becomes idle. Nothing waits for real time: the run is one synchronous call.
 *
 * Every random part has its own stream, so omitting one from a run changes no other draw.
 */
import {
  Admission,
  Caller,
  CallbackSecrets,
  Conversations,
  everyMessage,
  Keys,
  kindsOfWork,
  MediaFiles,
  Messages,
  Numbers,
  receivedEventTypes,
  Reminders,
  SessionVault,
  Store,
  Webhooks,
  Workspaces,
  isConversationEvent,
} from "@messaging-service/core"
import type { Message, MessageId, NumberId, Platform, ReminderId } from "@messaging-service/core"
import { Chance, World } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { TestControls } from "@messaging-service/store-memory"
import { Cause, Context, Effect, Exit, Layer, Random, Result, Scope } from "effect"
import { auditCampaigns, everything } from "./auditCampaigns.ts"
import { auditReceived, noneReceived } from "./auditReceived.ts"
import { Lost, oneOf, randomFrom, spawn } from "./calls.ts"
import { Coverage } from "./Coverage.ts"
import { FaultPoints, strikeKinds } from "./faults/FaultPoints.ts"
import type { StrikeKind } from "./faults/FaultPoints.ts"
import { Switchboard } from "./faults/lines.ts"
import { lineKey } from "./faults/liveWire.ts"
import { freeze, Remote, thaw } from "./faults/wire.ts"
import { callbacks } from "./features/callbacks.ts"
import { campaigns, drawCampaigns } from "./features/campaigns.ts"
import { checks } from "./features/checks.ts"
import { connections } from "./features/connections.ts"
import { deletions } from "./features/deletions.ts"
import type {
  Command,
  Feature,
  FirstSecrets,
  Tenant,
  MadeReminder,
  Planning,
  Stage,
} from "./features/Feature.ts"
import { keys } from "./features/keys.ts"
import { links } from "./features/links.ts"
import { lineEnds, mendOne } from "./features/lines.ts"
import { media } from "./features/media.ts"
import { messages, sendProbe } from "./features/messages.ts"
import { operations, aPlan } from "./features/operations.ts"
import { drawMailboxes, receiving, receivingNumbers } from "./features/receiving.ts"
import { reminders } from "./features/reminders.ts"
import { restores } from "./features/restores.ts"
import { webhooks } from "./features/webhooks.ts"
import { toName, Recorder } from "./History.ts"
import type {
  CallRequest,
  FinalAttempt,
  FinalEndpoint,
  FinalMessage,
  FinalState,
  History,
  Stored,
  Setting,
} from "./History.ts"
import { judge } from "./promises/index.ts"
import { Cluster, layerShared, quota } from "./SimulatedService.ts"
import type { Services } from "./SimulatedService.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** One of so many seeds runs for a day, until ended records are erased. */
const forgetfulOf = 30

/** Days for which the service and the audited workspace keep ended messages; null for no limit. */
interface Retention {
  readonly service: number | null
  readonly own: number
  /** Of another workspace. */
  readonly others: number | null
}

/** The lower retention applies: a day. */
const retentions: readonly [Retention, ...ReadonlyArray<Retention>] = [
  { service: null, own: 1, others: null },
  { service: 2, own: 1, others: 3 },
  { service: 1, own: 2, others: null },
  { service: null, own: 1, others: 1 },
]

/** Null for a run without erasure. A long run outlasts a service's retention of a day. */
const drawRetention = (seed: string, isLong: boolean): Retention | null => {
  const chance = new Chance(`${seed}/retention`)
  if (chance.below(forgetfulOf) !== 0) return null
  return isLong ? retentions[0] : oneOf(chance, retentions)
}

/** Monday, 2 March 2026, noon. */
const start = Date.UTC(2026, 2, 2, 12)

/** The duration of commands, and of faults after that. */
const span = 10 * minute
const afterwards = 2 * minute

/** Attempts of webhooks end within 23 hours, each up to 5 % longer. */
const longMillis = 27 * hour
/** After five of them in the storm the sixth comes an hour and a half later. */
const shortMillis = 115 * minute
/** How long connections are kept in calm: they are expensive, and the remaining work needs none. */
const linesMillis = 2 * minute

/** In some seeds with campaigns the numbers have room again, a day after the storm. */
const daylongMillis = 26 * hour

const features: ReadonlyArray<Feature> = [
  messages,
  connections,
  lineEnds,
  reminders,
  operations,
  webhooks,
  callbacks,
  keys,
  deletions,
  restores,
  checks,
  links,
  media,
  campaigns,
  receiving,
]

export interface SimulateOptions {
  /** Ids of the possible faults. Default: all. */
  readonly faults?: ReadonlySet<string> | undefined
  /** Indexes of the given commands. Default: all. */
  readonly commands?: ReadonlySet<number> | undefined
  readonly hasTrace?: boolean | undefined
  /** Until every delivery of a webhook has used up its attempts. */
  readonly isLong?: boolean | undefined
  readonly isCalm?: boolean | undefined
}

export interface Outcome {
  readonly seed: string
  /** Of everything that happened, in order. */
  readonly digest: string
  readonly violations: ReadonlyArray<string>
  readonly history: History
  readonly steps: number
  readonly commands: ReadonlyArray<string>
  /** Ids of the faults that happened. */
  readonly faults: ReadonlyArray<string>
  readonly faultCounts: Readonly<Record<string, number>>
  readonly coverage: Coverage
  readonly simulatedMillis: number
  readonly trace: ReadonlyArray<string>
}

/** Starts effects and runs the world until they have ended. */
const makeFinish =
  (world: World) =>
  <A, E>(process: Process, effect: Effect.Effect<A, E>): A => {
    const ended: { exit?: Exit.Exit<A, E> } = {}
    spawn(process, effect, (exit) => {
      ended.exit = exit
    })
    for (let left = 100_000; ended.exit === undefined && left > 0; left--) {
      world.runUntil(world.nextTimer ?? world.now)
    }
    const { exit } = ended
    if (exit === undefined) throw new Error("what was asked in calm does not end")
    if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
    return exit.value
  }

/** A workspace with numbers, keys of both modes and an endpoint for webhooks. */
const setUp = (
  allowance: number | null,
  name: string,
  platforms: ReadonlyArray<Platform>,
  board: Switchboard | null,
) =>
  Effect.gen(function* () {
    const workspaces = yield* Workspaces
    const plan = aPlan(allowance)
    const { id: workspace } = yield* workspaces.create("owner", { name, plan })
    const ids: Array<NumberId> = []
    for (const [index, platform] of platforms.entries()) {
      const phone = `+155500${name.length}010${index}`
      const number = yield* Numbers.use((service) =>
        service.create("owner", workspace, { platform, phone }),
      )
      ids.push(number.id)
      if (board === null) continue
      board.add(number.id, phone.slice(1))
      const credentials = board.link(number.id)
      yield* SessionVault.use((vault) => vault.exchange(number.id, null, credentials, []))
    }
    const admitted = (mode: "live" | "test") =>
      Effect.gen(function* () {
        const { key } = yield* Keys.use((service) =>
          service.create("owner", workspace, { version: 2, name: mode, mode }),
        )
        const { caller } = yield* Admission.use((admission) =>
          admission.admitV2(`Bearer ${key}`, "192.0.2.1"),
        )
        return caller
      })
    const callers = { live: yield* admitted("live"), test: yield* admitted("test") }
    const url = `https://receiver.example/${name}`
    const { answer } = yield* Webhooks.use((service) => service.create(callers.live, { url }, null))
    const { secret: callbackSecret } = yield* CallbackSecrets.use((secrets) =>
      secrets.get("owner", workspace),
    )
    const secret = "secret" in answer ? answer.secret : ""
    const tenant: Tenant = { workspace, numbers: ids, callers }
    const first: FirstSecrets = {
      endpoint: { id: Number(answer.id), url, secret },
      callbackSecret,
    }
    return { tenant, first }
  })

/** The workspace that receives what people write, with an endpoint for its events. */
const setUpReceiving = (board: Switchboard | null) =>
  Effect.gen(function* () {
    const platforms = Array.from({ length: receivingNumbers }, () => "whatsapp" as const)
    const { tenant } = yield* setUp(null, "Hearing", platforms, board)
    const { numbers, workspace } = tenant
    // Without a session no key is stored.
    for (const id of board === null ? numbers : []) {
      yield* SessionVault.use((vault) => vault.exchange(id, null, "credentials", []))
    }
    yield* Conversations.use((service) => service.put("owner", workspace, { groups: true }))
    const caller = Caller.trusted(yield* Workspaces.use((service) => service.get(workspace)))
    const events = receivedEventTypes
    const url = "https://receiver.example/hearing"
    yield* Webhooks.use((service) => service.create(caller, { url, events }, null))
    return tenant
  })

/** The commands of a seed, each with its index. */
const planAll = (
  seed: string,
  count: number,
  planned: ReadonlyArray<Feature>,
): ReadonlyArray<Command> => {
  const shape = new Chance(`${seed}/bursts`)
  const bursts = shape.below(2) === 0 ? null : Array.from({ length: 5 }, () => shape.below(span))
  return planned.flatMap((feature) => {
    const chance = new Chance(`${seed}/workload/${feature.name}`)
    const planning: Planning = {
      chance,
      count,
      start,
      span,
      numbers: numbersOfWorld,
      instant: () => {
        const burst = bursts?.[chance.below(5)]
        return burst === undefined
          ? chance.below(span)
          : burst + chance.below(oneOf(chance, [1, 5, 300]))
      },
    }
    return feature.plan(planning)
  })
}

const numbersOfWorld = 3
const probePlatforms: ReadonlyArray<Platform> = Array.from({ length: 8 }, () => "whatsapp")

/** The state of one run. */
class Simulation {
  readonly #seed: string
  readonly #options: SimulateOptions
  readonly #world: World
  readonly #record: Recorder
  readonly #faults: FaultPoints
  readonly #coverage = new Coverage()
  readonly #cluster: Cluster
  readonly #store: Context.Context<Layer.Success<typeof layerShared>>
  readonly #remote: Remote
  readonly #finish: ReturnType<typeof makeFinish>
  readonly #commands: ReadonlyArray<Command>
  readonly #setting: Setting
  readonly #ids = new Map<string, number>()
  readonly #reminders: Array<MadeReminder> = []
  readonly #campaigns: Stage["campaigns"] = new Map()
  readonly #withCampaigns: ReturnType<typeof drawCampaigns>
  /** The workspace that receives what people write, and what the platform keeps for its numbers. */
  #hearing: Tenant | null = null
  readonly #mailboxes: Stage["mailboxes"]
  readonly #keys: Stage["keys"] = new Map()
  readonly #endpoints: Stage["endpoints"] = new Map()
  readonly #files: Stage["files"] = new Map()
  readonly #contacts: Stage["contacts"] = new Map()
  readonly #links: Stage["links"] = new Map()
  #doomed: Tenant | null = null
  #audited: Tenant | null = null
  readonly #kept: Array<Stored> = []
  #auditedEntries = 0
  /** Null: nothing is erased. */
  readonly #retention: Retention | null
  readonly #processes: number
  readonly #ordersWrites: boolean
  readonly #platforms: ReadonlyArray<Platform>
  #hits: Array<{ left: number; readonly hit: () => void }> = []

  constructor(seed: string, options: SimulateOptions) {
    this.#seed = seed
    this.#options = options
    this.#withCampaigns = drawCampaigns(seed)
    this.#mailboxes = drawMailboxes(seed)
    const shape = new Chance(`${seed}/shape`)
    const world = new World({
      seed,
      start,
      // A whole seed takes fewer.
      maxStepsPerInstant: 500_000,
      freedom: {
        yieldEvery: oneOf(shape, [1, 3, 10, 40, Infinity]),
        shuffle: shape.below(6) !== 0,
      },
    })
    this.#world = world
    const record = new Recorder(() => world.now, options.hasTrace === true)
    this.#record = record
    world.onStep = (process, index) => record.mix((process.id << 16) ^ index)
    const dropsCopies = shape.below(3) !== 0
    const coverage = this.#coverage
    const live = new Chance(`${seed}/live`)
    const board =
      live.below(4) === 0
        ? new Switchboard({ world, seed, record, coverage, replaces: live.below(2) === 0 })
        : null
    this.#processes = 1 + shape.below(3)
    this.#platforms = ["whatsapp", "whatsapp", live.below(2) === 0 ? "telegram" : "whatsapp"]
    // A single process may have every number.
    const isShared = board !== null && (this.#processes > 1 || live.below(2) === 0)
    this.#ordersWrites = isShared || this.#processes === 1
    const sharesReceiving = isShared && this.#mailboxes.length > 0
    const { faults: only, isCalm } = options
    this.#faults = new FaultPoints({ seed, only, isCalm, sharesReceiving }, record)
    this.#remote = new Remote({ world, seed, record, dropsCopies, faults: this.#faults, board })
    this.#finish = makeFinish(world)
    this.#store = this.#finish(
      this.#remote.process,
      Layer.build(layerShared).pipe(
        Scope.provide(Scope.makeUnsafe()),
        Effect.provideService(Random.Random, randomFrom(new Chance(`${seed}/ids`))),
      ),
    )
    this.#retention = drawRetention(seed, options.isLong === true)
    this.#cluster = new Cluster({
      world,
      seed,
      record,
      coverage,
      faults: this.#faults,
      remote: this.#remote,
      store: this.#store,
      retentionDays: this.#retention?.service ?? null,
      poll: oneOf(shape, [second, 5 * second, 30 * second]),
      isShared,
    })
    world.beforeStep = () => this.#strike()
    this.#commands = planAll(seed, 60, this.#features)
    const { hasTrueClocks, isTimeTrue } = this.#faults
    this.#setting = {
      allowance: 8 + shape.below(25) + (this.#withCampaigns?.allowance ?? 0),
      quota: quota.messages,
      dropsCopies,
      isTimeTrue,
      isPunctual: isTimeTrue && !this.#faults.mayHappen("store.slow"),
      hasTrueClocks,
      isSteady: this.#faults.isSteady,
      isLong: options.isLong === true,
    }
  }

  run(): Outcome {
    const setting = this.#setting
    try {
      const final = this.#turn()
      const kept = this.#kept
      // Entries after the audit are not in its findings.
      const entries = this.#record.entries.slice(0, this.#auditedEntries)
      const history: History = { setting, entries, final, kept }
      this.#record.note(JSON.stringify(kept))
      this.#record.note(JSON.stringify(final))
      return this.#outcome(history, judge(history))
    } catch (error) {
      // A service that never becomes idle, or calls in calm that fail.
      const said = Cause.pretty(Cause.die(error)).split("\n").slice(0, 3).join(" ")
      const history: History = { setting, entries: this.#record.entries, final: nothing, kept: [] }
      return this.#outcome(history, [`broken off: ${said}`])
    }
  }

  /** Storm and calm; returns the final state. */
  #turn(): FinalState {
    const commands = this.#commands
    const { doomed, tenant, probes } = this.#prepare(this.#setting.allowance)
    this.#audited = tenant
    this.#doomed = doomed
    for (let index = 0; index < this.#processes; index++) {
      this.#cluster.running.push(this.#cluster.open(true))
    }
    this.#storm(commands, tenant)
    const endOfRuns = this.#calm(tenant)
    this.#probe(probes)
    this.#remote.readEverything()
    const world = this.#world
    world.runUntil(world.now + 5 * second)
    const lines = this.#readLines()
    world.stopForcingYields()
    if (this.#remote.board !== null) {
      world.runUntil(world.now + linesMillis)
      this.#cluster.replaceAll()
    }
    const { isLong } = this.#setting
    world.runUntil(start + (isLong ? longMillis : this.#restMillis))
    const retention = this.#retention
    if (retention !== null) {
      this.#keep(tenant, retention.own)
      this.#keep(probes, retention.others)
    }
    // The judged state no longer changes.
    for (const { process } of this.#cluster.running) process.pause()
    const final = { ...this.#audit(tenant, endOfRuns), lines }
    this.#auditedEntries = this.#record.entries.length
    if (retention !== null) {
      this.#kept.push({ ...this.#check(tenant, probes), refusals: [] })
      for (const { process } of this.#cluster.running) process.resume()
      this.#forget(tenant, probes, final)
    }
    for (const { process } of this.#cluster.running) process.kill()
    return final
  }

  get #features(): ReadonlyArray<Feature> {
    return features.filter((feature) => {
      if (feature === campaigns) return this.#withCampaigns !== null
      return feature !== receiving || this.#mailboxes.length > 0
    })
  }

  get #restMillis(): number {
    const isDaylong = this.#withCampaigns?.isDaylong === true && this.#retention === null
    return isDaylong ? daylongMillis : shortMillis
  }

  #keep({ workspace }: Tenant, days: number | null): void {
    this.#askCalmly(
      Workspaces.use((service) => service.update("owner", workspace, { retentionDays: days })),
    )
  }

  #askCalmly<A, E>(effect: Effect.Effect<A, E, Services>): A {
    const [running] = this.#cluster.ready
    if (running === undefined) throw new Error("no process has started")
    return this.#finish(this.#world.outside, this.#cluster.request(running, effect))
  }

  /** A day later: reads before and after the ended records' erasure. */
  #forget(tenant: Tenant, probes: Tenant, { messages: before }: FinalState): void {
    const judgedAt = this.#world.now
    // By the second read everything that was judged has ended long enough ago.
    for (const at of [start + day + 5 * minute, judgedAt + day + 12 * minute]) {
      this.#world.runUntil(at)
      // Look before any call: housekeeping may run before its answer.
      const checked = this.#check(tenant, probes)
      const left = new Set(checked.messages)
      const missing = before.filter(({ id, mode }) => mode === "live" && !left.has(id))
      const refusals = missing.slice(0, 3).map(({ id }) =>
        this.#askCalmly(
          Effect.match(
            Messages.use((service) => service.get(tenant.callers.live, id as MessageId)),
            {
              onFailure: (failure) => ("code" in failure ? failure.code : failure._tag),
              onSuccess: () => "",
            },
          ),
        ),
      )
      this.#kept.push({ ...checked, refusals })
    }
  }

  #check(tenant: Tenant, probes: Tenant): Omit<Stored, "refusals"> {
    // One step reads everything: otherwise housekeeping could run in between.
    const [own, others, outbox, at] = this.#read(
      Effect.all([
        this.#stored(tenant),
        this.#stored(probes),
        Store.use(({ webhooks: service }) => service.readEvents(0, everything)),
        Effect.sync(() => this.#world.now),
      ]),
    )
    return {
      at,
      messages: own.map(({ id }) => id),
      events: outbox.map(({ eventId }) => eventId),
      others: others.length,
      areOthersRetained: this.#areOthersRetained(at),
    }
  }

  #areOthersRetained(at: number): boolean | null {
    const limits = [this.#retention?.service, this.#retention?.others]
    if (limits.includes(1)) return false
    return limits.every((days) => days == null || at - start <= days * day) || null
  }

  #outcome(history: History, violations: ReadonlyArray<string>): Outcome {
    return {
      seed: this.#seed,
      digest: this.#record.digest,
      violations,
      history,
      steps: this.#world.steps,
      commands: this.#commands.map(({ name }) => name),
      faults: this.#faults.fired,
      faultCounts: this.#faults.counts,
      coverage: this.#coverage,
      simulatedMillis: this.#world.now - start,
      trace: this.#record.trace ?? [],
    }
  }

  /** A process sets everything up, and is gone before the storm. */
  #prepare(allowance: number) {
    const running = this.#cluster.open(false)
    for (let left = 1000; running.services === null && left > 0; left--) {
      this.#world.runUntil(this.#world.now + 1)
    }
    const { board } = this.#remote
    const inside = <A, E>(effect: Effect.Effect<A, E, Services>): A =>
      this.#finish(this.#world.outside, this.#cluster.request(running, effect))
    const { first, tenant } = inside(setUp(allowance, "W", this.#platforms, board))
    const { tenant: doomed } = inside(setUp(null, "Gone", ["whatsapp"], board))
    const { tenant: probes } = inside(setUp(null, "Probes", probePlatforms, board))
    this.#noteFirst(tenant, first)
    if (this.#mailboxes.length > 0) this.#hearing = inside(setUpReceiving(board))
    running.process.kill()
    return { doomed, tenant, probes }
  }

  /** A caller's initial knowledge. */
  #noteFirst(tenant: Tenant, { callbackSecret, endpoint }: FirstSecrets): void {
    const { id, secret, url } = endpoint
    const stage = this.#stage(tenant, new Chance(`${this.#seed}/first`))
    const createdCount = stage.recordRequest({
      _tag: "MakeEndpoint",
      url,
      key: null,
      mode: "live",
      events: ["message.sent", "message.failed", "message.cancelled", "message.expired"],
      idempotencyKey: url,
      isOther: false,
    })
    stage.answered(createdCount, { _tag: "Made", id, secret, isReplayed: false })
    const read = stage.recordRequest({ _tag: "ReadCallbackSecret" })
    stage.answered(read, { _tag: "Secret", secret: callbackSecret })
  }

  #storm(commands: ReadonlyArray<Command>, tenant: Tenant): void {
    const world = this.#world
    for (const [index, command] of commands.entries()) {
      if (this.#options.commands?.has(index) === false) continue
      const stage = this.#stage(tenant, new Chance(`${this.#seed}/command/${index}`))
      world.at(world.outside, start + command.at, () => {
        this.#fork(command.perform(stage))
      })
    }
    this.#drawStrikes(commands)
    this.#faults.isStormy = true
    world.runUntil(start + span + afterwards)
    this.#faults.isStormy = false
    this.#hits = []
  }

  #fork<A, E>(effect: Effect.Effect<A, E>): void {
    Effect.runForkWith(this.#world.outside.context)(Effect.ignoreCause(effect))
  }

  #stage(tenant: Tenant, chance: Chance): Stage {
    const record = this.#record
    return {
      tenant,
      doomed: this.#doomed ?? tenant,
      audited: this.#audited ?? tenant,
      files: this.#files,
      contacts: this.#contacts,
      links: this.#links,
      chance,
      now: () => this.#world.now,
      ids: this.#ids,
      board: this.#remote.board,
      mended: (number) => record.add({ _tag: "Mended", number }, `${number} is mended`),
      reminders: this.#reminders,
      campaigns: this.#campaigns,
      receivers: this.#hearing?.numbers ?? [],
      mailboxes: this.#mailboxes,
      ordersWrites: this.#ordersWrites,
      transactions: Context.get(this.#store, TestControls),
      restrict: (number, until) => this.#remote.restrict(number, until),
      refuseCalls: (url, until) => void this.#cluster.unwilling.set(url, until),
      delay: (operation, millis) => void this.#cluster.late.set(operation, millis),
      killProcesses: () => this.#cluster.restartAll(),
      keys: this.#keys,
      endpoints: this.#endpoints,
      history: record.entries,
      recordRequest: (request: CallRequest) => {
        const call = record.nextCall()
        record.add({ _tag: "Asked", call, request }, `asked #${call} ${JSON.stringify(request)}`)
        return call
      },
      answered: (call, answer) => {
        record.add(
          { _tag: "Answered", call, answer },
          `answered #${call} ${JSON.stringify(answer)}`,
        )
        if (answer._tag === "Refused") this.#coverage.hit(`refusal ${answer.code}`)
      },
      callProcess: (effect, waits = false) =>
        Effect.suspend(() => {
          const { ready } = this.#cluster
          const running = ready[chance.below(Math.max(1, ready.length))]
          if (running === undefined) return Effect.fail(new Lost())
          const call = this.#cluster.request(running, effect)
          // Some hang up early: their request continues, and they repeat it.
          return !waits && chance.below(5) === 0 && this.#faults.isStormy
            ? Effect.raceFirst(
                call,
                Effect.andThen(Effect.sleep(chance.below(2 * second)), Effect.fail(new Lost())),
              )
            : call
        }),
    }
  }

  /** Death, a pause and a wrong clock hit some steps after drawn moments: between any two operations. */
  #strike(): void {
    if (this.#hits.length === 0) return
    for (const one of this.#hits) one.left--
    const due = this.#hits.filter(({ left }) => left < 0)
    if (due.length === 0) return
    this.#hits = this.#hits.filter(({ left }) => left >= 0)
    for (const { hit } of due) hit()
  }

  #drawStrikes(commands: ReadonlyArray<Command>): void {
    const world = this.#world
    for (const kind of strikeKinds) {
      for (let index = 0; index < this.#faults.strikes(kind); index++) {
        const chance = this.#faults.strike(kind, index)
        // Most of them soon after a command or at a full minute, when something is in flight.
        const command = commands[chance.below(commands.length)]
        const minutes = chance.below(span / minute) * minute
        const about = oneOf(chance, [chance.below(span), command?.at ?? 0, minutes])
        const left = chance.below(oneOf(chance, [5, 50, 500]))
        world.at(world.outside, start + about, () => {
          if (!this.#faults.isStruck(kind, index)) return
          this.#hits.push({ left, hit: () => this.#hit(kind, chance) })
        })
      }
    }
  }

  #hit(kind: StrikeKind, chance: Chance): void {
    const { running } = this.#cluster
    const hit = running[chance.below(running.length)]
    if (hit === undefined || hit.process.state === "dead") return
    const { process } = hit
    switch (kind) {
      case "kill":
        this.#record.note(`${process.name} dies`)
        process.kill()
        this.#cluster.restart(hit)
        return
      case "stop":
        this.#record.note(`${process.name} is to end`)
        spawn(process, hit.stops.open)
        return
      case "pause":
        freeze(process, chance.below(chance.below(3) === 0 ? 2 * minute : 2 * second), this.#record)
        return
      case "skew":
        this.#skew(process, chance)
        if (process.skew > 0) spawn(process, hit.leaps.release)
        return
      case "leap": {
        const by = chance.below(20 * second) - 10 * second
        this.#record.note(`${process.name} leaps by ${by} ms`)
        process.skew += by
        if (by > 0) spawn(process, hit.leaps.release)
      }
    }
  }

  /** The clock of a process is wrong for some minutes: by more than it tolerates. */
  #skew(process: Process, chance: Chance): void {
    const world = this.#world
    const set = (skew: number): void => {
      process.skew = skew
      this.#record.add(
        { _tag: "ClockSet", process: process.name, skew },
        `the clock of ${process.name} is ${skew} ms ahead`,
      )
    }
    const by = 11 * second + chance.below(40 * second)
    set(chance.below(2) === 0 ? by : -by)
    world.at(world.outside, world.now + 2 * minute + chance.below(4 * minute), () => {
      if (process.state !== "dead" && process.skew !== 0) set(0)
    })
  }

  /** Starts calm: processes run, clocks are true, numbers are connected, reminders end. */
  #calm(tenant: Tenant): number {
    const world = this.#world
    this.#record.add({ _tag: "Calm" }, "calm")
    for (const { process, wakeUp } of this.#cluster.running) {
      thaw(process, this.#record)
      process.skew = 0
      // A loop asleep since the storm would poll as often as it did then.
      for (const work of kindsOfWork) spawn(process, wakeUp.wake(work))
    }
    world.runUntil(world.now + minute)
    while (this.#cluster.ready.length === 0) world.runUntil(world.now + second)
    const request = <A, E>(effect: Effect.Effect<A, E, Services>): A => this.#askCalmly(effect)
    const stage = this.#stage(tenant, new Chance(`${this.#seed}/calm`))
    if (this.#remote.board === null) {
      for (const number of tenant.numbers) {
        request(Numbers.use((service) => service.connectionChanged(number, "connected", null)))
      }
    } else this.#mendAll(stage)
    for (const { calm } of this.#features) {
      if (calm !== undefined) this.#finish(world.outside, calm(stage))
    }
    const endOfRuns = world.now
    for (const { id } of this.#reminders) {
      // One may have been deleted in the storm.
      request(
        Effect.ignore(
          Reminders.use((service) => service.remove(tenant.callers.live, id as ReminderId)),
        ),
      )
    }
    return endOfRuns
  }

  /** Operators repair numbers until none is shut out: an account may have lost its session too. */
  #mendAll(stage: Stage): void {
    for (let round = 0; round < 3; round++) {
      for (const index of stage.tenant.numbers.keys()) {
        this.#finish(this.#world.outside, mendOne(index)(stage))
      }
      this.#world.runUntil(this.#world.now + minute / 2)
    }
  }

  /** Concurrent messages of another workspace, so that loops are polling when the next signal comes. */
  #probe(tenant: Tenant): void {
    const world = this.#world
    const chance = new Chance(`${this.#seed}/probes`)
    const stage = this.#stage(tenant, chance)
    for (let round = 0; round < 3; round++) {
      let last = world.now
      for (const part of ["a", "b", "c"]) {
        const text = `probe ${round}${part}`
        const at = world.now + chance.below(chance.below(2) === 0 ? 3 : 120)
        const ahead = 1 + chance.below(oneOf(chance, [300, 6 * second]))
        const sendAt = chance.below(2) === 0 ? null : at + ahead
        last = Math.max(last, sendAt ?? at)
        world.at(world.outside, at, () => this.#fork(sendProbe(stage, { number: 0, text, sendAt })))
      }
      world.runUntil(last + 2 * second)
      world.runUntil(world.now + chance.below(20 * second))
    }
    for (const { probe } of this.#features) {
      if (probe !== undefined) this.#finish(world.outside, probe(stage))
    }
    world.runUntil(world.now + 3 * second)
  }

  readonly #read = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof layerShared>>): A =>
    this.#finish(this.#remote.process, Effect.provideContext(effect, this.#store))

  #auditChecks({ workspace }: Tenant): FinalState["checks"] {
    const page = { before: null, limit: everything }
    return (["live", "test"] as const).flatMap((mode) => {
      const scope = { workspaceId: workspace, mode, restriction: null }
      const { items } = this.#read(Store.use(({ numberChecks: store }) => store.list(scope, page)))
      return items.map(({ id, numberId, status }) => ({
        id,
        mode,
        number: numberId,
        status,
        results: this.#read(
          Store.use(({ numberChecks: store }) => store.results(id, null, page)),
        ).items.map(({ phone, status: found }) => ({ phone, status: found })),
      }))
    })
  }

  /** Endpoints, and the log of calls to them and to callbacks. */
  #auditDeliveries({ workspace }: Tenant): Pick<FinalState, "attempts" | "endpoints"> {
    const page = { before: null, limit: everything }
    const everyAttempt = { types: null, failed: false, since: null, until: null }
    const stored = this.#read(
      Store.use(({ webhooks: service }) =>
        service.list({ workspaceId: workspace, mode: null }, true),
      ),
    )
    const logged = stored.flatMap(({ id, url }) =>
      this.#read(Store.use(({ webhooks: service }) => service.attempts(id, everyAttempt, page)))
        .items.map((attempt) => ({ ...attempt, url }))
        .toReversed(),
    )
    const called = this.#read(
      Store.use(({ webhooks: service }) => service.callbackAttempts(workspace, page)),
    ).items.toReversed()
    return {
      endpoints: stored.map(({ disabledReason, id, secretLast4, url }): FinalEndpoint => ({
        id,
        url,
        disabledReason,
        secretLast4,
      })),
      attempts: [...logged, ...called].map(
        ({ attempt, attemptedAt, error, eventId, nextAttemptAt, url }): FinalAttempt => ({
          url,
          eventId,
          attempt,
          attemptedAt,
          delivered: error === null,
          isLast: nextAttemptAt === null,
        }),
      ),
    }
  }

  /** The state of connections; empty where processes keep none. */
  #readLines(): FinalState["lines"] {
    const request = <A, E>(effect: Effect.Effect<A, E, Services>): A => this.#askCalmly(effect)
    const open = this.#remote.board?.open ?? []
    return open.map(([number, count]) => {
      const known = request(Store.use(({ numbers }) => numbers.find(number)))
      const written = request(SessionVault.use((vault) => vault.keys(number, lineKey, [lineKey])))
      const latest = written.get(lineKey)
      return {
        number,
        lines: count,
        status: known?.status ?? null,
        written: latest === undefined ? null : Number(latest),
      }
    })
  }

  #getStored(tenant: Tenant): ReadonlyArray<Message> {
    return this.#read(this.#stored(tenant))
  }

  #stored({ workspace }: Tenant) {
    return Effect.map(
      Effect.forEach(["live", "test"] as const, (mode) =>
        Store.use(({ messages: service }) =>
          service.list(
            { workspaceId: workspace, mode, restriction: null },
            everyMessage,
            { before: null, limit: everything },
            this.#world.now,
          ),
        ),
      ),
      (pages) => pages.flatMap(({ items }) => items),
    )
  }

  #getTicks({ id, workspaceId }: Message): Pick<FinalMessage, "deliveredAt" | "readAt"> {
    const query = { id, workspaceId, now: this.#world.now, limit: 1, mostAhead: 1 }
    const facts = this.#read(Store.use(({ messages: service }) => service.timeline(query)))
    return { deliveredAt: facts?.deliveredAt ?? null, readAt: facts?.readAt ?? null }
  }

  /** Every uploaded file was deleted by then. */
  #filesLeft(): FinalState["filesLeft"] {
    return Array.from(this.#files).flatMap(([file, { storageKey }]) => {
      const opened = MediaFiles.use((files) => Effect.result(files.open(storageKey)))
      return Result.isSuccess(this.#read(opened)) ? [file] : []
    })
  }

  /** The final state, read from the store. */
  #audit(tenant: Tenant, endOfRuns: number): Omit<FinalState, "lines"> {
    const read = this.#read
    // Reading moves the world on.
    const at = this.#world.now
    const outbox = read(Store.use(({ webhooks: service }) => service.readEvents(0, everything)))
    const stored = this.#getStored(tenant)
    const owner = read(Store.use(({ workspaces: service }) => service.get(tenant.workspace)))
    return {
      at,
      messages: stored.map((message) => ({
        id: message.id,
        name: toName(message.text, "phone" in message.to ? message.to.phone : ""),
        text: message.text,
        state: message.state,
        error: message.error?.code ?? null,
        isStored: message.error?.message === "Daily limit reached",
        mode: message.mode,
        number: message.from.id,
        transportId: message.transportId,
        dueAt: message.dueAt,
        sentAt: message.sentAt,
        ...this.#getTicks(message),
        events: outbox.filter(({ messageId }) => messageId === message.id).map(({ type }) => type),
      })),
      events: outbox.flatMap(({ createdAt, eventId, messageId, mode, type }) =>
        messageId === null || isConversationEvent(type)
          ? []
          : [{ eventId, messageId, type, mode, createdAt }],
      ),
      ...this.#auditDeliveries(tenant),
      checks: this.#auditChecks(tenant),
      campaigns: read(auditCampaigns(tenant.workspace, at)),
      received:
        this.#hearing === null ? noneReceived : read(auditReceived(this.#hearing, this.#mailboxes)),
      links: this.#read(Store.use(({ numbers: store }) => store.list(tenant.workspace)))
        .filter(({ id }) => !tenant.numbers.includes(id))
        .map(({ id, phone, status }) => ({ id, phone, status })),
      filesLeft: this.#filesLeft(),
      leftOfDeleted: this.#doomed === null ? 0 : this.#getStored(this.#doomed).length,
      numbers: tenant.numbers.map(Number),
      allowanceLeft: owner?.plan?.messagesRemaining ?? 0,
      reminders: this.#reminders.map(({ everyMinutes, id, text }) => ({
        text,
        due: dueTimes(everyMinutes, endOfRuns),
        runs: read(
          Store.use(({ reminders: service }) =>
            service.runs(id as ReminderId, { before: null, limit: everything }),
          ),
        ).items.map(({ dueAt, outcome }) => ({ dueAt, outcome })),
      })),
    }
  }
}

/** Of an aborted run. */
const nothing: FinalState = {
  at: 0,
  lines: [],
  messages: [],
  events: [],
  endpoints: [],
  attempts: [],
  filesLeft: [],
  leftOfDeleted: 0,
  checks: [],
  links: [],
  numbers: [],
  allowanceLeft: 0,
  reminders: [],
  campaigns: [],
  received: noneReceived,
}

/** Every time of a reminder up to an hour after the last run. */
const dueTimes = (everyMinutes: ReadonlyArray<number>, end: number): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (let at = start; at <= end + hour; at += minute) {
    const minutes = new Date(at).getUTCMinutes()
    if (everyMinutes.some((every) => minutes % every === 0)) times.push(at)
  }
  return times
}

export const simulate = (seed: string, options: SimulateOptions = {}): Outcome =>
  new Simulation(seed, options).run()
