/**
 * Gives the same random sequences of commands to two stores and compares every answer, and in the end
 * all that can be read. What differs is shrunk to a short sequence.
 */
import { Store } from "@messaging-service/core"
import { Arbitrary, Cause, Context, Data, Effect, Exit, Layer } from "effect"
import { asGiven, canonical } from "./canonical.ts"
import { beginning, Chooser, PassedOver, toStep } from "./Chooser.ts"
import { sequencesFor } from "./Command.ts"
import type { Command } from "./Command.ts"
import { finalReads } from "./finalReads.ts"
import type { Call } from "./finalReads.ts"
import { drawnIn, methods } from "./methods/index.ts"
import type { NamedMethod } from "./methods/index.ts"
import { Side } from "./Side.ts"

/** The calls so far; the stores answer the last one differently. */
class Difference extends Data.TaggedError("Difference")<{
  readonly calls: ReadonlyArray<string>
  readonly answers: ReadonlyArray<string>
  /** How many commands of the sequence it took. */
  readonly commands: number
}> {
  override get message(): string {
    const calls = this.calls.map((text, index) => `${index + 1}. ${text}`)
    return [
      "the stores answer the last of these calls differently",
      ...calls,
      ...this.answers,
    ].join("\n")
  }
}

interface Answer {
  /** The call, in names that both stores share. */
  readonly call: string
  readonly text: string
  readonly isFailure: boolean
}

const shown = (value: unknown): string => JSON.stringify(value) ?? "undefined"

const toMethod = ({ name, namespace }: Call): NamedMethod => {
  const found = methods.find((one) => one.namespace === namespace && one.name === name)
  if (found === undefined) throw new Error(`no method ${namespace}.${name} is compared`)
  return found
}

const perform = Effect.fnUntraced(function* (
  side: Side,
  method: NamedMethod,
  input: ReadonlyArray<unknown>,
  learn: (answer: unknown) => void,
) {
  const { kind = null, name, namespace } = method
  const parts: unknown = Reflect.get(side.store, namespace)
  const member: unknown = Reflect.get(parts as object, name)
  const effect = (
    typeof member === "function" ? Reflect.apply(member, parts, input) : member
  ) as Effect.Effect<unknown, unknown>
  const call = `${namespace}.${name}(${input.map((each) => shown(asGiven(each, side, kind))).join(", ")})`
  const exit = yield* Effect.exit(effect)
  if (Exit.isFailure(exit)) {
    return { call, text: Cause.pretty(exit.cause), isFailure: true } satisfies Answer
  }
  learn(exit.value)
  const compared = method.compared === undefined ? exit.value : method.compared(exit.value)
  return { call, text: shown(canonical(compared, side, kind)), isFailure: false } satisfies Answer
})

/** Null where the command makes no sense yet. */
const inputFor = (method: NamedMethod, chooser: Chooser): ReadonlyArray<unknown> | null => {
  try {
    return method.input(chooser)
  } catch (error) {
    if (error instanceof PassedOver) return null
    throw error
  }
}

/** Before there is a workspace there is little to see. */
const firstMethod = toMethod({ namespace: "workspaces", name: "insert", input: [] })

/** Runs one sequence; fails with the first difference. */
const runBoth = Effect.fnUntraced(function* (
  sides: readonly [Side, Side],
  sequence: number,
  commands: ReadonlyArray<Command>,
) {
  const drawn = drawnIn(sequence)
  const calls: Array<string> = []
  let value = 0
  let isLast = false
  const both = Effect.fnUntraced(function* (run: (side: Side) => Effect.Effect<Answer> | null) {
    const [first, second] = sides
    const [request, requestedToo] = [run(first), run(second)]
    if (request === null || requestedToo === null) return
    const one = yield* request
    const other = yield* requestedToo
    if (!isLast) calls.push(one.call)
    if (one.text === other.text && !one.isFailure) return
    const call = one.call === other.call ? [] : [`${second.name} was asked ${other.call}`]
    const answers = [...call, `${first.name}: ${one.text}`, `${second.name}: ${other.text}`]
    return yield* new Difference({
      calls: isLast ? [...calls, one.call] : [...calls],
      answers,
      commands: value,
    })
  })
  let now = beginning
  for (const [serial, { choices, method: index }] of commands.entries()) {
    value = serial + 1
    const method = sides[0].known("workspace").length === 0 ? firstMethod : drawn[index]
    if (method === undefined) continue
    now += toStep(choices[0], sequence)
    const instant = now
    yield* both((side) => {
      const chooser = new Chooser(side, instant, serial, choices)
      const input = inputFor(method, chooser)
      if (input === null) return null
      return perform(side, method, input, (answer) => method.learn?.(answer, input, chooser))
    })
  }
  isLast = true
  const reads = new Map(sides.map((side) => [side, finalReads(side, now)]))
  for (const index of reads.get(sides[0])?.keys() ?? []) {
    yield* both((side) => {
      const call = reads.get(side)?.[index]
      return call === undefined ? null : perform(side, toMethod(call), call.input, () => undefined)
    })
  }
  return true
})

export interface CompareOptions {
  readonly seed: number
  readonly sequences: number
  /** Most commands of a sequence. */
  readonly length: number
  /** How many shorter sequences to try once one differs. */
  readonly shrinks?: number
}

/** A store of its own, empty, for as long as the scope is open. */
const opened = <E, R>(name: string, layer: Layer.Layer<Store, E, R>) =>
  Effect.map(
    Effect.orDie(Layer.build(Layer.fresh(layer))),
    (built) => new Side(name, Context.get(built, Store)),
  )

/**
 * Both layers are built for each sequence, and must be of empty stores. Answers with the shortest
 * difference that was found, as a text; null when there is none.
 */
export const compareStores = Effect.fnUntraced(function* <E, R, F, S>(
  reference: Layer.Layer<Store, E, R>,
  store: Layer.Layer<Store, F, S>,
  { length, seed, sequences, shrinks = 400 }: CompareOptions,
) {
  const failures = new Map<string, number>()
  const makeProperty = (sequence: number) => (commands: ReadonlyArray<Command>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const sides = [
          yield* opened("the reference", reference),
          yield* opened("the store", store),
        ] as const
        return yield* Effect.tapError(runBoth(sides, sequence, commands), (difference) =>
          Effect.sync(() => failures.set(shown(commands), difference.commands)),
        )
      }),
    )
  for (let sequence = 0; sequence < sequences; sequence++) {
    const commands = sequencesFor(
      drawnIn(sequence).length,
      (failed) => failures.get(shown(failed)) ?? failed.length,
    )
    // One run at a time has the whole length.
    const options = { runs: 1, size: length, seed: `${seed} ${sequence}`, maxShrinks: shrinks }
    const result = yield* Arbitrary.checkEffect(commands, makeProperty(sequence), options)
    if (result._tag !== "Falsified") continue
    const { failure, initialInput, shrunkInput } = result
    const why = failure._tag === "PropertyError" ? failure.error.message : "a store gave no answer"
    return `sequence ${sequence}, of ${initialInput.length} commands, shrunk to ${shrunkInput.length}: ${why}`
  }
  return null
})
