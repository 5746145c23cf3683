/**
 * The storage for attachments of version 1 sends (`ATTACHMENT_BYTES`; contract: Version 1: sends):
 * above it a send answers like a full media storage.
 */
import { assert, layer } from "@effect/vitest"
import { AttachmentBytes, Egress, EgressError } from "@messaging-service/core"
import { Effect, Layer, Stream } from "effect"
import { Disk } from "../Disk.ts"
import { layerService } from "../Service.ts"
import { aPlan, change } from "../Records.ts"
import { aClient, aText, answered, request, call, assertRefusedV1, withFile } from "./Asking.ts"

const limit = 1000

const bytes = (size: number) => new Uint8Array(size).fill(1)

/** Links lead to 400 bytes. */
const layerWeb = Layer.succeed(Egress, {
  allows: () => Effect.succeed(true),
  post: () => Effect.fail(new EgressError({ reason: "connection" })),
  fetch: (url) => Effect.succeed({ status: 200, headers: {}, url, body: Stream.make(bytes(400)) }),
})

const full = "Media storage is full"

const sendFile = (credentials: object, size: number, path = "send_msg/") =>
  call(path, withFile({ ...credentials, ...aText, msg_type: 2 }, [{ bytes: bytes(size) }]))

layer(layerService({ egress: layerWeb, ports: Layer.succeed(AttachmentBytes, limit) }))(
  "attachments of version 1 sends",
  (it) => {
    it.effect("fill the workspace's own storage to the byte, and no more is stored", () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        const { files } = yield* Disk
        answered(yield* sendFile(credentials, 600))
        const before = yield* files
        assertRefusedV1(yield* sendFile(credentials, 401), 400, full)
        assert.deepStrictEqual(yield* files, before)
        answered(yield* sendFile(credentials, 400))
        assertRefusedV1(yield* sendFile(credentials, 1), 400, full)
        const other = yield* aClient()
        answered(yield* sendFile(other.credentials, limit))
      }),
    )

    it.effect("count links that are downloaded during the call alike", () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        const { files } = yield* Disk
        const link = {
          ...credentials,
          ...aText,
          msg_type: 2,
          file_url: "https://example.com/a.bin",
        }
        answered(yield* request("send_msg/", link))
        answered(yield* request("send_msg/", link))
        const before = yield* files
        assertRefusedV1(yield* request("send_msg/", link), 400, full)
        assert.deepStrictEqual(yield* files, before)
      }),
    )

    it.effect("and the plan's storage do not count for each other", () =>
      Effect.gen(function* () {
        const { credentials, workspace } = yield* aClient()
        yield* change(workspace, { plan: aPlan({ media_storage_bytes: 5000 }) })
        const upload = withFile(credentials, [{ bytes: bytes(5000) }])
        answered(yield* sendFile(credentials, limit))
        answered(yield* call("media/upload/", upload))
        assertRefusedV1(yield* call("media/upload/", upload), 400, full)
      }),
    )

    it.effect("of a refused send free their storage again", () =>
      Effect.gen(function* () {
        const { credentials, workspace } = yield* aClient()
        yield* change(workspace, { plan: null })
        assertRefusedV1(yield* sendFile(credentials, limit), 400, "Not enough credits")
        const plan = aPlan({ messages_remaining: 1 })
        yield* change(workspace, { plan })
        answered(yield* sendFile(credentials, limit))
      }),
    )

    it.effect("keep within the bound when many arrive at once", () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        const answers = yield* Effect.all(
          Array.from({ length: 12 }, () => sendFile(credentials, 300)),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(answers.filter(({ status }) => status === 200).length, 3)
      }),
    )
  },
)
