/**
 * A run: concurrent cells, each with one request after the other, every answer judged. A request's
 * place in its cell follows from its index, so it can be repeated alone.
 */
import type { Checker, ServiceDocument } from "@messaging-service/testkit/openapi"
import type { Options } from "./options.ts"
import { takeCensus } from "./oracle/census.ts"
import { harvest, mayMakeMessages, nothingMade } from "./oracle/harvest.ts"
import type { Made } from "./oracle/harvest.ts"
import { makeJudge, waitsForOthers } from "./oracle/judge.ts"
import { routeOf } from "./oracle/Route.ts"
import type { Judge } from "./oracle/judge.ts"
import { judgeRepeat } from "./oracle/repeat.ts"
import { addFinding, countAnswer, failureText } from "./report.ts"
import type { Report } from "./report.ts"
import { generate } from "./request/generate.ts"
import type { Mood } from "./request/generate.ts"
import { awaitsMore, mayBeDoneUnseen } from "./request/rawHttp.ts"
import { bytesOf } from "./request/Shot.ts"
import type { Shot } from "./request/Shot.ts"
import { makeConnection } from "./wire/Connection.ts"
import type { Connection, Outcome } from "./wire/Connection.ts"
import { endCell, makeCell } from "./world/makeCell.ts"
import type { Cell, CellOptions } from "./world/makeCell.ts"

/** Requests of a cell: few enough that its keys stay below their limit for a minute. */
const cellSize = 200

export interface Target {
  readonly host: string
  readonly operatorToken: string
  readonly receiver: string
  readonly document: ServiceDocument
  readonly checker: Checker
}

export interface Watcher {
  /** Awaited before each request. */
  readonly ready?: () => Promise<unknown>
  /** A finding that was the first of its kind. */
  found(text: string): void
  /** One request and its result. */
  seen(index: number, shot: Shot, outcome: Outcome | undefined): void
  /** A finished cell; `files`: its successes that may have stored a file. */
  cellDone(files: number): Promise<void>
}

/** The source address of the cell's requests: all of 127.0.0.0/8 is the loopback interface on Linux. */
const addressOfCell = (cell: number): string | undefined =>
  process.platform === "linux"
    ? `127.${1 + ((cell >> 14) % 250)}.${(cell >> 7) % 128}.${1 + (cell % 128)}`
    : undefined

const moodOfCell = (cell: number): Mood => {
  if (cell % 16 === 15) return "intruding"
  return cell % 16 === 9 ? "hasty" : "usual"
}

const planOfCell = (cell: number): CellOptions["plan"] => {
  if (cell % 10 === 7) return "little"
  return cell % 20 === 13 ? "none" : "all"
}

/** Milliseconds; settling calls get less patience. */
const patienceOf = (shot: Shot): number => {
  const { aim, expectation } = shot
  if (expectation !== "answer") return awaitsMore(shot) ? 150 : 10_000
  return waitsForOthers.test(aim.id) ? 10_000 : 60_000
}

/** Answers to later requests: by then the service has read what came before them. */
const laterAnswers = async (elsewhere: Connection, host: string): Promise<void> => {
  const bytes = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  for (let asked = 0; asked < 3; asked++) {
    await elsewhere.ask({ bytes, method: "GET", patienceMillis: 60_000, alone: false })
  }
}

const ask = async (
  connection: Connection,
  elsewhere: Connection,
  shot: Shot,
  host: string,
): Promise<Outcome | undefined> => {
  const bytes = bytesOf(shot, host)
  if (shot.expectation === "hang up") {
    await connection.hangUp(bytes)
    return undefined
  }
  const alone = shot.expectation !== "answer"
  return connection.ask({
    bytes,
    method: shot.method,
    patienceMillis: patienceOf(shot),
    proof: () => laterAnswers(elsewhere, host),
    alone,
  })
}

const noteMade = (
  target: Target,
  cell: Cell,
  made: Made,
  shot: Shot,
  outcome: Outcome | undefined,
) => {
  const { operation } = routeOf(target.document, shot)
  if (operation === undefined) return
  const isAnswered = outcome?.kind === "answer"
  if (isAnswered) harvest(cell.inventory, made, operation, shot, outcome.answer)
  const isUnseen = shot.raw === undefined ? !isAnswered : mayBeDoneUnseen(shot, isAnswered)
  if (isUnseen && mayMakeMessages(operation)) made.isUncertain = true
}

interface CellRun {
  readonly target: Target
  readonly options: Options
  readonly report: Report
  readonly watcher: Watcher
  readonly judge: Judge
}

const repeatLine = ({ seed, store }: Options, index: number, wholeCell: boolean): string => {
  const ofStore = store === "memory" ? "" : ` --store ${store.startsWith("postgres") ? "…" : store}`
  return `--seed ${seed}${ofStore} --only ${index}${wholeCell ? " --whole-cell" : ""}`
}

const runCell = async (run: CellRun, number: number, indexes: ReadonlyArray<number>) => {
  const { judge, options, report, target, watcher } = run
  const { host, operatorToken, receiver } = target
  const [name = "", port = ""] = host.split(":")
  const address = { host: name, port: Number(port) }
  const connection = makeConnection({ ...address, from: addressOfCell(number) })
  // A cell that sent wrong tokens is refused with the right one too; its cleanup uses another address.
  const elsewhere = makeConnection({ ...address, from: undefined })
  const made = nothingMade()
  const note =
    (index: number, isCell: boolean, about: string) => (kind: string, detail: string) => {
      const repeat = repeatLine(options, index, isCell)
      if (addFinding(report, { kind, detail }, repeat, about)) {
        watcher.found(failureText({ kind, detail, repeat, about, times: 1 }))
      }
    }
  try {
    const cell = await makeCell({
      connection,
      host,
      operatorToken,
      receiver,
      isFull: number % 32 === 20,
      isSingle: number % 4 === 2,
      hasWebhooks: options.privateTargets,
      plan: planOfCell(number),
    })
    made.files++
    for (const index of indexes) {
      const shot = generate({
        document: target.document,
        inventory: cell.inventory,
        seed: options.seed,
        index,
        mood: moodOfCell(number),
      })
      await watcher.ready?.()
      const outcome = await ask(connection, elsewhere, shot, host)
      countAnswer(report, shot, outcome)
      watcher.seen(index, shot, outcome)
      noteMade(target, cell, made, shot, outcome)
      const about = `${shot.method} ${shot.target.slice(0, 100)}: ${shot.about} (${shot.aim.id})`
      const found = note(index, false, about)
      if (outcome === undefined) continue
      for (const { detail, kind } of judge(shot, outcome)) found(kind, detail)
      const isWhole = shot.expectation === "answer" && shot.method === shot.aim.method
      if (!shot.repeated || !isWhole) continue
      await watcher.ready?.()
      const again = await ask(connection, elsewhere, shot, host)
      if (again === undefined) continue
      noteMade(target, cell, made, shot, again)
      for (const { detail, kind } of judgeRepeat(shot, outcome, again)) found(kind, detail)
    }
    const counted = await takeCensus(connection, cell, made)
    report.census[counted === null ? "left" : "taken"]++
    const ofCell = note(indexes.at(-1) ?? 0, true, `cell ${number}`)
    for (const { detail, kind } of counted ?? []) ofCell(kind, detail)
    await endCell(elsewhere, cell)
  } catch (cause) {
    note(indexes.at(-1) ?? 0, true, `cell ${number}`)("cell: a plain request failed", String(cause))
  } finally {
    connection.close()
    elsewhere.close()
  }
  await watcher.cellDone(made.files)
}

/** The indexes of each requested cell. */
const cellsOf = ({ only, requests, wholeCell }: Options) => {
  const indexesOf = (cell: number, end: number) =>
    Array.from(
      { length: Math.min(cellSize, end - cell * cellSize) },
      (_, at) => cell * cellSize + at,
    )
  if (only !== undefined) {
    const cell = Math.floor(only / cellSize)
    return [{ cell, indexes: wholeCell ? indexesOf(cell, only + 1) : [only] }]
  }
  return Array.from({ length: Math.ceil(requests / cellSize) }, (_, cell) => ({
    cell,
    indexes: () => indexesOf(cell, requests),
  })).map(({ cell, indexes }) => ({ cell, indexes: indexes() }))
}

/** Runs the requested cells, into the report. */
export const run = async (
  target: Target,
  options: Options,
  report: Report,
  watcher: Watcher,
): Promise<void> => {
  const judge = makeJudge(target.document, target.checker)
  const deadline = performance.now() + options.seconds * 1000
  const waiting = cellsOf(options).values()
  const lane = async () => {
    for (const { cell, indexes } of waiting) {
      if (performance.now() > deadline) return
      await runCell({ target, options, report, watcher, judge }, cell, indexes)
    }
  }
  await Promise.all(Array.from({ length: options.cells }, lane))
}
