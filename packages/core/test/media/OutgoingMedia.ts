/** A source of outgoing media: the test chooses its files, records and answers. */
import { assert } from "@effect/vitest"
import { Effect, Layer, Ref, Stream } from "effect"
import { Egress, EgressError } from "../../src/model/Egress.ts"
import type { EgressAnswer, FetchLimits } from "../../src/model/Egress.ts"
import type { MediaId, WorkspaceId } from "../../src/model/Ids.ts"
import { MediaFiles, MediaFilesError } from "../../src/model/Media.ts"
import type { MediaFile, MediaReference, StoredContent } from "../../src/model/Media.ts"
import { OutgoingMediaSource } from "../../src/worker/Dispatcher.ts"
import { storeWith } from "@messaging-service/testkit"

export const second = 1000

export const owner = { workspaceId: 1 as WorkspaceId, mode: "live" } as const

export const link = (overrides: Partial<MediaReference> = {}): MediaReference => ({
  mediaId: null,
  attachmentId: null,
  url: "https://example.com/files/photo.png?size=2",
  type: null,
  fileName: null,
  ...overrides,
})

export const stored = (overrides: Partial<MediaReference> = {}): MediaReference =>
  link({ mediaId: 71 as MediaId, attachmentId: null, url: null, ...overrides })

export const record: MediaFile = {
  id: 71 as MediaId,
  ...owner,
  fileName: "report.pdf",
  type: "file",
  mimeType: "application/pdf",
  size: 3,
  storageKey: "key-71",
  createdAt: 0,
}

export const content = (overrides: Partial<StoredContent> = {}) => ({
  size: 3,
  sha256: "abc",
  mimeType: "image/png",
  content: Stream.empty,
  part: () => Stream.empty,
  storageKey: "spooled",
  keep: Effect.void,
  ...overrides,
})

export const answer = (status: number, overrides: Partial<EgressAnswer> = {}): EgressAnswer => ({
  status,
  headers: {},
  url: "https://example.com/files/photo.png",
  body: Stream.make(new Uint8Array([1, 2, 3])),
  ...overrides,
})

export type Reason = EgressError["reason"]

/** An answer, a failure, or a delayed answer. */
type Reply = EgressAnswer | Reason | Effect.Effect<EgressAnswer, EgressError>

export interface Setup {
  /** One for each call; the last one repeats. */
  readonly replies?: ReadonlyArray<Reply>
  readonly records?: ReadonlyArray<MediaFile>
  readonly open?: Effect.Effect<StoredContent, MediaFilesError>
  readonly mimeType?: string
  /** The beginning of the content. */
  readonly beginning?: string
  /** Why the disk stores nothing. */
  readonly cannotKeep?: "full" | "io"
  /** Whether it fails before the transfer begins. */
  readonly noRoom?: boolean
}

export const setup = ({ replies = [answer(200)], records = [record], ...args }: Setup) =>
  Effect.gen(function* () {
    const calls: Array<readonly [url: string, limits: FetchLimits]> = []
    const released = yield* Ref.make(0)
    const reply = (of: Reply): Effect.Effect<EgressAnswer, EgressError> => {
      if (typeof of === "string") return Effect.fail(new EgressError({ reason: of }))
      return Effect.isEffect(of) ? of : Effect.succeed(of)
    }
    const layer = OutgoingMediaSource.layer.pipe(
      Layer.provide([
        Layer.mock(Egress, {
          fetch: (url, limits) =>
            Effect.suspend(() => {
              calls.push([url, limits])
              const answered = reply(replies[Math.min(calls.length, replies.length) - 1] ?? "dns")
              return Effect.tap(answered, () =>
                Effect.addFinalizer(() => Ref.update(released, (n) => n + 1)),
              )
            }),
        }),
        Layer.mock(MediaFiles, {
          isRetained: true,
          room:
            args.noRoom === true
              ? Effect.fail(new MediaFilesError({ reason: "full" }))
              : Effect.void,
          open: (storageKey) =>
            args.open ??
            (storageKey === "key-71"
              ? Effect.succeed(content({ mimeType: "application/pdf" }))
              : Effect.fail(new MediaFilesError({ reason: "not_found" }))),
          spool: (body, maximumBytes) =>
            Effect.gen(function* () {
              if (args.cannotKeep !== undefined) {
                return yield* new MediaFilesError({ reason: args.cannotKeep })
              }
              const size = yield* Stream.runFold(
                body,
                () => 0,
                (sum, chunk) => sum + chunk.length,
              )
              if (size > maximumBytes) {
                return yield* new MediaFilesError({ reason: "too_large" })
              }
              return content({
                size,
                mimeType: args.mimeType ?? "image/png",
                part: () => Stream.make(new TextEncoder().encode(args.beginning ?? "")),
              })
            }),
        }),
        storeWith({
          media: {
            get: (workspaceId, mode, id) =>
              Effect.succeed(
                records.find(
                  (each) =>
                    each.id === id && each.workspaceId === workspaceId && each.mode === mode,
                ) ?? null,
              ),
          },
        }),
      ]),
    )
    const { open } = yield* Effect.provide(OutgoingMediaSource, layer)
    return { open, calls, released: Ref.get(released) }
  })

/** Why the media are unavailable. */
export const reason = (input: Setup, reference: MediaReference = link()) =>
  Effect.gen(function* () {
    const { calls, open } = yield* setup(input)
    const error = yield* Effect.flip(open(owner, reference))
    assert.strictEqual(error._tag, "MediaUnavailable")
    return { message: error.message, calls: calls.length }
  })
