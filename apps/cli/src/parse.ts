/** Parses a command line into a command and its values. */
import { parseArgs } from "node:util"
import type { Command, CommonOptions, Parameter, ParameterRecord } from "./Command.ts"
import { count, flag, link, maybe, number, text } from "./Command.ts"
import { usageError } from "./ending.ts"
import { nearest } from "./suggest.ts"

/** Global options. */
export const common = {
  service: maybe(
    link("The service's URL. Default: MESSAGING_SERVICE, else http://127.0.0.1:8080."),
  ),
  "operator-service": maybe(
    link("The operator's URL, where ADMIN_PORT makes it another one; MESSAGING_OPERATOR_SERVICE."),
  ),
  "key-file": maybe(
    text(
      "FILE",
      "Holds the key of version 2; MESSAGING_KEY_FILE, or the key itself in MESSAGING_KEY.",
    ),
  ),
  "operator-key-file": maybe(
    text(
      "FILE",
      "Holds the operator token; MESSAGING_OPERATOR_KEY_FILE, or the token itself in MESSAGING_OPERATOR_KEY.",
    ),
  ),
  profile: maybe(
    text("NAME", "A service and its secrets, as messaging profile keeps them; MESSAGING_PROFILE."),
  ),
  timeout: maybe(count("SECONDS", "The time limit of each request. Default: 30.")),
  retries: maybe(
    number("COUNT", "How often to repeat a lost or rate-limited request. Default: 3."),
  ),
  fields: maybe(text("NAMES", "Shows only these fields, such as id,status,error.code.")),
  json: flag("Prints one JSON value to a line."),
  utc: flag("Shows times in UTC. Default: the machine's time zone; --json always has UTC."),
  help: flag("Shows this help."),
} satisfies ParameterRecord

/**
 * Refuses the former name of `--service`: a command with an address of its own, such as a webhook's,
 * would send a key there. After the words of a command with its own `--url`, that one is meant.
 */
export const refuseFormerNames = (
  line: ReadonlyArray<string>,
  command: Command | undefined,
): void => {
  const isOwn = command !== undefined && "url" in command.options
  const end = isOwn ? line.indexOf(command.name.split(" ")[0] ?? "") : line.indexOf("--")
  const options = end === -1 ? line : line.slice(0, end)
  if (options.some((word) => word === "--url" || word.startsWith("--url="))) {
    throw usageError(
      "--url is --service now, the address of the service; give a webhook's address without an option: webhooks create URL",
    )
  }
}

/** A parsed command line. */
export interface Line {
  /** Undefined when no words name one. */
  readonly command: Command | undefined
  /** The first words, when no command begins with all of them. */
  readonly texts: ReadonlyArray<string>
  readonly rest: ReadonlyArray<string>
}

const isOption = (word: string) => word.startsWith("-") && word !== "-"

/** Options may also precede the words. */
export const findCommand = (
  line: ReadonlyArray<string>,
  commands: ReadonlyArray<Command>,
): Line => {
  const lead: Array<string> = []
  let at = 0
  for (; isOption(line[at] ?? ""); at++) {
    const word = line[at] ?? ""
    lead.push(word)
    const claimed = (common as ParameterRecord)[word.replace(/^--/, "")]
    if (claimed?.kind === "value") lead.push(line[++at] ?? "")
  }
  // `help send` means `send --help`.
  if (line[at] === "help") {
    lead.push("--help")
    at++
  }
  for (const length of [2, 1]) {
    const tokens = line.slice(at, at + length).join(" ")
    const command = commands.find((each) => each.name === tokens)
    if (command !== undefined) {
      return { command, texts: [], rest: [...lead, ...line.slice(at + length)] }
    }
  }
  const words = line.slice(at).filter((word) => !isOption(word))
  return { command: undefined, texts: words.slice(0, 2), rest: [...lead, ...line.slice(at)] }
}

const asParsed = (claimed: Parameter) =>
  claimed.kind === "flag"
    ? ({ type: "boolean" } as const)
    : ({
        type: "string",
        multiple: claimed.times === "many" || claimed.times === "any",
      } as const)

const valueOf = (
  claimed: Parameter,
  name: string,
  input: ReadonlyArray<string>,
  now: number,
): unknown => {
  if (claimed.kind === "flag") return input.length > 0
  const { times, value } = claimed
  const isNeeded = times === "once" || times === "many"
  if (isNeeded && input.length === 0) throw usageError(`${name} is missing`)
  const read = input.map((each) => value.read(each, name, now))
  return times === "once" || times === "maybe" ? read[0] : read
}

/** Values of the arguments, in their order; the last one may have several. */
const readArguments = (
  accepts: ParameterRecord,
  positionals: ReadonlyArray<string>,
  now: number,
): ReadonlyArray<readonly [string, unknown]> => {
  let left = positionals
  const read = Object.entries(accepts).map(([name, claimed]) => {
    const isList = claimed.kind === "value" && (claimed.times === "many" || claimed.times === "any")
    const own = isList ? left : left.slice(0, 1)
    left = isList ? [] : left.slice(1)
    return [name, valueOf(claimed, name.toUpperCase(), own, now)] as const
  })
  const [stray] = left
  if (stray !== undefined) throw usageError(`unexpected argument "${stray}"`)
  return read
}

const optionTexts = (value: unknown): ReadonlyArray<string> => {
  if (value === undefined || value === false) return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}

/** Reads a command's values, with times from `now` on; a wrong one is a usage error. */
export const readLine = (
  { arguments: accepts, options }: Pick<Command, "arguments" | "options">,
  rest: ReadonlyArray<string>,
  now: number,
): { readonly values: Readonly<Record<string, unknown>>; readonly common: CommonOptions } => {
  const all: ParameterRecord = { ...common, ...options }
  const parsed = split(all, rest)
  const read = Object.entries(all).map(
    ([name, claimed]) =>
      [name, () => valueOf(claimed, `--${name}`, optionTexts(parsed.values[name]), now)] as const,
  )
  const isCommon = (name: string) => name in common
  const toValues = (which: typeof read) =>
    Object.fromEntries(which.map(([name, value]) => [name, value()]))
  const shared = toValues(read.filter(([name]) => isCommon(name))) as unknown as CommonOptions
  // A request for help may omit everything else.
  if (shared.help) return { values: {}, common: shared }
  return {
    values: {
      ...Object.fromEntries(readArguments(accepts, parsed.positionals, now)),
      ...toValues(read.filter(([name]) => !isCommon(name))),
    },
    common: shared,
  }
}

const split = (all: ParameterRecord, rest: ReadonlyArray<string>) => {
  try {
    return parseArgs({
      args: [...rest],
      options: Object.fromEntries(
        Object.entries(all).map(([name, claimed]) => [
          name,
          name === "help" ? { type: "boolean" as const, short: "h" } : asParsed(claimed),
        ]),
      ),
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    const message = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error)
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? []
    const meant = unknown === undefined ? undefined : nearest(unknown, Object.keys(all))
    throw usageError(meant === undefined ? message : `${message}; did you mean --${meant}?`)
  }
}
