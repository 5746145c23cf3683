/**
 * A run: concurrent cells, each with one request after the other, every answer judged. A request's
 * place in its cell follows from its index, so it can be repeated alone.
 */
import type { Checker, ServiceDocument } from "@messaging-service/testkit/openapi"
import type { Options } from "./options.ts"
import { takeCensus } from "./oracle/census.ts"
import { harvest, mayMakeMessages, nothingCreated } from "./oracle/harvest.ts"
import type { Created } from "./oracle/harvest.ts"
import { makeJudge, waitsForOthers } from "./oracle/judge.ts"
import { getRoute } from "./oracle/Route.ts"
import type { Judge } from "./oracle/judge.ts"
import { judgeRepeat } from "./oracle/repeat.ts"
import { addFinding, countAnswer, failureText } from "./report.ts"
import type { Report } from "./report.ts"
import { generate } from "./request/generate.ts"
import type { Profile } from "./request/generate.ts"
import { awaitsMore, mayBeDoneUnseen } from "./request/rawHttp.ts"
import { getBytes } from "./request/Shot.ts"
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
  onOutcome(index: number, shot: Shot, outcome: Outcome | undefined): void
  /** A finished cell; `files`: its successes that may have stored a file. */
  cellDone(files: number): Promise<void>
}

/** The source address of the cell's requests: all of 127.0.0.0/8 is the loopback interface on Linux. */
const addressOfCell = (cell: number): string | undefined =>
  process.platform === "linux"
    ? `127.${1 + ((cell >> 14) % 250)}.${(cell >> 7) % 128}.${1 + (cell % 128)}`
    : undefined

const profileForCell = (cell: number): Profile => {
  if (cell % 16 === 15) return "intruding"
  return cell % 16 === 9 ? "hasty" : "usual"
}

const planOfCell = (cell: number): CellOptions["plan"] => {
  if (cell % 10 === 7) return "little"
  return cell % 20 === 13 ? "none" : "all"
}

/** Milliseconds; settling calls get less patience. */
const toPatience = (shot: Shot): number => {
  const { aim, expectation } = shot
  if (expectation !== "answer") return awaitsMore(shot) ? 150 : 10_000
  return waitsForOthers.test(aim.id) ? 10_000 : 60_000
}

/** Answers to later requests: by then the service has read what came before them. */
const laterAnswers = async (elsewhere: Connection, host: string): Promise<void> => {
  const bytes = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  for (let requests = 0; requests < 3; requests++) {
    await elsewhere.request({ bytes, method: "GET", patienceMillis: 60_000, alone: false })
  }
}

const request = async (
  connection: Connection,
  elsewhere: Connection,
  shot: Shot,
  host: string,
): Promise<Outcome | undefined> => {
  const bytes = getBytes(shot, host)
  if (shot.expectation === "hang up") {
    await connection.hangUp(bytes)
    return undefined
  }
  const alone = shot.expectation !== "answer"
  return connection.request({
    bytes,
    method: shot.method,
    patienceMillis: toPatience(shot),
    proof: () => laterAnswers(elsewhere, host),
    alone,
  })
}

const noteCreated = (
  target: Target,
  cell: Cell,
  created: Created,
  shot: Shot,
  outcome: Outcome | undefined,
) => {
  const { operation } = getRoute(target.document, shot)
  if (operation === undefined) return
  const isAnswered = outcome?.kind === "answer"
  if (isAnswered) harvest(cell.inventory, created, operation, shot, outcome.answer)
  const isUnseen = shot.raw === undefined ? !isAnswered : mayBeDoneUnseen(shot, isAnswered)
  if (isUnseen && mayMakeMessages(operation)) created.isUncertain = true
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
  const created = nothingCreated()
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
    created.files++
    for (const index of indexes) {
      const shot = generate({
        document: target.document,
        inventory: cell.inventory,
        seed: options.seed,
        index,
        profile: profileForCell(number),
      })
      await watcher.ready?.()
      const outcome = await request(connection, elsewhere, shot, host)
      countAnswer(report, shot, outcome)
      watcher.onOutcome(index, shot, outcome)
      noteCreated(target, cell, created, shot, outcome)
      const about = `${shot.method} ${shot.target.slice(0, 100)}: ${shot.about} (${shot.aim.id})`
      const found = note(index, false, about)
      if (outcome === undefined) continue
      for (const { detail, kind } of judge(shot, outcome)) found(kind, detail)
      const isWhole = shot.expectation === "answer" && shot.method === shot.aim.method
      if (!shot.repeated || !isWhole) continue
      await watcher.ready?.()
      const again = await request(connection, elsewhere, shot, host)
      if (again === undefined) continue
      noteCreated(target, cell, created, shot, again)
      for (const { detail, kind } of judgeRepeat(shot, outcome, again)) found(kind, detail)
    }
    const counted = await takeCensus(connection, cell, created)
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
  await watcher.cellDone(created.files)
}

/** The indexes of each requested cell. */
const getCells = ({ only, requests, wholeCell }: Options) => {
  const getIndexes = (cell: number, end: number) =>
    Array.from(
      { length: Math.min(cellSize, end - cell * cellSize) },
      (_, at) => cell * cellSize + at,
    )
  if (only !== undefined) {
    const cell = Math.floor(only / cellSize)
    return [{ cell, indexes: wholeCell ? getIndexes(cell, only + 1) : [only] }]
  }
  return Array.from({ length: Math.ceil(requests / cellSize) }, (_, cell) => ({
    cell,
    indexes: () => getIndexes(cell, requests),
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
  const waiting = getCells(options).values()
  const lane = async () => {
    for (const { cell, indexes } of waiting) {
      if (performance.now() > deadline) return
      await runCell({ target, options, report, watcher, judge }, cell, indexes)
    }
  }
  await Promise.all(Array.from({ length: options.cells }, lane))
}
