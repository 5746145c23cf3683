/**
 * Shell completion. The shell asks the program itself for candidates. So the three shells offer the
 * same, and a new version needs no new installation.
 */
import { readdirSync } from "node:fs"
import type { Command, Taken, TakenRecord } from "./Command.ts"
import { common, findCommand } from "./parse.ts"

/** Files with that prefix; directories end with a slash. */
const files = (begun: string): ReadonlyArray<string> => {
  const folder = begun.slice(0, begun.lastIndexOf("/") + 1)
  try {
    return readdirSync(folder === "" ? "." : folder, { withFileTypes: true }).map(
      (entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`,
    )
  } catch {
    return []
  }
}

const choicesOf = (taken: Taken | undefined, begun: string): ReadonlyArray<string> => {
  if (taken?.kind !== "value") return []
  return taken.value.shown === "FILE" ? files(begun) : (taken.value.choices ?? [])
}

const optionsOf = ({ options }: Command): TakenRecord => ({ ...common, ...options })

/** Candidates for the last word, which may be empty or incomplete. */
const candidates = (
  words: ReadonlyArray<string>,
  commands: ReadonlyArray<Command>,
): ReadonlyArray<string> => {
  const before = words.slice(0, -1)
  const begun = words.at(-1) ?? ""
  const { command, rest } = findCommand(before, commands)
  if (command === undefined) {
    const typed = before.filter((word) => !word.startsWith("-"))
    const fitting = commands
      .map((each) => each.words.split(" "))
      .filter((each) => typed.every((word, at) => each[at] === word))
    return fitting.flatMap((each) => each[typed.length] ?? [])
  }
  const options = optionsOf(command)
  const last = rest.at(-1) ?? ""
  const open = last.startsWith("--") ? options[last.slice(2)] : undefined
  if (open?.kind === "value") return choicesOf(open, begun)
  if (begun.startsWith("-")) return Object.keys(options).map((name) => `--${name}`)
  const positionals = rest.filter(
    (word, at) => !word.startsWith("-") && !isValueOf(options, rest[at - 1]),
  )
  const takes = Object.values(command.arguments)
  return choicesOf(takes[Math.min(positionals.length, takes.length - 1)], begun)
}

const isValueOf = (options: TakenRecord, word: string | undefined): boolean =>
  word?.startsWith("--") === true && options[word.slice(2)]?.kind === "value"

/** Those with the last word as their prefix, each once. */
export const complete = (
  words: ReadonlyArray<string>,
  commands: ReadonlyArray<Command>,
): ReadonlyArray<string> => {
  const begun = words.at(-1) ?? ""
  return [...new Set(candidates(words, commands))]
    .filter((each) => each.startsWith(begun))
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
