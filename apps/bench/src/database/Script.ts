/**
 * SQL under load: a script of statements that clients repeat for a while, each repetition with
 * values of its own. pgbench runs it where it is installed; else node-postgres runs the very same
 * text, which costs the clients more.
 */
import type { TestDatabase } from "@messaging-service/testkit"
import { defaultSchema, planning, qualifier } from "@messaging-service/store-postgres"
import type { Element, Params, SqlName, Statement } from "@messaging-service/store-postgres"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { access, constants, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import type { Pool } from "pg"
import { CheckFailed } from "../measuring/checks.ts"
import { openPool } from "./BenchDatabase.ts"

/** A fixed text, or for each repetition a random integer, both ends included. */
export type Variable = string | { readonly from: number; readonly to: number }

export interface Script {
  /** With variables as `:name`. */
  readonly statements: ReadonlyArray<string>
  readonly variables: Readonly<Record<string, Variable>>
}

export interface Load {
  readonly clients: number
  readonly seconds: number
}

export interface Outcome {
  /** Repetitions of the script that ended. */
  readonly done: number
  readonly perSecond: number
}

/** Puts schemas before the names in a statement of the store. */
export const qualify = qualifier(defaultSchema)

/** An expression for each parameter. A list that would hold nothing but nulls may be left out. */
type Expressions<Name extends SqlName> = Readonly<
  Record<Exclude<keyof Params<Name>, keyof Element<Name>>, string> &
    Partial<Record<keyof Element<Name>, string>>
>

/**
 * Puts expressions in the places of a prepared statement's parameters and schemas before its names. A list
 * that was left out is sent empty, as the service does it.
 */
export const bind = <Name extends SqlName>(
  { names, text }: Statement<Name>,
  expressions: Expressions<Name>,
): string => {
  const input: Readonly<Record<string, string | undefined>> = expressions
  return qualify(text).replaceAll(
    /\$(\d+)/g,
    (_, position) => input[names[Number(position) - 1] ?? ""] ?? "'{}'",
  )
}

/** pgbench on the path, or where Debian keeps it; null when there is none. */
export const findPgbench: Effect.Effect<string | null> = Effect.promise(async () => {
  const versions = await readdir("/usr/lib/postgresql").catch(() => [])
  const paths = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => `/usr/lib/postgresql/${version}/bin`),
  ]
  for (const path of paths.filter((directory) => directory !== "")) {
    const program = join(path, "pgbench")
    if (
      await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return program
    }
  }
  return null
})

const sessionOptions = Object.entries(planning)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ")

/** Runs a script under load, with the planner's settings of the service's own connections. */
export const runScript = (
  pgbench: string | null,
  database: TestDatabase,
  script: Script,
  load: Load,
): Effect.Effect<Outcome, CheckFailed> =>
  pgbench === null
    ? Effect.scoped(
        Effect.flatMap(openPool(database, { max: load.clients, options: sessionOptions }), (pool) =>
          Effect.promise(() => repeat(pool, script, load)),
        ),
      )
    : Effect.tryPromise({
        try: () => benched(pgbench, database, script, load),
        catch: (cause) => new CheckFailed({ message: `pgbench: ${String(cause)}` }),
      })

/** pgbench counts whole seconds only: less than one is a few repetitions for each client. */
const toDuration = (seconds: number): ReadonlyArray<string> =>
  seconds < 1 ? ["-t", String(Math.ceil(seconds * 100))] : ["-T", String(Math.ceil(seconds))]

const benched = async (
  program: string,
  { database, path, username }: TestDatabase,
  { statements, variables }: Script,
  { clients, seconds }: Load,
): Promise<Outcome> => {
  const directory = await mkdtemp(join(tmpdir(), "pgbench-"))
  const file = join(directory, "script.sql")
  const random: Array<string> = []
  const fixed: Array<string> = []
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value === "string") fixed.push("-D", `${name}=${value}`)
    else random.push(`\\set ${name} random(${value.from}, ${value.to})`)
  }
  await writeFile(file, [...random, ...statements.map((one) => `${one.trim()};`), ""].join("\n"))
  const { out, problem } = await new Promise<{ out: string; problem: string | null }>((resolve) => {
    execFile(
      program,
      [
        ["-n", "-M", "prepared", "-c", String(clients), "-j", String(Math.min(clients, 2))],
        [...toDuration(seconds), "-f", file],
        ["-h", dirname(path), "-p", "5432", "-U", username],
        fixed,
        database,
      ].flat(),
      { env: { PATH: process.env["PATH"], PGOPTIONS: sessionOptions } },
      (error, stdout, stderr) =>
        resolve({ out: stdout, problem: error === null ? null : stderr.slice(-2000) }),
    )
  })
  await rm(directory, { recursive: true, force: true })
  const done = Number(/actually processed: (\d+)/.exec(out)?.[1])
  const perSecond = Number(/tps = ([\d.]+)/.exec(out)?.[1])
  const failed = Number(/failed transactions: (\d+)/.exec(out)?.[1] ?? 0)
  return problem === null && failed === 0 && done > 0
    ? { done, perSecond }
    : Promise.reject(new Error(problem ?? out))
}

const repeat = async (pool: Pool, script: Script, load: Load): Promise<Outcome> => {
  const { variables } = script
  // Not the second colon of a cast.
  const prepared = script.statements.map((statement, index) => {
    const names: Array<string> = []
    const text = statement.replaceAll(
      /(?<!:):([a-z_]\w*)/g,
      (_, name: string) => `$${names.push(name)}`,
    )
    return { name: `statement_${index}`, text, names }
  })
  const started = performance.now()
  const end = started + load.seconds * 1000
  let done = 0
  const client = async () => {
    const connection = await pool.connect()
    while (performance.now() < end) {
      const drawn: Record<string, string> = {}
      for (const [name, value] of Object.entries(variables)) {
        drawn[name] =
          typeof value === "string"
            ? value
            : String(value.from + Math.floor(Math.random() * (value.to - value.from + 1)))
      }
      for (const { name, names, text } of prepared) {
        await connection.query({ name, text, values: names.map((one) => drawn[one]) })
      }
      done++
    }
    connection.release()
  }
  await Promise.all(Array.from({ length: load.clients }, client))
  return { done, perSecond: done / ((performance.now() - started) / 1000) }
}
