/**
 * Which stores this process has open, and where it opened them. A second `open` of an embedded store
 * fails with that place; of PostgreSQL it logs it, since two services on one database are allowed.
 */
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { resolve } from "node:path"
import type { ComposedSettings } from "../compose/Settings.ts"
import { InvalidOptions } from "./rules.ts"

/** A bundler or an edit may load this module again, so its copies share what the process has open. */
const shared = Symbol.for("@messaging-service/service/opened")

interface Opened {
  /** The address or pool, or the directory. */
  readonly what: unknown
  readonly schema: string | null
  /** File, line and column of the call. */
  readonly where: string
}

const opened = (): Set<Opened> => {
  const globals = globalThis as { [shared]?: Set<Opened> }
  return (globals[shared] ??= new Set())
}

/** Where `callee` was called: to be asked before it waits for anything. */
export const findCaller = (callee: (...args: ReadonlyArray<never>) => unknown): string => {
  const trace: { stack?: string } = {}
  Error.captureStackTrace?.(trace, callee)
  const [, frame = ""] = (trace.stack ?? "").split("\n")
  return (
    /\(?((?:file:|[/\\A-Za-z]).*:\d+:\d+)\)?$/.exec(frame.trim().replace(/^at /, ""))?.[1] ??
    "an unknown place"
  )
}

const toStore = ({ dataDirectory, store }: ComposedSettings): Omit<Opened, "where"> | null => {
  switch (store.kind) {
    case "memory":
      return null
    case "embedded":
      return { what: dataDirectory === null ? null : resolve(dataDirectory), schema: null }
    case "postgres":
      return { what: store.url, schema: store.schema }
    case "pool":
      return { what: store.pool, schema: store.schema }
  }
}

const plain = (what: unknown): unknown => (Redacted.isRedacted(what) ? Redacted.value(what) : what)

const refused = (where: string) =>
  new InvalidOptions({
    first: {
      field: "store.embedded",
      rule: `is already open in this process (opened at ${where}): reuse that instance, or close it first`,
    },
    others: [],
  })

/** Notes the store as open until the scope closes. */
export const noteOpened = (
  settings: ComposedSettings,
  where: string,
): Effect.Effect<void, InvalidOptions, Scope.Scope> =>
  Effect.gen(function* () {
    const opening = toStore(settings)
    if (opening === null) return
    const earlier = [...opened()].find(
      ({ schema, what }) => plain(what) === plain(opening.what) && schema === opening.schema,
    )
    if (earlier !== undefined && settings.store.kind === "embedded") {
      return yield* refused(earlier.where)
    }
    if (earlier !== undefined) {
      yield* Effect.logWarning(
        `this process has that database open already, by the call at ${earlier.where}: each of them works for itself`,
      )
    }
    const entry = { ...opening, where }
    yield* Effect.acquireRelease(
      Effect.sync(() => void opened().add(entry)),
      () => Effect.sync(() => void opened().delete(entry)),
    )
  })
