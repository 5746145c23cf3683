/** The help, made from the table of commands. */
import type { Command, Parameter, ParameterRecord } from "./Command.ts"
import { endings } from "./ending.ts"
import { common } from "./parse.ts"

const inColumns = (rows: ReadonlyArray<readonly [string, string]>): string => {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n")
}

const shownArgument = ([name, claimed]: readonly [string, Parameter]): string => {
  if (claimed.kind === "flag") return name
  const word = name.toUpperCase()
  switch (claimed.times) {
    case "once":
      return word
    case "maybe":
      return `[${word}]`
    case "many":
      return `${word}...`
    default:
      return `[${word}...]`
  }
}

const optionRow = ([name, claimed]: readonly [string, Parameter]): readonly [string, string] => {
  if (claimed.kind === "flag") return [`--${name}`, claimed.about]
  const note = {
    once: " Required.",
    maybe: "",
    many: " Required; may come again.",
    any: " May come again.",
  }
  return [`--${name} ${claimed.value.placeholder}`, `${claimed.value.about}${note[claimed.times]}`]
}

const section = (heading: string, rows: ReadonlyArray<readonly [string, string]>): string =>
  rows.length === 0 ? "" : `\n${heading}:\n${inColumns(rows)}\n`

const getRows = (record: ParameterRecord) => Object.entries(record).map(optionRow)

const credentials: Readonly<Record<Command["as"], string>> = {
  key: "Needs a key of version 2.",
  operator: "Needs the operator token.",
  "key or operator": "Needs a key of version 2, or the operator token with --workspace.",
  anyone: "Needs no secret; the operator token shows more.",
  none: "Sends no request.",
}

/** The help of one command. */
export const commandHelp = (command: Command): string => {
  const tokens = [
    "messaging",
    command.name,
    ...Object.entries(command.arguments).map(shownArgument),
  ]
  const about = command.about === undefined ? "" : `\n${command.about}\n`
  const named = Object.entries(command.arguments).map(
    ([name, claimed]) =>
      [name.toUpperCase(), claimed.kind === "value" ? claimed.value.about : claimed.about] as const,
  )
  return `${tokens.join(" ")} [options]

${command.summary} ${credentials[command.as]}
${about}${section("Arguments", named)}${section("Options", getRows(command.options))}${section("Options of every command", getRows(common))}`
}

/** The help of the program, or of the commands that begin with a word. */
export const help = (commands: ReadonlyArray<Command>, first?: string): string => {
  const visible = commands.filter(
    ({ name }) => first === undefined || name === first || name.startsWith(`${first} `),
  )
  const rows = visible.map(({ summary, name }) => [name, summary] as const)
  const codes = Object.values(endings).map(([code, meaning]) => [String(code), meaning] as const)
  return `messaging COMMAND [options]
${section("Commands", rows)}${section("Options of every command", getRows(common))}${section("Exit codes", codes)}
"messaging help COMMAND" and "messaging COMMAND --help" tell more of a command.
"messaging --version" names the version.
`
}
