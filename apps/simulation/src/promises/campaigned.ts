/**
 * A row of a campaign becomes one message or none, and counts say so; nothing of a paused or stopped one
 * leaves, what it takes on leaves room to others, and it ends once its rows have.
 */
import { cutStop, toName } from "../History.ts"
import type {
  FinalCampaign,
  FinalMessage,
  History,
  MakeCampaign,
  RequestedRow,
} from "../History.ts"
import {
  getCalls,
  getControls,
  getHandovers,
  getHolds,
  hasLeft,
  isRefunded,
  isTrueBehind,
  messagesByName,
  toCampaign,
  wasRestored,
} from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

const dayMillis = 86_400_000

const getMakings = (history: History): ReadonlyMap<string, MakeCampaign> =>
  new Map(
    getCalls(history).flatMap(({ request }) =>
      request._tag === "MakeCampaign" ? [[request.campaign, request] as const] : [],
    ),
  )

/** Every row that was to be added, by the name of its message. */
const getRequested = (history: History): ReadonlyMap<string, RequestedRow> =>
  new Map(
    getCalls(history).flatMap(({ request }) =>
      request._tag === "AddCampaignRows"
        ? request.rows.map(
            (row) => [toName(`${request.campaign} ${row.label}`, row.phone), row] as const,
          )
        : [],
    ),
  )

/** One draft for a key, and its rows once, in their order. */
const addedViolations = (history: History): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const finals = new Map(history.final.campaigns.map((one) => [one.name, one]))
  if (finals.size < history.final.campaigns.length) violations.push("a draft was made twice")
  const ids = new Map<string, number>()
  const firsts = new Map<string, number>()
  for (const { answer, request } of getCalls(history)) {
    if (request._tag === "MakeCampaign" && answer?._tag === "Made") {
      const before = ids.get(request.campaign) ?? answer.id
      ids.set(request.campaign, before)
      if (before !== answer.id) violations.push(`${request.campaign} is ${before} and ${answer.id}`)
    }
    if (request._tag !== "AddCampaignRows" || answer?._tag !== "Added") continue
    const { campaign, rows } = request
    const name = `${campaign} ${rows[0]?.label}`
    const { firstRow, lastRow } = answer
    const before = firsts.get(name) ?? firstRow
    firsts.set(name, before)
    if (before !== firstRow || lastRow - firstRow + 1 !== rows.length) {
      violations.push(`${name} was added as ${firstRow} to ${lastRow}`)
    }
    const final = finals.get(campaign)
    if (final === undefined) continue
    for (const [index, row] of rows.entries()) {
      const stored = final.rows[firstRow - 1 + index]
      const own = toName(`${campaign} ${row.label}`, row.phone)
      const isTimed = row.sendAt !== null || row.expiresAt !== null
      if (stored === undefined) violations.push(`${own} was added and is gone`)
      else if (row.code !== null) {
        if (stored.code !== row.code) violations.push(`${own} is ${stored.status} (${stored.code})`)
      } else if (stored.status === "refused") {
        // Its time was over by then, or is over before the campaign begins.
        const isPast = stored.code === "time_in_past" || stored.code === "validation_failed"
        if (!isTimed || !isPast) violations.push(`${own} was refused (${stored.code})`)
      } else if (stored.name !== own) violations.push(`${own} is in the row of ${stored.name}`)
    }
  }
  return violations
}

const toStatus = ({ state }: FinalMessage): string => (state === "waiting" ? "queued" : state)

/** States of rows that have no message. */
const withoutMessage: ReadonlySet<string> = new Set(["pending", "refused", "skipped", "expired"])

/** A row is its message, and the counts are the rows. */
const rowViolations = (
  history: History,
  { counts, name: campaign, rows }: FinalCampaign,
): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const stored = messagesByName(history)
  const names = new Set<string>()
  const tally = new Map<string, number>([["total", rows.length]])
  for (const { code, messageId, name, row, status } of rows) {
    tally.set(status, (tally.get(status) ?? 0) + 1)
    const messages = name === null ? [] : (stored.get(name) ?? [])
    if (name !== null && names.has(name)) violations.push(`${name} is in two rows`)
    if (name !== null) names.add(name)
    const [message] = messages
    const isTrue =
      messageId === null
        ? withoutMessage.has(status) && messages.length === 0
        : messages.length === 1 && message?.id === messageId && toStatus(message) === status
    if (!isTrue) {
      const found = messages.map(({ id, state }) => `${id} ${state}`).join() || "none"
      violations.push(`row ${row} of ${campaign} is ${status} as ${messageId}, and has ${found}`)
    }
    if (code === "restored" && !wasRestored(history)) {
      violations.push(`row ${row} of ${campaign} was skipped, and nothing was restored`)
    }
  }
  for (const [status, count] of Object.entries(counts)) {
    if (count !== (tally.get(status) ?? 0)) {
      violations.push(`${campaign} counts ${count} ${status} in place of ${tally.get(status) ?? 0}`)
    }
  }
  return violations
}

/** All ten add up to the whole, at any moment. */
const readViolations = (history: History): ReadonlyArray<string> =>
  getCalls(history).flatMap(({ answer, request }) => {
    if (request._tag !== "ReadCampaign" || answer?._tag !== "Counted") return []
    const { total = 0, ...others } = answer.rows
    const sum = Object.values(others).reduce((left, right) => left + right, 0)
    if (sum !== total) return [`${request.campaign} has ${total} rows and counts ${sum}`]
    const { queued = 0 } = others
    return request.campaign === cutStop && queued > 0
      ? [`${cutStop} was stopped, and ${queued} messages of it wait on`]
      : []
  })

/** Live messages that count in that number's 24 hours, as far as that is known at the end. */
const getCounting = ({ final }: History, number: number): ReadonlyArray<FinalMessage> =>
  final.messages.filter(
    (message) =>
      message.number === number &&
      message.mode === "live" &&
      !message.isStored &&
      !isRefunded(message.state),
  )

/** What a campaign takes on leaves so many of a number's 24 hours to others. */
const reserveViolations = (history: History): ReadonlyArray<string> => {
  // Messages that a restore held do not count until they are released.
  if (wasRestored(history)) return []
  const makings = getMakings(history)
  return history.final.numbers.flatMap((number) => {
    const counting = getCounting(history, number)
    return counting.flatMap(({ dueAt, id, name }) => {
      const reserve = makings.get(toCampaign(name))?.reserve
      if (reserve === undefined) return []
      const limit = Math.max(0, history.setting.quota - reserve)
      const before = counting.filter(
        (other) => other.id < id && other.dueAt <= dueAt && other.dueAt > dueAt - dayMillis,
      )
      return before.length < limit
        ? []
        : [`${name} was taken on behind ${before.length} others in place of ${limit - 1} at most`]
    })
  })
}

/** Its rows go on as far as numbers have room, and then it is done. */
const endViolations = (history: History, campaign: FinalCampaign): ReadonlyArray<string> => {
  const { final, setting } = history
  const { at: end } = final
  const { counts, name, reason, rows, state, usable } = campaign
  const making = getMakings(history).get(name)
  const { pending = 0, queued = 0 } = counts
  if (state === "done" || state === "stopped") {
    return pending + queued === 0
      ? []
      : [`${name} is ${state} with ${pending} rows and ${queued} messages`]
  }
  if (state === "draft" || usable.length === 0 || making === undefined) return []
  if (state !== "running") return [`${name} is ${state} (${reason}) when all has come to rest`]
  if (pending + queued === 0) return [`${name} has nothing left and is running`]
  // A test message uses nothing up, but is checked too.
  if (final.allowanceLeft === 0) return []
  const requested = getRequested(history)
  const due = rows.filter(
    (row) => row.status === "pending" && (requested.get(row.name ?? "")?.sendAt ?? 0) < end,
  )
  const limit = Math.max(0, setting.quota - making.reserve)
  const open = usable.filter(
    (number) =>
      getCounting(history, number).filter(({ dueAt }) => dueAt > end - dayMillis).length < limit,
  )
  return due.length === 0 || open.length === 0
    ? []
    : [`${name} has ${due.length} rows for ${open.join()}, and takes none on`]
}

/**
 * Nothing of a paused or stopped one is handed over, except what was in flight then: one of a number in the
 * storm, where a dead process may have held it.
 */
const heldViolations = (history: History): ReadonlyArray<string> => {
  const handed = getHandovers(history)
  const calmIndex = history.entries.findIndex(({ _tag }) => _tag === "Calm")
  return getHolds(history).flatMap(({ control, from, to }) => {
    const [what, campaign] = control.key.split(" ")
    if (what !== "campaign" || control.value._tag !== "Stopped") return []
    if (!isTrueBehind(history, from)) return []
    const answeredAt = history.entries[from]?.at ?? 0
    const before = new Set(handed.flatMap(({ index, name }) => (index < from ? [name] : [])))
    const late = handed.filter(
      ({ index, issuedAt, name }) =>
        toCampaign(name) === campaign &&
        index > from &&
        index < to &&
        issuedAt > answeredAt &&
        !before.has(name),
    )
    const inFlight = new Map(
      from > calmIndex ? [] : late.toReversed().map((one) => [one.number, one.name]),
    )
    return late.flatMap(({ issuedAt, name, number }) =>
      inFlight.get(number) === name
        ? []
        : [`${name} was handed over ${issuedAt - answeredAt} ms after ${campaign} was paused`],
    )
  })
}

/**
 * All of a stopped one is cancelled before the answer, except what is in flight: one of a number. What an
 * earlier call without an answer began may be under way.
 */
const stoppedViolations = (history: History): ReadonlyArray<string> => {
  const controls = getControls(history)
  return controls.flatMap(({ answer, request: { key, value }, requestIndex }) => {
    const queued = answer?._tag === "Done" ? (answer.queued ?? 0) : 0
    if (queued <= history.final.numbers.length) return []
    const isRepeat = controls.some(
      (other) =>
        other.request.key === key &&
        other.request.value._tag === value._tag &&
        other.requestIndex < requestIndex &&
        (other.answered > requestIndex ||
          (other.answer?._tag === "Done" && other.answer.queued !== undefined)),
    )
    return isRepeat ? [] : [`${key} was stopped with ${queued} messages`]
  })
}

/** Rows are not taken on before their time, nor handed over once they have expired. */
const timeViolations = (history: History): ReadonlyArray<string> => {
  if (!history.setting.isTimeTrue) return []
  const requested = getRequested(history)
  return getHandovers(history).flatMap(({ at, name }) => {
    const row = requested.get(name)
    const isEarly = row !== undefined && row.sendAt !== null && at < row.sendAt
    const isLate = row !== undefined && row.expiresAt !== null && at >= row.expiresAt
    return isEarly || isLate
      ? [`${name} was handed over ${isEarly ? "before" : "after"} its time`]
      : []
  })
}

/** A row that recipients saw has left, and is shown once. */
const shownViolations = (history: History): ReadonlyArray<string> => {
  const requested = getRequested(history)
  const makings = getMakings(history)
  const stored = messagesByName(history)
  return Array.from(requested.keys()).flatMap((name) => {
    const messages = stored.get(name) ?? []
    const isShown = history.entries.some((entry) => entry._tag === "Shown" && entry.name === name)
    if (makings.get(toCampaign(name))?.isProbe === true) {
      return isShown ? [] : [`${name} never left, all being well`]
    }
    if (messages.length > 1) return [`${name} became ${messages.length} messages`]
    const [message] = messages
    if (!isShown)
      return message !== undefined && hasLeft(message.state) && message.mode === "live"
        ? [`${name} is ${message.state} and was not shown`]
        : []
    return message === undefined ? [`${name} was shown, and has no message`] : []
  })
}

export const campaigned: JudgedPromise = {
  name: "campaigns",
  check: (history) => [
    ...addedViolations(history),
    ...readViolations(history),
    ...reserveViolations(history),
    ...heldViolations(history),
    ...stoppedViolations(history),
    ...timeViolations(history),
    ...shownViolations(history),
    ...history.final.campaigns.flatMap((campaign) => [
      ...rowViolations(history, campaign),
      ...endViolations(history, campaign),
    ]),
  ],
}
