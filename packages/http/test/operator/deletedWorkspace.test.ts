/** A deleted workspace: its links are dead at once. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aKey, aNumber, aWorkspace, remove } from "../Records.ts"
import { code, connect, follow as check, qrLink, read } from "../v2/Connecting.ts"
import { follow, upload } from "../v2/Uploading.ts"

describe("links without a key", () => {
  layer(layerService())("of a deleted workspace", (it) => {
    it.effect("to stored files are 404 at once; another workspace's keep working", () =>
      Effect.gen(function* () {
        const [workspace, other] = [yield* aWorkspace(), yield* aWorkspace()]
        const file = yield* upload((yield* aKey(workspace)).key)
        const kept = yield* upload((yield* aKey(other)).key)
        assert.strictEqual((yield* follow(file.url)).status, 200)
        yield* remove(workspace)
        assert.strictEqual((yield* follow(file.url)).status, 404)
        assert.strictEqual((yield* follow(kept.url)).status, 200)
      }),
    )

    it.effect("to QR codes are 404 at once", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { key } = yield* aKey(workspace)
        const link = yield* qrLink(key, (yield* connect(key)).id)
        assert.strictEqual((yield* check(link)).status, 200)
        yield* remove(workspace)
        assert.strictEqual((yield* check(link)).status, 404)
      }),
    )
  })
})

describe("a test key", () => {
  layer(layerService())("of a workspace with live numbers", (it) => {
    it.effect("never sees what connects a live number: no QR code, no pairing code", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        yield* aNumber(workspace)
        const live = (yield* aKey(workspace)).key
        const test = (yield* aKey(workspace, { mode: "test" })).key
        for (const how of [{}, { login_method: "phone_code", phone: "+15550001234" }]) {
          const { id } = yield* connect(live, how)
          yield* code(live, id)
          const numberBody = yield* read(test, id)
          assert.strictEqual(numberBody.status, "connecting")
          assert.isNull(numberBody.connect)
          // It sees its own.
          yield* code(test, (yield* connect(test, how)).id)
        }
      }),
    )
  })
})
