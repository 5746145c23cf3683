/**
 * A nearly full disk (`DISK_RESERVE`; contract: Configuration): uploads and fetches stop, and
 * everything else continues.
 */
import { assert, layer } from "@effect/vitest"
import { Egress, EgressError } from "@messaging-service/core"
import { Effect, Layer, Stream } from "effect"
import { Disk } from "./Disk.ts"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { aClient, aText, answered, request, call, assertRefusedV1, withFile } from "./v1/Asking.ts"
import { aPart, post, upload } from "./v2/Uploading.ts"
import { aSender } from "./Records.ts"

const gibibyte = 1024 ** 3
const mebibyte = 1024 ** 2

/** Fetched links. */
const fetched = { count: 0 }

const layerWeb = Layer.succeed(Egress, {
  allows: () => Effect.succeed(true),
  post: () => Effect.fail(new EgressError({ reason: "connection" })),
  fetch: (url) =>
    Effect.sync(() => {
      fetched.count++
      return { status: 200, headers: {}, url, body: Stream.make(new Uint8Array(400)) }
    }),
})

/** Sets the free space that the disk reports during an effect. */
const withDisk = <A, E, R>(
  message: { free: number; whole: number },
  done: Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const before = { ...disk.reports }
    Object.assign(disk.reports, message)
    return yield* Effect.ensuring(
      done,
      Effect.sync(() => Object.assign(disk.reports, before)),
    )
  })

const large = { free: gibibyte - 1, whole: 100 * gibibyte }

layer(layerService({ egress: layerWeb }))("a disk with less free space than its reserve", (it) => {
  it.effect("stops uploads of version 2 temporarily", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { files } = yield* Disk
      yield* upload(token, { bytes: "x".repeat(1000) })
      const before = yield* files
      const refused = yield* withDisk(large, post(token, [aPart()]))
      const { code, ...rest } = errorBody(refused)
      assert.deepStrictEqual([refused.status, code], [503, "service_unavailable"])
      assert.notProperty(rest, "used")
      assert.strictEqual(refused.headers["retry-after"], "60")
      assert.deepStrictEqual(yield* files, before)
      yield* upload(token)
    }),
  )

  it.effect("has 1 GiB for its reserve, or 5 % of a small disk", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const statusWith = (free: number, whole: number) =>
        Effect.map(withDisk({ free, whole }, post(token, [aPart()])), ({ status }) => status)
      const statuses = [
        yield* statusWith(gibibyte, 100 * gibibyte),
        yield* statusWith(gibibyte - 1, 100 * gibibyte),
        yield* statusWith(50 * mebibyte, 1000 * mebibyte),
        yield* statusWith(50 * mebibyte - 1, 1000 * mebibyte),
        // A file system that does not report its size.
        yield* statusWith(0, 0),
      ]
      assert.deepStrictEqual(statuses, [201, 503, 201, 503, 201])
    }),
  )

  it.effect("stops version 1's uploads, and its sends with files, before a link is fetched", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const { files } = yield* Disk
      const before = yield* files
      const full = "Service unavailable"
      fetched.count = 0
      const link = { ...credentials, ...aText, msg_type: 2, file_url: "https://example.com/a.bin" }
      yield* withDisk(
        large,
        Effect.gen(function* () {
          assertRefusedV1(yield* call("media/upload/", withFile(credentials, [{}])), 503, full)
          const sent = withFile({ ...credentials, ...aText, msg_type: 2 }, [{}])
          assertRefusedV1(yield* call("send_msg/", sent), 503, full)
          assertRefusedV1(yield* request("send_msg/", link), 503, full)
          answered(yield* request("send_msg/", { ...credentials, ...aText }))
        }),
      )
      assert.deepStrictEqual(yield* files, before)
      assert.strictEqual(fetched.count, 0)
      answered(yield* request("send_msg/", link))
      assert.strictEqual(fetched.count, 1)
    }),
  )

  it.effect("is read again while a file arrives", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { files, checks } = yield* Disk
      const before = yield* files
      checks.count = 0
      yield* upload(token, { bytes: new Uint8Array(8 * mebibyte) })
      assert.isAtLeast(checks.count, 8)
      assert.isAtMost(checks.count, 12)
      assert.strictEqual((yield* files).stored.length, before.stored.length + 1)
    }),
  )

  it.effect("is read once in five seconds for readiness, however many callers ask", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { files, checks } = yield* Disk
      yield* socket.call({ path: "/health/ready" })
      const before = checks.count
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => socket.call({ path: "/health/ready" })),
        { concurrency: 10 },
      )
      assert.isTrue(answers.every(({ status }) => status === 200))
      assert.isAtMost(checks.count - before, 1)
      assert.deepStrictEqual((yield* files).temporary, [])
    }),
  )
})
