/** Links to files, sends with attachments, and what is stored of them. */
import { Effect, Layer, Option, Stream } from "effect"
import { Attachments, Egress, EgressError, MediaFiles, Messages, Store } from "../../src/index.ts"
import type { Attachment, Caller, MediaId } from "../../src/index.ts"
import { plainTerms } from "../message/plainTerms.ts"
import type { SendTerms } from "../../src/service/Messages.ts"
import { shown, the } from "./Operations.ts"
import { minute } from "./Service.ts"

/** A link's answer: a content, or a status without one. */
type Answer = Stream.Stream<Uint8Array, EgressError> | number

/** An egress with these answers by link; other links fail, and so do the hosts in `private`. */
export const linksTo = (answers: Readonly<Record<string, Answer>>): Layer.Layer<Egress> =>
  Layer.succeed(Egress, {
    allows: (url) => Effect.succeed(!url.includes("//private")),
    fetch: (url) => {
      const answer = answers[url]
      if (answer === undefined) return Effect.fail(new EgressError({ reason: "dns" }))
      const isStatus = typeof answer === "number"
      return Effect.succeed({
        status: isStatus ? answer : 200,
        headers: {},
        url,
        body: isStatus ? Stream.empty : answer,
      })
    },
    post: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
  })

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Attaches an uploaded file of that content. */
export const uploaded = (caller: Caller, fileName: string, text: string) =>
  Effect.gen(function* () {
    const files = yield* MediaFiles
    const content = yield* Effect.orDie(files.spool(Stream.make(bytes(text)), 1000))
    return yield* Attachments.use((attachments) =>
      attachments.fromUpload(caller, { fileName, content }),
    )
  })

/** Attaches the target of a link. */
export const linked = (caller: Caller, url: string, fileName: string | null = null) =>
  Attachments.use((attachments) => attachments.fromLink(caller, { url, type: null, fileName }))

/** Sends with an attachment and without a text. */
export const sendWith = (
  caller: Caller,
  attachment: Attachment,
  overrides: Readonly<Record<string, unknown>> = {},
  terms: Partial<SendTerms> = {},
) =>
  Effect.map(
    Messages.use((messages) =>
      messages.send(caller, { to: { phone: "+15550000001" }, ...overrides }, null, {
        ...plainTerms,
        ...terms,
        attachment,
      }),
    ),
    (sent) => the(sent.messages),
  ).pipe(
    Effect.flatMap((message) => shown([message])),
    Effect.map(the),
  )

/** The content of a stored file; null when its record or its bytes are gone. */
export const readContent = (id: number) =>
  Effect.gen(function* () {
    const found = yield* Store.use(({ media: store }) => store.find(id as MediaId))
    if (found === null || found.deleted) return null
    const opened = yield* Effect.option(
      MediaFiles.use((files) => files.open(found.file.storageKey)),
    )
    if (Option.isNone(opened)) return null
    return yield* Stream.mkString(Stream.decodeText(opened.value.content))
  })

/** The files with bytes still to be removed. */
export const leftOver = Store.use(({ media: store }) =>
  store.leftovers({ reservedBefore: 0, limit: 100 }),
)

/** Slightly longer than the sweep's interval. */
export const aSweep = 11 * minute
