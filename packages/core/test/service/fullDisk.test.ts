import { layerMediaFiles } from "@messaging-service/store-memory"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import {
  Egress,
  EgressError,
  MediaFiles,
  MediaFilesError,
  NumberOperations,
  waitsFor,
  Store,
} from "../../src/index.ts"
import type { Caller, MessageId, NumberId, WorkspaceId } from "../../src/index.ts"
import { cancel, copies, send, status } from "./Operations.ts"
import { aNumber, aSender, day, hour, inAService, noon, pass, second, settled } from "./Service.ts"

/** A disk that a test fills, and links that count their fetches. */
const aDisk = () => {
  const disk = { isFull: true, checks: 0, fetched: 0 }
  const files = Layer.effect(
    MediaFiles,
    Effect.map(MediaFiles, (real) => ({
      ...real,
      room: Effect.suspend(() => {
        disk.checks++
        return disk.isFull ? Effect.fail(new MediaFilesError({ reason: "full" })) : Effect.void
      }),
    })),
  ).pipe(Layer.provide(layerMediaFiles))
  const egress = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    post: () => Effect.fail(new EgressError({ reason: "connection" })),
    fetch: (url) =>
      Effect.sync(() => {
        disk.fetched++
        return { status: 200, headers: {}, url, body: Stream.make(new Uint8Array([1])) }
      }),
  })
  return { disk, parts: { files, egress } }
}

const withFile = { media: { url: "https://example.com/a.bin" } }

const why = (workspace: WorkspaceId, number: NumberId, id: MessageId, now: number) =>
  Effect.gen(function* () {
    const [message] = yield* Store.use(({ messages }) => messages.byIds([id]))
    const facts = yield* Store.use(({ numbers }) =>
      numbers.connection(workspace, number, now, { messages: 1000, windowMillis: day }),
    )
    return message === undefined || facts === null
      ? null
      : waitsFor(message, facts, now, false, false)
  })

describe("a disk with less free space than its reserve", () => {
  const texts = Effect.map(copies(), (all) => all.map(({ text }) => text))
  const sendTo = (key: Caller, from: NumberId, overrides: Readonly<Record<string, unknown>>) =>
    send(key, { from, ...overrides })

  it.effect("blocks a number's messages behind one that needs a file, in order", () => {
    const { disk, parts } = aDisk()
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const first = yield* sendTo(key, number, { ...withFile, text: "First" })
        const behind = yield* sendTo(key, number, { text: "Second" })
        yield* sendTo(key, other, { text: "Of another number" })
        yield* settled
        assert.deepStrictEqual(yield* texts, ["Of another number"])
        assert.deepStrictEqual(yield* why(workspace, number, behind.id, noon), [
          { reason: "no_room", until: noon + second, because: null },
        ])
        const shown = yield* NumberOperations.use((all) =>
          all.connection("owner", workspace, number),
        )
        assert.deepInclude(shown, { reason: null, nextSendAt: noon + second, waiting: 2 })
        yield* pass(hour)
        // 1, 2, 4 … 256 seconds, then every 5 minutes.
        assert.isAtMost(disk.checks, 20)
        assert.strictEqual(disk.fetched, 0)
        assert.deepStrictEqual(yield* texts, ["Of another number"])
        disk.isFull = false
        yield* pass(300 * second)
        assert.deepStrictEqual(yield* texts, ["Of another number", "First", "Second"])
        assert.strictEqual(disk.fetched, 1)
        assert.strictEqual(yield* status(key, first), "sent")
      }),
      parts,
    )
  })

  it.effect("blocks nothing once the message that needs a file is cancelled", () => {
    const { disk, parts } = aDisk()
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const first = yield* sendTo(key, number, withFile)
        yield* sendTo(key, number, { text: "Second" })
        yield* pass(hour)
        yield* cancel(key, first)
        yield* settled
        assert.deepStrictEqual(yield* texts, ["Second"])
        assert.strictEqual(disk.fetched, 0)
      }),
      parts,
    )
  })
})
