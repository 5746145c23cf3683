/** The disk that the service of a test keeps its media files on. */
import { layerDiskMediaFiles } from "@messaging-service/node"
import { Context, Effect, Layer } from "effect"
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The directory in which the suite's media files are. */
export class Disk extends Context.Service<
  Disk,
  {
    readonly directory: string
    /** Names of the files that are kept, and of those under way. */
    readonly files: Effect.Effect<{
      readonly kept: ReadonlyArray<string>
      readonly temporary: ReadonlyArray<string>
    }>
    /** Bytes that the disk says it has free; null for plenty. */
    readonly says: { free: number | null; whole: number }
    /** How often it was asked. */
    readonly looks: { count: number }
    /** Bytes of the files under way. */
    readonly spooledBytes: Effect.Effect<number>
  }
>()("test/Disk") {}

/** Media files on a disk, in a directory that goes with the suite. */
export const layerDisk = Layer.unwrap(
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "media-"))),
      (made) => Effect.promise(() => rm(made, { recursive: true })),
    )
    const list = (name: string) => Effect.promise(() => readdir(join(directory, name)))
    const sizeOf = (name: string) =>
      Effect.promise(() =>
        stat(join(directory, "temporary", name)).then(
          ({ size }) => size,
          () => 0,
        ),
      )
    const says: { free: number | null; whole: number } = { free: null, whole: 2 ** 40 }
    const looks = { count: 0 }
    const lookAtDisk = () => {
      looks.count++
      return Promise.resolve({ free: says.free ?? says.whole, whole: says.whole })
    }
    return Layer.merge(
      Layer.orDie(layerDiskMediaFiles({ directory, lookAtDisk })),
      Layer.succeed(Disk, {
        directory,
        says,
        looks,
        files: Effect.all({ kept: list("files"), temporary: list("temporary") }),
        spooledBytes: Effect.map(
          Effect.flatMap(list("temporary"), (names) => Effect.forEach(names, sizeOf)),
          (sizes) => sizes.reduce((sum, size) => sum + size, 0),
        ),
      }),
    )
  }),
)
