/**
 * A message with media is shown with exactly those, or fails with `media_unavailable` (contract:
 * Media links); deleted files are freed.
 */
import { nameOf } from "../History.ts"
import type { AskedMedia, History } from "../History.ts"
import { callsOf, handedOf, sendsOf, toldMessages } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

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

export const media: JudgedPromise = {
  name: "media",
  check: (history) => {
    const violations: Array<string> = [...uploadViolations(history)]
    const wanted = mediaOf(history)
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
