/** Messages with media: behind links, and uploaded files that are deleted again. */
import { MediaDirectory, MediaFiles, filesUnavailable } from "@messaging-service/core"
import type { MediaId } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import { oneOf } from "../calls.ts"
import { toName } from "../History.ts"
import { getContent, linkTo, siteKinds } from "../faults/sites.ts"
import type { SiteKind } from "../faults/sites.ts"
import { retryUntilAnswered, done } from "./asking.ts"
import type { Command, Feature, Stage } from "./Feature.ts"
import { checkMessage, toPhone, planSendWithMedia, sendProbe } from "./messages.ts"
import type { Probe } from "./messages.ts"
import { pause, resume } from "./operations.ts"

const second = 1000
const minute = 60 * second

/** One of so many seeds has media: a few are cheap. */
const seedsWithMedia = 4

const maximumBytes = 1000

type Mode = "live" | "test"

const upload =
  (file: string, content: string, mode: Mode = "live") =>
  (stage: Stage) =>
    Effect.asVoid(
      retryUntilAnswered(stage, {
        request: { _tag: "Upload", file },
        effect: Effect.scoped(
          Effect.gen(function* () {
            const files = yield* MediaFiles
            const spooled = yield* files.spool(
              Stream.make(new TextEncoder().encode(content)),
              maximumBytes,
            )
            // Each try has its own content, and one of them is stored.
            stage.files.set(`${file} ${spooled.storageKey}`, {
              storageKey: spooled.storageKey,
              id: null,
            })
            return yield* MediaDirectory.use((directory) =>
              directory.upload(
                stage.tenant.callers[mode],
                { fileName: `${file}.txt`, content: spooled },
                { key: file, fingerprint: file },
              ),
            )
          }),
        ).pipe(
          Effect.catchTag("MediaFilesError", (error) =>
            Effect.fail(filesUnavailable("media.spool")(error)),
          ),
        ),
        answer: ({ answer }) => {
          const { id, storageKey } = answer
          stage.files.set(file, { storageKey, id })
          return { _tag: "Accepted", ids: [id] }
        },
      }),
    )

const remove =
  (file: string, mode: Mode = "live") =>
  (stage: Stage) =>
    Effect.suspend(() => {
      const id = stage.files.get(file)?.id ?? null
      if (id === null) return Effect.void
      return Effect.asVoid(
        retryUntilAnswered(stage, {
          request: { _tag: "DeleteFile", file },
          effect: MediaDirectory.use((directory) =>
            directory.delete(stage.tenant.callers[mode], id as MediaId),
          ),
          answer: done,
        }),
      )
    })

/** Index of the probe's number that is stopped while files are fetched. */
const fetchedNumber = 4

/** A message is not handed over if its number was paused while its media were being fetched. */
const probeFetch = Effect.fnUntraced(function* (stage: Stage) {
  const target = { stage, number: fetchedNumber, isProbe: true }
  const url = linkTo("good", "probe")
  yield* sendProbe(stage, {
    number: fetchedNumber,
    text: "fetched",
    fate: "fetched",
    media: { url, isSure: true, content: getContent(url) },
  })
  yield* Effect.sleep(stage.chance.below(2 * second))
  yield* pause(target, null)
  yield* Effect.sleep(4 * second)
  yield* resume(target)
  yield* Effect.sleep(6 * second)
})

/** However a message ends: what is reported of it leads to no file that is deleted by then. */
const probeLinks = Effect.fnUntraced(function* (stage: Stage) {
  const [file, testFile, content] = ["deleted", "deleted in test mode", "what is deleted"]
  yield* upload(file, content)(stage)
  yield* upload(testFile, content, "test")(stage)
  const soon = stage.now() + 5 * second
  const part = (text: string, more: Partial<Probe>) =>
    sendProbe(stage, { number: fetchedNumber, text, media: { file, content }, ...more })
  const [cancelled, waiting] = ["with a file, cancelled", { fate: "fetched" } as const]
  yield* part("with a file, sent", {})
  yield* Effect.sleep(2 * second)
  yield* part(cancelled, { ...waiting, sendAt: soon + minute })
  yield* part("with a file, expired", {
    ...waiting,
    sendAt: soon + minute,
    expiresAt: soon + minute + 1,
  })
  yield* part("with a file, failed", { ...waiting, sendAt: soon })
  yield* part("with a file, tested", {
    ...waiting,
    mode: "test",
    media: { file: testFile, content },
    sendAt: soon,
  })
  yield* checkMessage("Read", toName(cancelled, toPhone(0)))(stage)
  yield* remove(file)(stage)
  yield* remove(testFile, "test")(stage)
  yield* checkMessage("Read", toName(cancelled, toPhone(0)))(stage)
  yield* checkMessage("Cancel", toName(cancelled, toPhone(0)))(stage)
  yield* Effect.sleep(soon + 2 * minute - stage.now())
})

export const media: Feature = {
  name: "media",
  plan: (planning) => {
    const { chance, span } = planning
    if (chance.below(seedsWithMedia) !== 0) return []
    const links = Array.from({ length: 4 }, (_, index) => {
      const kind = oneOf<SiteKind>(chance, ["good", "flaky", oneOf(chance, siteKinds)])
      const url = linkTo(kind, String(index))
      const isSure = kind === "good"
      const content = isSure || kind === "flaky" ? getContent(url) : null
      return planSendWithMedia(planning, `linked ${index}`, { url, isSure, content })
    })
    const files = Array.from({ length: 2 }, (_, index): ReadonlyArray<Command> => {
      const file = `file ${index}`
      const content = `what ${file} holds`
      const at = chance.below(span / 2)
      const sends = Array.from({ length: 2 }, (__, each) =>
        planSendWithMedia(planning, `${file} in ${each}`, { file, content }, at + 1),
      )
      const created = { at, name: `upload ${file}`, perform: upload(file, content) }
      if (chance.below(2) === 0) return [created, ...sends.flat()]
      const over = at + chance.below(4 * minute)
      return [created, ...sends.flat(), { at: over, name: `delete ${file}`, perform: remove(file) }]
    })
    return [...links.flat(), ...files.flat()]
  },
  // Uploads without an answer too.
  calm: Effect.fnUntraced(function* (stage) {
    const { live } = stage.tenant.callers
    const { items } = yield* stage.callProcess(
      MediaDirectory.use((directory) => directory.list(live, {})),
    )
    for (const { fileName, id } of items) {
      const file = fileName.slice(0, fileName.lastIndexOf("."))
      const known = stage.files.get(file)
      stage.files.set(file, { storageKey: known?.storageKey ?? "", id })
      yield* remove(file)(stage)
    }
  }),
  probe: (stage) => Effect.andThen(probeFetch(stage), probeLinks(stage)),
}
