import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore, layerMediaFiles } from "@messaging-service/store-memory"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { WakeUp } from "../../src/store/DueWork.ts"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { Ids } from "../../src/model/Ids.ts"
import type { MediaId } from "../../src/model/Ids.ts"
import { Caller } from "../../src/model/Auth.ts"
import { MediaFiles, MediaFilesError, MediaLinks } from "../../src/model/Media.ts"
import type { MediaStore, MediaFile } from "../../src/model/Media.ts"
import { makeMediaSweep, MediaDirectory } from "../../src/service/MediaDirectory.ts"
import { layerStoredSecrets } from "../../src/service/layerStoredSecrets.ts"
import { SecretsKey } from "../../src/model/Secrets.ts"
import { unlimitedPlan } from "../../src/model/Workspace.ts"
import { Store } from "../../src/store/Store.ts"
import { aWorkspace, storeChanged } from "@messaging-service/testkit"

const broken = new MediaFilesError({ reason: "io", cause: "no space left" })
const unavailable = new StoreUnavailable({ operation: "test", cause: "no answer" })

interface Parts {
  readonly files?: (files: typeof MediaFiles.Service) => Partial<typeof MediaFiles.Service>
  readonly store?: (store: MediaStore) => Partial<MediaStore>
}

/** The directory's dependencies in memory, some of them replaced. */
const makeLayer = ({ files = () => ({}), store = () => ({}) }: Parts) => {
  const replacedFiles = Layer.effect(
    MediaFiles,
    Effect.map(MediaFiles, (real) => MediaFiles.of({ ...real, ...files(real) })),
  )
  const replacedStore = storeChanged(({ media: real }) => ({ media: { ...real, ...store(real) } }))
  return MediaDirectory.layer.pipe(
    Layer.provide(WakeUp.layerLocal),
    Layer.provideMerge(MediaLinks.layer),
    Layer.provide(layerStoredSecrets),
    Layer.provide(SecretsKey.layerHex("5e".repeat(32))),
    Layer.provideMerge(Layer.merge(replacedFiles, replacedStore)),
    Layer.provideMerge(Layer.merge(layerStore, layerMediaFiles)),
    Layer.provideMerge(Ids.layerRandom),
  )
}

type World = Layer.Success<ReturnType<typeof makeLayer>>

const inAWorld = <A, E>(test: Effect.Effect<A, E, World | Scope.Scope>, parts: Parts = {}) =>
  Effect.scoped(test).pipe(Effect.provide(makeLayer(parts)))

const aCaller = Effect.map(
  aWorkspace({ plan: { ...unlimitedPlan, mediaStorageBytes: 10 } }),
  (workspace) => Caller.trusted(workspace, { scopes: ["media"] }),
)

const spool = (size: number) =>
  MediaFiles.use((files) => files.spool(Stream.make(new Uint8Array(size)), size))

const upload = (caller: Caller, size: number, key: string | null = null) =>
  Effect.gen(function* () {
    const directory = yield* MediaDirectory
    const content = yield* spool(size)
    return yield* directory.upload(
      caller,
      { fileName: "a.bin", content },
      key === null ? null : { key, fingerprint: content.sha256 },
    )
  })

/** Storage used, as the store reports it. */
const used = ({ workspaceId }: Caller) =>
  Effect.gen(function* () {
    const store = (yield* Store).media
    const file: Omit<MediaFile, "id"> = {
      workspaceId,
      mode: "live",
      fileName: "",
      type: "file",
      mimeType: "",
      size: 1,
      storageKey: "",
      createdAt: 0,
    }
    const answer = yield* store.reserve(file, -1)
    return answer._tag === "Full" ? answer.used : Number.NaN
  })

const listed = (caller: Caller) =>
  Effect.map(
    MediaDirectory.use((directory) => directory.list(caller, {})),
    ({ items }) => items.map(({ id }) => id),
  )

const sweep = Effect.flatten(makeMediaSweep)

/** Records the keys under which bytes are stored. */
const watching = (stored: Set<string>) => (files: typeof MediaFiles.Service) => ({
  spool: <E>(content: Stream.Stream<Uint8Array, E>, maximumBytes: number) =>
    Effect.map(files.spool(content, maximumBytes), (spooled) => ({
      ...spooled,
      keep: Effect.tap(spooled.keep, () => Effect.sync(() => stored.add(spooled.storageKey))),
    })),
  remove: (storageKey: string) =>
    Effect.tap(files.remove(storageKey), () => Effect.sync(() => stored.delete(storageKey))),
})

describe("an upload", () => {
  it.effect("is refused by a process without a disk, and takes no storage", () =>
    inAWorld(
      Effect.gen(function* () {
        const caller = yield* aCaller
        const error = yield* Effect.flip(upload(caller, 10))
        assert.deepInclude(error, { code: "validation_failed", field: "file" })
        assert.strictEqual(yield* used(caller), 0)
      }),
      { files: () => ({ isRetained: false }) },
    ),
  )

  it.effect("takes no storage and frees its key when its bytes cannot be stored", () => {
    let full = true
    return inAWorld(
      Effect.gen(function* () {
        const caller = yield* aCaller
        const error = yield* Effect.flip(upload(caller, 10, "k"))
        assert.strictEqual(error._tag, "StoreUnavailable")
        assert.strictEqual(yield* used(caller), 0)
        full = false
        const { answer, replayed } = yield* upload(caller, 10, "k")
        assert.isFalse(replayed)
        assert.deepStrictEqual(yield* listed(caller), [answer.id])
      }),
      {
        files: (files) => ({
          spool: (content, maximumBytes) =>
            Effect.map(files.spool(content, maximumBytes), (spooled) => ({
              ...spooled,
              keep: Effect.suspend(() => (full ? Effect.fail(broken) : spooled.keep)),
            })),
        }),
      },
    )
  })

  it.effect("waits when another request took over its key, and leaves nothing behind", () => {
    const stored = new Set<string>()
    return inAWorld(
      Effect.gen(function* () {
        const caller = yield* aCaller
        const error = yield* Effect.flip(upload(caller, 10, "k"))
        assert.strictEqual(error._tag === "Refusal" && error.code, "idempotency_in_progress")
        assert.strictEqual(yield* used(caller), 0)
        assert.deepStrictEqual(yield* listed(caller), [])
        assert.strictEqual(stored.size, 0)
      }),
      {
        files: watching(stored),
        store: () => ({ commit: () => Effect.succeed("idempotency" as const) }),
      },
    )
  })

  const fates: ReadonlyArray<readonly [fate: string, done: boolean]> = [
    ["done", true],
    ["not done", false],
  ]
  it.effect.each(fates)(
    "lets the sweep find out when the store's answer is lost (%s)",
    ([, done]) => {
      const stored = new Set<string>()
      return inAWorld(
        Effect.gen(function* () {
          const caller = yield* aCaller
          const error = yield* Effect.flip(upload(caller, 10))
          assert.strictEqual(error._tag, "StoreUnavailable")
          assert.strictEqual(yield* used(caller), 10)
          yield* sweep
          assert.strictEqual(yield* used(caller), 10)
          yield* TestClock.adjust("61 minutes")
          yield* sweep
          assert.strictEqual(yield* used(caller), done ? 10 : 0)
          assert.strictEqual(stored.size, done ? 1 : 0)
          assert.lengthOf(yield* listed(caller), done ? 1 : 0)
        }),
        {
          files: watching(stored),
          store: (store) => ({
            commit: (id, idempotency, now) =>
              Effect.andThen(
                done ? Effect.asVoid(store.commit(id, idempotency, now)) : Effect.void,
                Effect.fail(unavailable),
              ),
          }),
        },
      )
    },
  )

  it.effect("finishes even if the client hangs up once its body was read", () =>
    Effect.gen(function* () {
      const keeping = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      yield* inAWorld(
        Effect.gen(function* () {
          const caller = yield* aCaller
          const uploading = yield* Effect.forkChild(Effect.scoped(upload(caller, 10, "k")))
          yield* Deferred.await(keeping)
          const interrupting = yield* Effect.forkChild(Fiber.interrupt(uploading))
          yield* Effect.yieldNow
          yield* Deferred.succeed(goOn, undefined)
          yield* Fiber.join(interrupting)
          const [id] = yield* listed(caller)
          assert.isDefined(id)
          const { answer, replayed } = yield* upload(caller, 10, "k")
          assert.deepStrictEqual([answer.id, replayed], [id as MediaId, true])
        }),
        {
          files: (files) => ({
            spool: (content, maximumBytes) =>
              Effect.map(files.spool(content, maximumBytes), (spooled) => ({
                ...spooled,
                keep: Deferred.succeed(keeping, undefined).pipe(
                  Effect.andThen(Deferred.await(goOn)),
                  Effect.andThen(spooled.keep),
                ),
              })),
          }),
        },
      )
    }),
  )
})

describe("a deletion", () => {
  it.effect("succeeds when bytes cannot be removed at once; the sweep removes them", () => {
    let stuck = true
    const stored = new Set<string>()
    return inAWorld(
      Effect.gen(function* () {
        const directory = yield* MediaDirectory
        const caller = yield* aCaller
        const { answer } = yield* upload(caller, 10)
        assert.strictEqual(yield* directory.delete(caller, answer.id), answer.id)
        assert.strictEqual(yield* used(caller), 0)
        assert.strictEqual(stored.size, 1)
        yield* sweep
        assert.strictEqual(stored.size, 1)
        stuck = false
        yield* sweep
        assert.strictEqual(stored.size, 0)
      }),
      {
        files: (files) => {
          const watched = watching(stored)(files)
          return {
            ...watched,
            remove: (storageKey) => (stuck ? Effect.fail(broken) : watched.remove(storageKey)),
          }
        },
      },
    )
  })

  it.effect("is forgotten a day after the upload, when it can no longer be repeated", () =>
    inAWorld(
      Effect.gen(function* () {
        const store = (yield* Store).media
        const directory = yield* MediaDirectory
        const caller = yield* aCaller
        const { id } = (yield* upload(caller, 10, "k")).answer
        yield* directory.delete(caller, id)
        yield* TestClock.adjust("23 hours")
        yield* sweep
        const repeat = yield* upload(caller, 10, "k")
        assert.deepStrictEqual([repeat.answer.id, repeat.replayed], [id, true])
        yield* TestClock.adjust("61 minutes")
        yield* sweep
        assert.isNull(yield* store.find(id))
        assert.isFalse((yield* upload(caller, 10, "k")).replayed)
      }),
    ),
  )
})

describe("the sweep", () => {
  it.effect("removes the files of a deleted workspace, more than one batch", () => {
    const stored = new Set<string>()
    return inAWorld(
      Effect.gen(function* () {
        const { workspaces } = yield* Store
        const [caller, other] = [yield* aCaller, yield* aCaller]
        const unlimited = { ...caller.workspace, plan: unlimitedPlan }
        yield* Effect.replicateEffect(upload({ ...caller, workspace: unlimited }, 1), 250)
        const file = (yield* upload(other, 1)).answer
        yield* workspaces.delete(caller.workspace.id, 0)
        assert.strictEqual(stored.size, 251)
        yield* sweep
        assert.strictEqual(stored.size, 1)
        assert.deepStrictEqual(yield* listed(other), [file.id])
      }),
      { files: watching(stored) },
    )
  })

  it.effect("continues when some files cannot be removed", () => {
    const removed: Array<string> = []
    return inAWorld(
      Effect.gen(function* () {
        const directory = yield* MediaDirectory
        const caller = yield* aCaller
        for (const { answer } of [yield* upload(caller, 1), yield* upload(caller, 2)]) {
          yield* directory.delete(caller, answer.id)
        }
        yield* sweep
        assert.lengthOf(removed, 4)
        assert.lengthOf(new Set(removed), 2)
      }),
      {
        files: () => ({
          remove: (storageKey) => {
            removed.push(storageKey)
            return Effect.fail(broken)
          },
          removeAbandoned: Effect.fail(broken),
        }),
      },
    )
  })
})
