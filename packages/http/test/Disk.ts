/** The disk for a test service's media files. */
import { layerDiskMediaFiles } from "@messaging-service/node"
import { Context, Effect, Layer } from "effect"
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The directory of the suite's media files. */
export class Disk extends Context.Service<
  Disk,
  {
    readonly directory: string
    /** Names of stored files and of temporary ones. */
    readonly files: Effect.Effect<{
      readonly kept: ReadonlyArray<string>
      readonly temporary: ReadonlyArray<string>
    }>
    /** The free bytes that the disk reports; null for plenty. */
    readonly says: { free: number | null; whole: number }
    /** How often it was read. */
    readonly looks: { count: number }
    /** Bytes of the temporary files. */
    readonly spooledBytes: Effect.Effect<number>
  }
>()("test/Disk") {}

/** Media files on a disk, in a directory removed with the suite. */
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
