/**
 * Shell completion. The shell asks the program itself for candidates. So the three shells offer the
 * same, and a new version needs no new installation.
 */
import { readdirSync } from "node:fs"
import type { Command, Parameter, ParameterRecord } from "./Command.ts"
import { common, findCommand } from "./parse.ts"

/** Files with that prefix; directories end with a slash. */
const files = (prefix: string): ReadonlyArray<string> => {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1)
  try {
    return readdirSync(folder === "" ? "." : folder, { withFileTypes: true }).map(
      (entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`,
    )
  } catch {
    return []
  }
}

const getChoices = (claimed: Parameter | undefined, prefix: string): ReadonlyArray<string> => {
  if (claimed?.kind !== "value") return []
  return claimed.value.placeholder === "FILE" ? files(prefix) : (claimed.value.choices ?? [])
}

const toOptions = ({ options }: Command): ParameterRecord => ({ ...common, ...options })

/** Candidates for the last word, which may be empty or incomplete. */
const candidates = (
  tokens: ReadonlyArray<string>,
  commands: ReadonlyArray<Command>,
): ReadonlyArray<string> => {
  const before = tokens.slice(0, -1)
  const prefix = tokens.at(-1) ?? ""
  const { command, rest } = findCommand(before, commands)
  if (command === undefined) {
    const typed = before.filter((word) => !word.startsWith("-"))
    const fitting = commands
      .map((each) => each.name.split(" "))
      .filter((each) => typed.every((word, at) => each[at] === word))
    return fitting.flatMap((each) => each[typed.length] ?? [])
  }
  const options = toOptions(command)
  const last = rest.at(-1) ?? ""
  const open = last.startsWith("--") ? options[last.slice(2)] : undefined
  if (open?.kind === "value") return getChoices(open, prefix)
  if (prefix.startsWith("-")) return Object.keys(options).map((name) => `--${name}`)
  const positionals = rest.filter(
    (word, at) => !word.startsWith("-") && !doesTakeValue(options, rest[at - 1]),
  )
  const accepts = Object.values(command.arguments)
  return getChoices(accepts[Math.min(positionals.length, accepts.length - 1)], prefix)
}

const doesTakeValue = (options: ParameterRecord, word: string | undefined): boolean =>
  word?.startsWith("--") === true && options[word.slice(2)]?.kind === "value"

/** Those with the last word as their prefix, each once. */
export const complete = (
  tokens: ReadonlyArray<string>,
  commands: ReadonlyArray<Command>,
): ReadonlyArray<string> => {
  const prefix = tokens.at(-1) ?? ""
  return [...new Set(candidates(tokens, commands))]
    .filter((each) => each.startsWith(prefix))
    .toSorted()
}

/** The start script for each shell. */
export const scripts = {
  bash: `_messaging() {
  local IFS=$'\\n'
  COMPREPLY=($(messaging complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o nosort -F _messaging messaging 2>/dev/null || complete -F _messaging messaging
`,
  zsh: `#compdef messaging
_messaging() {
  local -a found
  found=("\${(@f)$(messaging complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -z "\${found[1]}" ]] || compadd -Q -a found
}
compdef _messaging messaging
`,
  fish: `complete -c messaging -f -a '(messaging complete -- (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)'
`,
} as const
