/** The command line's options. */
import { Data, Effect } from "effect"
import { parseArgs } from "node:util"

export interface Options {
  readonly seed: number
  /** Indexes from 0; the last one is not included. */
  readonly requests: number
  /** `memory`, `pglite`, or the URL of a PostgreSQL. */
  readonly store: string
  /** Number of concurrent cells. */
  readonly cells: number
  /** One request alone, in its own cell; undefined: all. */
  readonly only: number | undefined
  /** The cell of `only` from its first request on. */
  readonly wholeCell: boolean
  /** The run ends then, finished or not. */
  readonly seconds: number
  /** Whether links may lead to the fuzzer's listener; else the service refuses them all. */
  readonly privateTargets: boolean
  readonly verbose: boolean
}

export class WrongArguments extends Data.TaggedError("WrongArguments")<{
  readonly message: string
}> {}

const whole = (name: string, text: string): Effect.Effect<number, WrongArguments> => {
  const value = Number(text.replaceAll("_", ""))
  return Number.isSafeInteger(value) && value >= 0
    ? Effect.succeed(value)
    : Effect.fail(new WrongArguments({ message: `--${name} is a whole number, not ${text}` }))
}

const isStore = (store: string): boolean => /^(?:memory|pglite|postgres(?:ql)?:\/\/.+)$/.test(store)

/** Reads `--name value`; fails with a line that names the fault. */
export const readOptions = (argv: ReadonlyArray<string>): Effect.Effect<Options, WrongArguments> =>
  Effect.gen(function* () {
    const { values } = yield* Effect.try({
      try: () =>
        parseArgs({
          args: [...argv],
          options: {
            seed: { type: "string", default: "1" },
            requests: { type: "string", default: "10000" },
            store: { type: "string", default: "memory" },
            cells: { type: "string", default: "4" },
            only: { type: "string" },
            "whole-cell": { type: "boolean", default: false },
            seconds: { type: "string", default: "86400" },
            "no-private-targets": { type: "boolean", default: false },
            verbose: { type: "boolean", default: false },
          },
        }),
      catch: (cause) => new WrongArguments({ message: String(cause) }),
    })
    if (!isStore(values.store)) {
      return yield* new WrongArguments({
        message: `--store is memory, pglite or a postgres:// URL, not ${values.store}`,
      })
    }
    const only = values.only === undefined ? undefined : yield* whole("only", values.only)
    return {
      seed: yield* whole("seed", values.seed),
      requests: yield* whole("requests", values.requests),
      store: values.store,
      cells: Math.max(1, yield* whole("cells", values.cells)),
      only,
      wholeCell: values["whole-cell"],
      seconds: yield* whole("seconds", values.seconds),
      privateTargets: !values["no-private-targets"],
      verbose: values.verbose,
    }
  })
