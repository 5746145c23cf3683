/**
 * The commands of a tutorial and their expected output. In the Markdown each `sh` block holds
 * commands, one on a line (a backslash at its end joins the next line); a `text` or `json` block
 * after it is the output of the whole `sh` block. Blocks in other languages are for reading only.
 */
import { Data, Effect } from "effect"

/** A tutorial that cannot be run as written; `line` counts from 1. */
export class UnclearTutorial extends Data.TaggedError("UnclearTutorial")<{
  readonly line: number
  readonly reason: string
}> {
  override get message() {
    return `line ${this.line}: ${this.reason}`
  }
}

export interface Command {
  readonly line: number
  readonly text: string
}

export interface Expectation {
  /** Its first line, inside the fence. */
  readonly line: number
  readonly language: "text" | "json"
  readonly text: string
}

/** One `sh` block. */
export interface Step {
  readonly commands: ReadonlyArray<Command>
  /** Null when the page shows no output. */
  readonly expected: Expectation | null
}

interface Block {
  readonly language: string
  /** The first line inside the fence. */
  readonly line: number
  readonly lines: ReadonlyArray<string>
}

/** The blocks of a page, in order. */
const getBlocks = Effect.fnUntraced(function* (markdown: string) {
  const blocks: Array<Block> = []
  let open: (Block & { readonly lines: Array<string> }) | null = null
  for (const [index, line] of markdown.split("\n").entries()) {
    if (open === null) {
      const language = /^```(\w+)/.exec(line)?.[1]
      if (language !== undefined) open = { language, line: index + 2, lines: [] }
    } else if (line.startsWith("```")) {
      blocks.push(open)
      open = null
    } else {
      open.lines.push(line)
    }
  }
  if (open === null) return blocks
  return yield* new UnclearTutorial({ line: open.line, reason: "the block has no end" })
})

const getCommands = Effect.fnUntraced(function* (block: Block) {
  const commands: Array<Command> = []
  let joined: Command | null = null
  for (const [index, line] of block.lines.entries()) {
    const here: Command =
      joined === null
        ? { line: block.line + index, text: line }
        : { line: joined.line, text: `${joined.text}\n${line}` }
    joined = line.endsWith("\\") ? here : null
    if (joined === null && here.text.trim() !== "") commands.push(here)
  }
  if (joined === null) return commands
  return yield* new UnclearTutorial({ line: joined.line, reason: "the command goes on nowhere" })
})

/** The page's steps, in order. */
export const readSteps = Effect.fnUntraced(function* (
  markdown: string,
): Effect.fn.Return<ReadonlyArray<Step>, UnclearTutorial> {
  const steps: Array<Step> = []
  for (const block of yield* getBlocks(markdown)) {
    const { language, line, lines } = block
    if (language === "sh") steps.push({ commands: yield* getCommands(block), expected: null })
    if (language !== "text" && language !== "json") continue
    const before = steps.pop()
    if (before === undefined || before.expected !== null) {
      return yield* new UnclearTutorial({ line, reason: "the output belongs to no commands" })
    }
    steps.push({ ...before, expected: { line, language, text: lines.join("\n") } })
  }
  if (steps.length > 0) return steps
  return yield* new UnclearTutorial({ line: 1, reason: "there are no commands" })
})
