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
  "new key": "Sends one request, which checks the key.",
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
${about}${section("Arguments", named)}${section("Options", getRows(command.options))}${section("Global options", getRows(common))}`
}

/** The commands of the main jobs, as the program's first help shows them. */
export const mainCommands = {
  Start: ["login", "status", "numbers connect"],
  Messages: ["send", "list", "get", "cancel", "messages timeline", "tail", "chats list"],
  Automation: ["reminders create", "campaigns create", "webhooks create"],
} as const

const longestLine = 100

/** Words with commas between them, on lines that a terminal holds. */
const inLines = (words: ReadonlyArray<string>): string =>
  words
    .reduce<ReadonlyArray<string>>((lines, word) => {
      const line = lines.at(-1)
      return line === undefined || line.length + word.length + 2 > longestLine
        ? [...lines, `  ${word}`]
        : [...lines.slice(0, -1), `${line}, ${word}`]
    }, [])
    .join(",\n")

/** The first words of commands that have two. */
const getGroups = (commands: ReadonlyArray<Command>): ReadonlyArray<string> => [
  ...new Set(commands.flatMap(({ name }) => (name.includes(" ") ? name.split(" ", 1) : []))),
]

const toRow = ({ name, summary }: Command) => [name, summary] as const

/** The help of the program: the commands of the main jobs, and the names of all groups. */
export const help = (commands: ReadonlyArray<Command>): string => {
  const width = Math.max(
    ...Object.values(mainCommands)
      .flat()
      .map((name) => name.length),
  )
  const jobs = Object.entries(mainCommands).map(([job, names]) =>
    section(
      job,
      names.flatMap((name) =>
        commands
          .filter((command) => command.name === name)
          .map(({ summary }) => [name.padEnd(width), summary] as const),
      ),
    ),
  )
  return `messaging COMMAND [options]
${jobs.join("")}
Groups of commands:
${inLines(getGroups(commands))}

Run "messaging GROUP" for the commands of a group, "messaging help COMMAND" for details of one,
and "messaging help all" for all commands, global options and exit codes.
"messaging --version" prints the version.
`
}

/** The help of the commands that begin with a word, or of all, with the global options and the exit codes. */
export const groupHelp = (commands: ReadonlyArray<Command>, group?: string): string => {
  const visible = commands.filter(
    ({ name }) => group === undefined || name === group || name.startsWith(`${group} `),
  )
  const codes = Object.values(endings).map(([code, meaning]) => [String(code), meaning] as const)
  return `messaging ${group === undefined ? "COMMAND" : `${group} COMMAND`} [options]
${section("Commands", visible.map(toRow))}${section("Global options", getRows(common))}${section("Exit codes", codes)}
Run "messaging help COMMAND" for details.
`
}
