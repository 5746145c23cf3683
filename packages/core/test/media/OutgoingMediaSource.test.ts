/** The media of a send: stored files, names of fetched files, and what cannot be sent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { EgressAnswer } from "../../src/model/Egress.ts"
import type { WorkspaceId } from "../../src/model/Ids.ts"
import { MediaFilesError } from "../../src/model/Media.ts"
import type { MediaReference } from "../../src/model/Media.ts"
import { owner, link, stored, record, content, answer, setup, reason } from "./OutgoingMedia.ts"
import type { Setup } from "./OutgoingMedia.ts"

describe("a file of the media directory", () => {
  it.effect("is sent as stored", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({})
      const outgoing = yield* open(owner, stored())
      assert.deepStrictEqual(outgoing, {
        type: "file",
        fileName: "report.pdf",
        mimeType: "application/pdf",
        size: 3,
        sha256: "abc",
        content: outgoing.content,
      })
      assert.deepStrictEqual(calls, [])
    }),
  )

  it.effect("a full disk postpones a link and does not fail it", () =>
    Effect.gen(function* () {
      for (const cannotKeep of ["full", "io"] as const) {
        const { open } = yield* setup({ cannotKeep })
        const error = yield* Effect.flip(open(owner, link()))
        assert.strictEqual(error._tag, cannotKeep === "full" ? "NoRoom" : "LinksBusy")
      }
    }),
  )

  it.effect("a full disk stops fetching, not sending of stored files", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({ noRoom: true })
      assert.strictEqual((yield* Effect.flip(open(owner, link())))._tag, "NoRoom")
      assert.deepStrictEqual(calls, [])
      assert.strictEqual((yield* open(owner, stored())).size, 3)
    }),
  )

  it.effect("has the MIME type detected for it, also by its name", () =>
    Effect.gen(function* () {
      const csv = { ...record, fileName: "list.csv", mimeType: "text/csv" }
      const { open } = yield* setup({
        records: [csv],
        open: Effect.succeed(content({ mimeType: "application/octet-stream" })),
      })
      assert.strictEqual((yield* open(owner, stored())).mimeType, "text/csv")
    }),
  )

  it.effect("takes name and type from the request when it gives them", () =>
    Effect.gen(function* () {
      const { open } = yield* setup({})
      const { fileName, type } = yield* open(owner, stored({ type: "file", fileName: "a.png" }))
      assert.deepStrictEqual([type, fileName], ["file", "a.png"])
    }),
  )

  it.effect("is unavailable when deleted or in another workspace or mode", () =>
    Effect.gen(function* () {
      yield* reason({ records: [] }, stored())
      yield* reason({ records: [{ ...record, workspaceId: 2 as WorkspaceId }] }, stored())
      yield* reason({ records: [{ ...record, mode: "test" }] }, stored())
    }),
  )

  it.effect("is unavailable when its content is gone", () =>
    reason({ open: Effect.fail(new MediaFilesError({ reason: "not_found" })) }, stored()),
  )

  it.effect("postpones the message when its content cannot be opened now", () =>
    Effect.gen(function* () {
      const { open } = yield* setup({ open: Effect.fail(new MediaFilesError({ reason: "io" })) })
      assert.strictEqual((yield* Effect.flip(open(owner, stored())))._tag, "FileUnavailable")
    }),
  )
})

describe("the name of a fetched file", () => {
  const named = (
    input: Setup & { readonly headers?: EgressAnswer["headers"]; readonly from?: string },
    reference: Partial<MediaReference> = {},
  ) =>
    Effect.gen(function* () {
      const { from: url = "https://example.com/d/7", headers = {} } = input
      const { open } = yield* setup({ ...input, replies: [answer(200, { url, headers })] })
      const { fileName, mimeType } = yield* open(owner, link({ url, ...reference }))
      return [fileName, mimeType]
    })

  it.effect("is the send's, unchanged", () =>
    Effect.gen(function* () {
      const headers = { "content-disposition": "attachment; filename=other.png" }
      assert.deepStrictEqual(yield* named({ headers }, { fileName: "Foto" }), ["Foto", "image/png"])
    }),
  )

  it.effect("comes from the answer, else from the last path, else from the link", () =>
    Effect.gen(function* () {
      const headers = { "content-disposition": `inline; filename*=UTF-8''B%C3%BCro.png` }
      const from = "https://cdn.example.com/files/one.png"
      const url = "https://example.com/link/two.png"
      assert.strictEqual((yield* named({ headers, from }))[0], "Büro.png")
      assert.strictEqual((yield* named({ from }, { url }))[0], "one.png")
      assert.strictEqual(
        (yield* named({ from: "https://cdn.example.com/" }, { url }))[0],
        "two.png",
      )
      assert.strictEqual((yield* named({ from: "https://example.com/" }))[0], "file.png")
    }),
  )

  it.effect("has an extension that fits its type, within its length", () =>
    Effect.gen(function* () {
      const nameFrom = (last: string, mimeType: string) =>
        named({ from: `https://example.com/${last}`, mimeType })
      assert.deepStrictEqual(yield* nameFrom("photo", "image/jpeg"), ["photo.jpg", "image/jpeg"])
      assert.deepStrictEqual(yield* nameFrom("photo.JPEG", "image/jpeg"), [
        "photo.JPEG",
        "image/jpeg",
      ])
      assert.deepStrictEqual(yield* nameFrom("show.php", "application/pdf"), [
        "show.php.pdf",
        "application/pdf",
      ])
      assert.deepStrictEqual(yield* nameFrom("list.csv", "application/octet-stream"), [
        "list.csv",
        "text/csv",
      ])
      assert.deepStrictEqual(yield* nameFrom("list", "application/octet-stream"), [
        "list",
        "application/octet-stream",
      ])
      const [long] = yield* nameFrom("a".repeat(255), "image/png")
      assert.strictEqual(long, `${"a".repeat(251)}.png`)
    }),
  )
})

describe("what cannot be sent", () => {
  it.effect("an empty file", () =>
    Effect.gen(function* () {
      const empty = answer(200, { body: Stream.empty })
      const { calls, message } = yield* reason({ replies: [empty] })
      assert.deepStrictEqual([calls, message], [1, "The media file is empty."])
    }),
  )

  it.effect("a file that is no image although the send or the link's extension says so", () =>
    Effect.gen(function* () {
      const image = { type: "image" } as const
      for (const mimeType of ["application/octet-stream", "application/pdf", "image/tiff"]) {
        const { calls, message } = yield* reason({ mimeType }, link(image))
        assert.strictEqual(calls, 1)
        assert.include(message, "no image")
      }
      // Declared as a picture, but text.
      yield* reason(
        { mimeType: "application/octet-stream" },
        link({ ...image, url: "https://example.com/a.svg" }),
      )
      assert.include((yield* reason({}, stored(image))).message, "no image")
    }),
  )
})
