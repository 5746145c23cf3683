/** Tools for the entries of commands. */
import type { RunOptions, Shop } from "./Running.ts"

export interface Scene extends Shop {
  readonly receiver: string
  /** Writes a file and returns its path. */
  readonly aFile: (name: string, content: string) => Promise<string>
  /** Runs a command that must succeed, with `--json`; returns its lines. */
  readonly json: (
    tokens: string,
    rest?: ReadonlyArray<string | number>,
    options?: RunOptions,
  ) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** Runs a command for people that must succeed; returns its output. */
  readonly text: (tokens: string, rest?: ReadonlyArray<string | number>) => Promise<string>
}

/** A check of a command. */
export type Entries = Readonly<Record<string, (scene: Scene) => Promise<void>>>

/** A phone that exists. */
export const to = "+15550100002"
