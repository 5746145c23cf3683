/**
 * A command as an entry of a table: its words, its arguments and options, and its action. Parsing,
 * help, shell completion and the tests all read the same entry.
 */
import { isBlank, parsePhone } from "@messaging-service/core"
import type { MessagingClient, OperatorClient } from "@messaging-service/client"
import type { Output } from "./Output.ts"
import type { CommandTarget, WorkspaceClient } from "./WorkspaceClient.ts"
import type { Machine } from "./Machine.ts"
import { usageError } from "./ending.ts"
import { durationMillis, isRelative, parseTime } from "./moment.ts"

/** A textual value: an argument, or the value of an option. */
export interface Value<A> {
  /** Its placeholder in the help: `ID`, `PHONE`. */
  readonly placeholder: string
  readonly about: string
  /** The only allowed texts, for completion. */
  readonly choices?: ReadonlyArray<string>
  /** Fails with a usage error. `now` is in milliseconds. */
  readonly read: (text: string, name: string, now: number) => A
}

/** How often it may occur. */
export type Times = "once" | "maybe" | "many" | "any"

/** An argument or an option of a command; `flag` takes no value. */
export type Parameter<A = unknown> =
  | { readonly kind: "value"; readonly times: Times; readonly value: Value<A> }
  | { readonly kind: "flag"; readonly about: string; readonly type?: A }

type Stored<T> = T extends { readonly kind: "flag" }
  ? boolean
  : T extends {
        readonly kind: "value"
        readonly times: infer N
        readonly value: { readonly read: (...args: never) => infer A }
      }
    ? N extends "once"
      ? A
      : N extends "maybe"
        ? A | undefined
        : ReadonlyArray<A>
    : never

export type ParameterRecord = Readonly<Record<string, Parameter>>

/** Parsed values, by the names of arguments and options. */
export type Given<T> = { readonly [Name in keyof T]: Stored<T[Name]> }

/** Values of the common options. */
export interface CommonOptions {
  readonly service?: string
  readonly "operator-service"?: string
  readonly "key-file"?: string
  readonly "operator-key-file"?: string
  readonly profile?: string
  readonly timeout?: number
  readonly retries?: number
  readonly fields?: string
  readonly json: boolean
  readonly utc: boolean
  readonly help: boolean
}

/** What a command works with. */
export interface Tools {
  readonly machine: Machine
  /** All commands. */
  readonly commands: ReadonlyArray<Command>
  readonly output: Output
  readonly common: CommonOptions
  /** The service's address. */
  readonly service: () => string
  /** A client with the key; fails with a usage error without one. */
  readonly client: () => MessagingClient
  /** The key's client, or with `--workspace` the operator's in that workspace. */
  readonly caller: () => WorkspaceClient
  /** The place of `caller`; undefined for the key's. */
  readonly place: CommandTarget | undefined
  /** A client with the operator token; fails with a usage error without one. */
  readonly operator: () => OperatorClient
}

export interface Command {
  /** Such as `reminders create`. */
  readonly name: string
  /** The credentials that it needs. */
  readonly as: "key" | "operator" | "key or operator" | "anyone" | "new key" | "none"
  readonly summary: string
  /** More text for its own help. */
  readonly about?: string
  readonly arguments: ParameterRecord
  readonly options: ParameterRecord
  readonly run: (input: Readonly<Record<string, unknown>>, tools: Tools) => Promise<void> | void
}

/** Creates a command; `run` gets values of its arguments' and options' types. */
export const command = <
  const A extends ParameterRecord = Record<never, never>,
  const O extends ParameterRecord = Record<never, never>,
>(
  entry: Pick<Command, "name" | "as" | "summary" | "about"> & {
    readonly arguments?: A
    readonly options?: O
    readonly run: (input: Given<A & O>, tools: Tools) => Promise<void> | void
  },
): Command => ({
  ...entry,
  arguments: entry.arguments ?? {},
  options: entry.options ?? {},
  // The parser sets exactly these names.
  run: (input, tools) => entry.run(input as Given<A & O>, tools),
})

export const once = <A>(value: Value<A>) => ({ kind: "value", times: "once", value }) as const
export const maybe = <A>(value: Value<A>) => ({ kind: "value", times: "maybe", value }) as const
/** At least once. */
export const many = <A>(value: Value<A>) => ({ kind: "value", times: "many", value }) as const
export const any = <A>(value: Value<A>) => ({ kind: "value", times: "any", value }) as const
export const flag = (about: string) => ({ kind: "flag", about }) as const

export const text = (placeholder: string, about: string): Value<string> => ({
  placeholder,
  about,
  read: (value) => value,
})

/** A text that a rule of the service accepts; `rule` follows the name of the option. */
const ruled =
  (placeholder: string, rule: string, accepts: (value: string) => boolean) =>
  (about: string): Value<string> => ({
    placeholder,
    about,
    read: (value, name) => {
      if (!accepts(value)) throw usageError(`${name} ${rule}`)
      return value
    },
  })

export const phoneValue = ruled(
  "PHONE",
  "is a phone with + and a country code, such as +15550100002",
  (value) => parsePhone(value) !== undefined,
)

export const isLink = (value: string): boolean => /^https?:$/.test(URL.parse(value)?.protocol ?? "")

/** The service says whether it may call there. */
export const link = ruled("URL", "is an address with https:// or http://", isLink)

export const someName = ruled("NAME", "is blank", (value) => !isBlank(value))

export const choice = <const C extends string>(
  choices: ReadonlyArray<C>,
  about: string,
): Value<C> => ({
  placeholder: choices.join("|"),
  about,
  choices,
  read: (value, name) => {
    const found = choices.find((each) => each === value)
    if (found === undefined) throw usageError(`${name} is one of ${choices.join(", ")}`)
    return found
  },
})

const whole =
  (min: number, kind: string) =>
  (placeholder: string, about: string): Value<number> => ({
    placeholder,
    about,
    read: (input, name) => {
      const value = Number(input)
      if (!/^\d+$/.test(input) || value < min || !Number.isSafeInteger(value)) {
        throw usageError(`${name} is a ${kind} integer`)
      }
      return value
    },
  })

/** A whole number within limits. */
export const between = (
  min: number,
  max: number,
  placeholder: string,
  about: string,
): Value<number> => ({
  placeholder,
  about,
  read: (input, name) => {
    const value = Number(input)
    if (!/^\d+$/.test(input) || value < min || value > max) {
      throw usageError(`${name} is a whole number from ${min} to ${max}`)
    }
    return value
  },
})

export const count = whole(1, "positive")

/** Like `count`, or none. */
export const number = whole(0, "non-negative")

export const id = (of: string): Value<number> => count("ID", `The id of the ${of}.`)

/** A time with an offset; a time of day alone would need a zone that no script states. */
export const time = (about: string): Value<string> => ({
  placeholder: "TIME",
  about: `${about} ISO 8601 with an offset, or +2h from now.`,
  read: parseTime,
})

/** The same, for work that may be repeated: `isRelative` tells whether a repeat names another time. */
export const instant = (
  about: string,
): Value<{ readonly at: string; readonly isRelative: boolean }> => ({
  ...time(about),
  read: (value, name, now) => ({ at: parseTime(value, name, now), isRelative: isRelative(value) }),
})

/** Seconds, written like `90s`, `2h` or `1d12h`. */
export const seconds = (about: string): Value<number> => ({
  placeholder: "DURATION",
  about: `${about} Such as 90s, 2h or 1d12h.`,
  read: (value, name) => {
    const millis = durationMillis(value)
    if (millis === undefined) throw usageError(`${name} is a duration such as 90s, 2h or 1d12h`)
    return millis / 1000
  },
})

/** The operator's workspace. */
export const workspace = once(count("ID", "The workspace."))

/** Options of every command that uses `caller`. */
export const targetOptions = {
  workspace: maybe(count("ID", "Acts in that workspace, with the operator token.")),
  mode: maybe(
    choice(["live", "test"], "With --workspace: acts as a live or a test key. Default: live."),
  ),
} as const
