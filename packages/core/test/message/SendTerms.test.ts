import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { CallbackUrl } from "../../src/service/CallbackSettings.ts"
import type { MediaId } from "../../src/model/Ids.ts"
import type { Attachment } from "../../src/service/MediaDirectory.ts"
import { sendRequestParser } from "../../src/model/SendRequest.ts"
import { underTerms } from "../../src/service/Messages.ts"
import { plainTerms } from "./plainTerms.ts"

const rule = { allowPrivate: false }

const attachment: Attachment = {
  id: 71 as MediaId,
  type: "image",
  mimeType: "image/png",
  fileName: "photo.png",
  size: 1024,
}

const recipient = { phone: "+15550000001" }

describe("a send under terms", () => {
  const request = Result.getOrThrow(
    sendRequestParser(rule).single({
      to: recipient,
      text: "Hello",
      media: { url: "https://example.com/a.pdf" },
    }),
  )

  it.effect("carries the attachment instead of media, and the callback", () =>
    Effect.sync(() => {
      const callbackUrl = "https://example.com/callback" as CallbackUrl
      assert.deepStrictEqual(underTerms(request, { ...plainTerms, attachment, callbackUrl }), {
        ...request,
        callbackUrl,
        media: {
          mediaId: null,
          attachmentId: attachment.id,
          url: null,
          type: "image",
          fileName: "photo.png",
        },
      })
    }),
  )

  it.effect("follows version 2's rules under plain terms", () =>
    Effect.sync(() => assert.deepStrictEqual(underTerms(request, plainTerms), request)),
  )
})

describe("with an attachment", () => {
  const parsers = [sendRequestParser(rule), sendRequestParser(rule, true)] as const

  it.effect("text may be missing or blank, as with media", () =>
    Effect.sync(() => {
      for (const text of [undefined, "", " \n"]) {
        const rest = text === undefined ? {} : { text }
        const [plain, attached] = parsers.map((parser) => [
          parser.single({ to: recipient, ...rest }),
          parser.batch({ to: [recipient], ...rest }),
        ])
        for (const refused of plain ?? []) {
          assert.isTrue(Result.isFailure(refused))
          if (Result.isFailure(refused)) assert.strictEqual(refused.failure.code, "text_required")
        }
        for (const taken of attached ?? []) {
          assert.strictEqual(Result.getOrThrow(taken).text, text ?? "")
        }
      }
    }),
  )

  it.effect("text has the same limit as without one", () =>
    Effect.sync(() => {
      const refused = parsers[1].single({ to: recipient, text: "x".repeat(3001) })
      assert.isTrue(Result.isFailure(refused))
      if (Result.isFailure(refused)) assert.strictEqual(refused.failure.code, "text_too_long")
    }),
  )
})
