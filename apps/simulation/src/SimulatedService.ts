/**
 * Processes of the service in a world. Each is the whole core with a worker, over the one store,
 * and dies without running finalizers. Another one replaces it.
 */
import {
  CountingInterval,
  DailyQuota,
  Ids,
  NumberOwnership,
  NumberProxies,
  PhoneDirectory,
  RealTime,
  RetentionDays,
  SecretsKey,
  SessionVault,
  TelegramTransport,
  WakeUp,
  WhatsAppTransport,
  Worker,
  WorkerName,
  layerServices,
  layerWorker,
  makeLocalWakeUp,
} from "@messaging-service/core"
import type { Work, Store } from "@messaging-service/core"
import { Chance, layerLinking } from "@messaging-service/emulator"
import type { Process, World } from "@messaging-service/emulator"
import { layerForTests as layerStore, layerMediaFiles } from "@messaging-service/store-memory"
import { Context, Effect, Exit, Latch, Layer, Logger, Random, Scope } from "effect"
import { callIn, Lost, randomFrom, spawn } from "./calls.ts"
import type { Coverage } from "./Coverage.ts"
import type { FaultPoints } from "./faults/FaultPoints.ts"
import { layerDirectory } from "./faults/directory.ts"
import { layerReceiver } from "./faults/receiver.ts"
import type { Unwilling } from "./faults/receiver.ts"
import { aroundStore, unavailable } from "./faults/store.ts"
import type { Around } from "./faults/store.ts"
import { makeLiveWire } from "./faults/liveWire.ts"
import { holdReceiving, makeAttempt, makeWire, stall } from "./faults/wire.ts"
import type { Remote } from "./faults/wire.ts"
import type { Recorder } from "./History.ts"

/** The simulation does not promise figures, and counting every minute would fill its days. */
const countingRestMillis = 600_000

const second = 1000
const minute = 60 * second

/** A low daily limit of a number. */
export const quota = { messages: 9, windowMillis: 24 * 60 * minute }

/** Maximum of numbers in a process. */
const maxNumbers = 100

/** The store and the files, which every process shares. */
export const layerShared = Layer.merge(layerStore, layerMediaFiles).pipe(
  Layer.provideMerge(Ids.layerRandom),
)

type Shared = Layer.Success<typeof layerShared>

const layerService = (
  store: Context.Context<Shared>,
  transports: Layer.Layer<
    WhatsAppTransport | TelegramTransport,
    never,
    SessionVault | NumberOwnership | NumberProxies
  >,
  parts: Layer.Layer<Layer.Success<typeof layerEmpty>>,
  ownership: Layer.Layer<NumberOwnership, never, Store>,
) =>
  layerWorker.pipe(
    Layer.provideMerge(transports),
    Layer.provideMerge(SessionVault.layer),
    Layer.provideMerge(NumberProxies.layer),
    Layer.provideMerge(layerServices),
    Layer.provideMerge(layerLinking),
    Layer.provideMerge(parts),
    Layer.provideMerge(ownership),
    Layer.provideMerge(SecretsKey.layerHex("5e".repeat(32))),
    Layer.provideMerge(Layer.succeedContext(store)),
  )

/** Each process's own services, by type. */
declare const layerEmpty: Layer.Layer<
  PhoneDirectory | WakeUp | Layer.Success<ReturnType<typeof layerReceiver>>
>

/** The services of a caller inside the process. */
export type Services = Layer.Success<ReturnType<typeof layerService>>

/** A process and its fibers. */
export interface Running {
  readonly process: Process
  /** Null until it has started. */
  services: Context.Context<Services> | null
  readonly leaps: Latch.Latch
  /** Opened to make it finish and exit. */
  readonly stops: Latch.Latch
  readonly wakeUp: typeof WakeUp.Service
}

export interface ClusterOptions {
  readonly world: World
  readonly seed: string
  readonly store: Context.Context<Shared>
  readonly remote: Remote
  readonly faults: FaultPoints
  readonly record: Recorder
  readonly coverage: Coverage
  /** The service's retention in days; null for none. */
  readonly retentionDays: number | null
  /** The interval of idle polls while there are faults, in milliseconds. */
  readonly poll: number
  /** Whether processes share numbers, each with a maximum. */
  readonly isShared: boolean
}

/** What it means that a worker's operation answers null. */
const refusedTags: Readonly<Record<string, string>> = {
  "sessions.beat": "ended",
  "sessions.receive": "refused",
}

/** The tag of an outcome, with the guard that a commit names. */
const toTag = (operation: string, answer: unknown): string | null => {
  if (typeof answer === "boolean") return String(answer)
  if (answer === null) return refusedTags[operation] ?? null
  if (typeof answer !== "object" || answer === null || !("_tag" in answer)) return null
  const { _tag } = answer
  return "guard" in answer ? `${String(_tag)} ${String(answer.guard)}` : String(_tag)
}

/** All processes over one store. */
export class Cluster {
  /** Running and restarting processes. */
  readonly running: Array<Running> = []
  /** Receivers that temporarily accept nothing. */
  readonly unwilling: Unwilling = new Map()
  /** Operations of the store that are late in calm, with milliseconds. */
  readonly late = new Map<string, number>()
  readonly #options: ClusterOptions
  readonly #restarts: Chance
  #named = 0
  #keepsLines = true

  constructor(options: ClusterOptions) {
    this.#options = options
    this.#restarts = new Chance(`${options.seed}/restarts`)
  }

  /** Those that live and have started. */
  get ready(): ReadonlyArray<Running> {
    return this.running.filter(
      ({ process, services }) => process.state !== "dead" && services !== null,
    )
  }

  /** A process with the services; with `works` it has a worker too. */
  open(works: boolean): Running {
    const { record, world } = this.#options
    const process = world.process(`p${this.#named++}`)
    const running: Running = {
      process,
      services: null,
      leaps: Latch.makeUnsafe(false),
      stops: Latch.makeUnsafe(false),
      wakeUp: makeLocalWakeUp(this.#options.poll),
    }
    const opening = Layer.build(this.#layer(running)).pipe(
      Scope.provide(Scope.makeUnsafe()),
      Effect.tap((services) =>
        Effect.sync(() => {
          running.services = services
        }),
      ),
      Effect.flatMap((services) =>
        works
          ? Effect.provideContext(
              Effect.flatMap(Worker, ({ run }) => Effect.raceFirst(run, running.stops.await)),
              services,
            )
          : Effect.void,
      ),
      Effect.provideContext(this.#ground(running)),
    )
    spawn(process, opening, (exit) => {
      if (process.state === "dead" || (Exit.isSuccess(exit) && !works)) return
      record.note(`${process.name} ${Exit.isSuccess(exit) ? "has ended" : "could not start"}`)
      process.kill()
      this.restart(running)
    })
    process.whenDead(() => {
      record.add({ _tag: "Died", process: process.name }, `${process.name} is gone`)
    })
    record.note(`${process.name} starts`)
    return running
  }

  /** Lets another process replace a dead one. */
  restart(dead: Running): void {
    const { world } = this.#options
    const index = this.running.indexOf(dead)
    if (index < 0) return
    world.at(world.outside, world.now + this.#restarts.below(20 * second), () => {
      this.running[index] = this.open(true)
    })
  }

  /** All die, and others replace them. */
  restartAll(): void {
    for (const running of this.running) {
      running.process.kill()
      this.restart(running)
    }
  }

  /** Replaces all processes with one that keeps no connections. */
  replaceAll(): void {
    for (const { process } of this.running) process.kill()
    this.#keepsLines = false
    this.#options.remote.leaveLines()
    this.running.splice(0, this.running.length, this.open(true))
  }

  /** Runs an effect over the services of that process, for a caller outside. */
  request<A, E>(
    running: Running,
    effect: Effect.Effect<A, E, Services>,
  ): Effect.Effect<A, E | Lost> {
    const { services } = running
    return services === null
      ? Effect.fail(new Lost())
      : callIn(
          running.process,
          this.#options.world.outside,
          Effect.provideContext(effect, services),
        )
  }

  /** Time, randomness and logs. */
  #ground({ leaps, process }: Running) {
    const { retentionDays, seed, world } = this.#options
    const chance = new Chance(`${seed}/random/${process.name}`)
    return Context.make(WorkerName, process.name).pipe(
      Context.add(RealTime, {
        sleep: Effect.sleep,
        stopwatch: Effect.sync(() => {
          const began = world.now
          return () => world.now - began
        }),
        clockJumped: leaps.await,
        systemMillis: Effect.sync(() => world.now + process.skew),
      }),
      Context.add(Random.Random, randomFrom(chance)),
      Context.add(DailyQuota, quota),
      Context.add(RetentionDays, retentionDays),
    )
  }

  #layer(running: Running) {
    const { process } = running
    const { coverage, faults, isShared, record, remote, seed, store } = this.#options
    const board = this.#keepsLines ? remote.board : null
    const parts = Layer.mergeAll(
      layerDirectory(process, faults, record, coverage, seed, board),
      Layer.succeed(WakeUp, this.#wakeUp(running)),
      Layer.succeed(CountingInterval, countingRestMillis),
      layerReceiver(process, faults, record, coverage, seed, this.unwilling),
    )
    const ownership =
      isShared && this.#keepsLines
        ? NumberOwnership.layerShared(maxNumbers)
        : NumberOwnership.layerAll
    const around = aroundStore(store, this.#around(running))
    return layerService(around, this.#transports(process), parts, ownership).pipe(
      Layer.provideMerge(Logger.layer([])),
    )
  }

  #transports(process: Process) {
    const { coverage, faults, record, remote, seed } = this.#options
    const attempt = makeAttempt(process, remote, faults, record, coverage, seed)
    const { board, dropsCopies } = remote
    if (board === null || !this.#keepsLines) {
      const wire = makeWire(process, remote, attempt)
      return Layer.mergeAll(
        Layer.succeed(WhatsAppTransport, wire),
        Layer.succeed(TelegramTransport, wire),
      )
    }
    const live = { attempt, board, dropsCopies, faults, process, seed }
    return Layer.mergeAll(
      Layer.effect(WhatsAppTransport, makeLiveWire({ ...live, platform: "whatsapp" })),
      Layer.effect(TelegramTransport, makeLiveWire({ ...live, platform: "telegram" })),
    )
  }

  /**
   * Every operation of the store passes here: it fails, is delayed, or is answered. This is the
   * place to ask a second store the same (by its name and input) and compare the answers, or to let
   * an operation wait for a gate.
   */
  #around({ process }: Running): Around {
    const { coverage, faults, record, world } = this.#options
    const yields = world.freedom.yieldEvery !== Infinity
    return (operation, effect) =>
      Effect.suspend(() => {
        // The store has a clock of its own, which is right.
        if (operation === clockRead && faults.mayHappen("skew")) return Effect.succeed(world.now)
        const request = Effect.suspend(() => {
          record.note(`${process.name} ${operation}`)
          return Effect.tap(effect, (answer) =>
            Effect.sync(() => {
              const tag = toTag(operation, answer)
              if (tag !== null) coverage.hit(`${operation} ${tag}`)
            }),
          )
        })
        const tick = yields ? Effect.yieldNow : Effect.void
        if (!faults.isStormy) {
          const late = this.late.get(operation)
          const wait = late === undefined ? tick : Effect.sleep(late)
          return Effect.andThen(wait, request)
        }
        const slow = faults.hits(process.name, "store.slow")
        const before = faults.hits(process.name, "store.before")
        const delay =
          slow === null ? null : Effect.sleep(slow.below(slow.below(8) === 0 ? 40 * second : 300))
        // The request or the answer is slow.
        const isAnswerLate = delay !== null && slow?.below(2) === 0
        const wait = delay === null || isAnswerLate ? tick : delay
        const first =
          operation === "sessions.receive"
            ? Effect.andThen(wait, holdReceiving(process, faults, record))
            : wait
        if (before !== null) return Effect.andThen(first, Effect.fail(unavailable(operation)))
        return Effect.andThen(
          first,
          Effect.flatMap(request, (answer) => {
            const after = faults.hits(process.name, "store.after")
            const last = delay !== null && isAnswerLate ? delay : tick
            const ended =
              after !== null ? Effect.fail(unavailable(operation)) : Effect.as(last, answer)
            if (checks.test(operation)) setClock(process, faults)
            return commits.test(operation)
              ? Effect.andThen(stall(process, faults, record), ended)
              : ended
          }),
        )
      })
  }

  /** Wakes this process, and the others unless the signal gets lost. */
  #wakeUp({ process, wakeUp }: Running): typeof WakeUp.Service {
    const { faults, seed, world } = this.#options
    const chance = new Chance(`${seed}/word/${process.name}`)
    const { poll } = this.#options
    const notify = (work: Work) => {
      for (const other of this.running) {
        if (other.process === process || other.process.state === "dead") continue
        if (faults.hits(process.name, "wake.lost") !== null) continue
        world.at(other.process, world.now + 1 + chance.below(20), () => {
          Effect.runForkWith(other.process.context)(other.wakeUp.wake(work))
        })
      }
    }
    return {
      ...wakeUp,
      // In calm a poll would hide a lost wake-up.
      get poll() {
        return faults.isStormy ? poll : 10 * minute
      },
      wake: (work) =>
        Effect.suspend(() => {
          notify(work)
          return wakeUp.wake(work)
        }),
    }
  }
}

/** Operations right after which a process may stop. */
const commits = /^(?:messages|queue)\.(?!claimKey|earliestDue|forgetVoidClaims|nextDue|workload)/

const clockRead = "system.databaseTime"

/** Operations that read due work by the clock. */
const checks = /\.(?:due|claim\w*)$/

/** Sets the clock of a process right after a poll, by up to ten seconds. */
const setClock = (process: Process, faults: FaultPoints): void => {
  const fault = faults.hits(process.name, "clock.set")
  if (fault !== null) process.skew = fault.below(20 * second) - 10 * second
}
