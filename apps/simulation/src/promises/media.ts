/**
 * A message with media is shown with exactly those, or fails with `media_unavailable` (contract:
 * Media links); deleted files are freed.
 */
import { nameOf } from "../History.ts"
import type { AskedMedia, History } from "../History.ts"
import { callsOf, handedOf, sendsOf, testNames, toldMessages } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const mediaOf = (history: History): ReadonlyMap<string, AskedMedia> =>
  new Map(
    sendsOf(history).flatMap(({ ask: { media, phones, text } }) =>
      media === undefined ? [] : phones.map((phone) => [nameOf(text, phone), media] as const),
    ),
  )

/** Whether a message may fail without these media. Null: unknown. */
const mayBeUnavailable = (history: History, name: string, media: AskedMedia | undefined) => {
  if (media === undefined) return false
  // A process that stops may give up a server that answers.
  if ("url" in media) return !media.isSure || !history.setting.isSteady
  const told = toldMessages(history).find((one) => one.name === name)
  if (told === undefined) return null
  return callsOf(history).some(
    ({ ask, asked }) => ask._tag === "DeleteFile" && ask.file === media.file && asked < told.index,
  )
}

const uploadViolations = (history: History): ReadonlyArray<string> => {
  const ids = new Map<string, number>()
  return callsOf(history).flatMap(({ answer, ask }) => {
    if (ask._tag !== "Upload" || answer?._tag !== "Accepted") return []
    const [id = 0] = answer.ids
    const first = ids.get(ask.file) ?? id
    ids.set(ask.file, first)
    return first === id ? [] : [`${ask.file} is both ${first} and ${id}`]
  })
}

/** Answers and events lead to a stored file until it is deleted, and not after that. */
const linkViolations = (
  history: History,
  wanted: ReadonlyMap<string, AskedMedia>,
): ReadonlyArray<string> => {
  const calls = callsOf(history)
  const deletions = Map.groupBy(
    calls.filter(({ ask }) => ask._tag === "DeleteFile"),
    ({ ask }) => ("file" in ask ? ask.file : ""),
  )
  const calm = history.entries.findIndex(({ _tag }) => _tag === "Calm")
  const tests = testNames(history)
  const deletionsOf = (name: string | null) => {
    const asked = wanted.get(name ?? "")
    return asked !== undefined && "file" in asked ? (deletions.get(asked.file) ?? []) : null
  }
  const judge = (
    what: string,
    hasLink: boolean,
    of: ReadonlyArray<Call>,
    isOver: (deletion: Call) => boolean,
    until: number,
  ): ReadonlyArray<string> => {
    if (hasLink) return of.some(isOver) ? [`${what} leads to a deleted file`] : []
    return of.some(({ asked }) => asked < until) ? [] : [`${what} does not lead to its file`]
  }
  const told = toldMessages(history).flatMap(({ createdAt, index, media: link, name, type }) => {
    const of = deletionsOf(name)
    if (of === null) return []
    // A transport that has sent it had its file. In a storm a commit may follow its look by long.
    const isSent = type === "message.sent" && !tests.has(name ?? "")
    const isOver = ({ answer, answered, answeredAt }: Call) =>
      !isSent && answer?._tag === "Done" && answered > calm && createdAt > answeredAt
    return judge(`${type} of ${name}`, (link?.url ?? null) !== null, of, isOver, index)
  })
  const answers = calls.flatMap(({ answer, answered, ask, asked }) => {
    if (answer?._tag !== "State" || answer.hasLink === undefined || !("name" in ask)) return []
    const isOver = (deletion: Call) => deletion.answer?._tag === "Done" && deletion.answered < asked
    const of = deletionsOf(ask.name)
    return of === null
      ? []
      : judge(`the answer of ${ask.name}`, answer.hasLink, of, isOver, answered)
  })
  return [...told, ...answers]
}

export const media: JudgedPromise = {
  name: "media",
  check: (history) => {
    const violations: Array<string> = [...uploadViolations(history)]
    const wanted = mediaOf(history)
    violations.push(...linkViolations(history, wanted))
    for (const entry of history.entries) {
      if (entry._tag !== "Shown") continue
      const content = wanted.get(entry.name)?.content ?? null
      if (entry.media !== content) {
        violations.push(`${entry.name} was shown with ${entry.media} in place of ${content}`)
      }
    }
    for (const { name } of handedOf(history)) {
      if (wanted.get(name)?.content === null)
        violations.push(`${name} was handed over without media`)
    }
    for (const { error, name, state } of history.final.messages) {
      const asked = wanted.get(name)
      if (error === "media_unavailable" && mayBeUnavailable(history, name, asked) === false) {
        violations.push(`${name} failed for want of its media`)
      }
      const isTrue = error === "media_unavailable" || error === "outcome_unknown"
      if (asked?.content === null && state === "failed" && !isTrue) {
        violations.push(`${name} failed with ${error}`)
      }
    }
    for (const file of history.final.filesLeft) violations.push(`the content of ${file} is left`)
    return violations
  },
}
