/**
 * A message with media is shown with exactly those, or fails with `media_unavailable` (contract:
 * Media links); deleted files are freed.
 */
import { toName } from "../History.ts"
import type { MediaRequest, History } from "../History.ts"
import { getCalls, getHandovers, getSends, testNames, reportedMessages } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const toMedia = (history: History): ReadonlyMap<string, MediaRequest> =>
  new Map(
    getSends(history).flatMap(({ request: { media, phones, text } }) =>
      media === undefined ? [] : phones.map((phone) => [toName(text, phone), media] as const),
    ),
  )

/** Whether a message may fail without these media. Null: unknown. */
const mayBeUnavailable = (history: History, name: string, media: MediaRequest | undefined) => {
  if (media === undefined) return false
  // A process that stops may give up a server that answers.
  if ("url" in media) return !media.isSure || !history.setting.isSteady
  const reported = reportedMessages(history).find((one) => one.name === name)
  if (reported === undefined) return null
  return getCalls(history).some(
    ({ request, requestIndex }) =>
      request._tag === "DeleteFile" && request.file === media.file && requestIndex < reported.index,
  )
}

const uploadViolations = (history: History): ReadonlyArray<string> => {
  const ids = new Map<string, number>()
  return getCalls(history).flatMap(({ answer, request }) => {
    if (request._tag !== "Upload" || answer?._tag !== "Accepted") return []
    const [id = 0] = answer.ids
    const first = ids.get(request.file) ?? id
    ids.set(request.file, first)
    return first === id ? [] : [`${request.file} is both ${first} and ${id}`]
  })
}

/** Answers and events lead to a stored file until it is deleted, and not after that. */
const linkViolations = (
  history: History,
  requested: ReadonlyMap<string, MediaRequest>,
): ReadonlyArray<string> => {
  const calls = getCalls(history)
  const deletions = Map.groupBy(
    calls.filter(({ request }) => request._tag === "DeleteFile"),
    ({ request }) => ("file" in request ? request.file : ""),
  )
  const calm = history.entries.findIndex(({ _tag }) => _tag === "Calm")
  const tests = testNames(history)
  const findDeletions = (name: string | null) => {
    const request = requested.get(name ?? "")
    return request !== undefined && "file" in request ? (deletions.get(request.file) ?? []) : null
  }
  const judge = (
    what: string,
    hasLink: boolean,
    of: ReadonlyArray<Call>,
    isOver: (deletion: Call) => boolean,
    until: number,
  ): ReadonlyArray<string> => {
    if (hasLink) return of.some(isOver) ? [`${what} leads to a deleted file`] : []
    return of.some(({ requestIndex }) => requestIndex < until)
      ? []
      : [`${what} does not lead to its file`]
  }
  const received = reportedMessages(history).flatMap(
    ({ createdAt, index, media: link, name, type }) => {
      const of = findDeletions(name)
      if (of === null) return []
      // A transport that has sent it had its file. In a storm a commit may follow its look by long.
      const isSent = type === "message.sent" && !tests.has(name ?? "")
      const isOver = ({ answer, answered, answeredAt }: Call) =>
        !isSent && answer?._tag === "Done" && answered > calm && createdAt > answeredAt
      return judge(`${type} of ${name}`, (link?.url ?? null) !== null, of, isOver, index)
    },
  )
  const answers = calls.flatMap(({ answer, answered, request, requestIndex }) => {
    if (answer?._tag !== "State" || answer.hasLink === undefined || !("name" in request)) return []
    const isOver = (deletion: Call) =>
      deletion.answer?._tag === "Done" && deletion.answered < requestIndex
    const of = findDeletions(request.name)
    return of === null
      ? []
      : judge(`the answer of ${request.name}`, answer.hasLink, of, isOver, answered)
  })
  return [...received, ...answers]
}

export const media: JudgedPromise = {
  name: "media",
  check: (history) => {
    const violations: Array<string> = [...uploadViolations(history)]
    const requested = toMedia(history)
    violations.push(...linkViolations(history, requested))
    for (const entry of history.entries) {
      if (entry._tag !== "Shown") continue
      const content = requested.get(entry.name)?.content ?? null
      if (entry.media !== content) {
        violations.push(`${entry.name} was shown with ${entry.media} in place of ${content}`)
      }
    }
    for (const { name } of getHandovers(history)) {
      if (requested.get(name)?.content === null)
        violations.push(`${name} was handed over without media`)
    }
    for (const { error, name, state } of history.final.messages) {
      const request = requested.get(name)
      if (error === "media_unavailable" && mayBeUnavailable(history, name, request) === false) {
        violations.push(`${name} failed for want of its media`)
      }
      const isTrue = error === "media_unavailable" || error === "outcome_unknown"
      if (request?.content === null && state === "failed" && !isTrue) {
        violations.push(`${name} failed with ${error}`)
      }
    }
    for (const file of history.final.filesLeft) violations.push(`the content of ${file} is left`)
    return violations
  },
}
