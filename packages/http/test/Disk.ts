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
      readonly stored: ReadonlyArray<string>
      readonly temporary: ReadonlyArray<string>
    }>
    /** The free bytes that the disk reports; null for plenty. */
    readonly reports: { free: number | null; whole: number }
    /** How often it was read. */
    readonly checks: { count: number }
    /** Bytes of the temporary files. */
    readonly spooledBytes: Effect.Effect<number>
  }
>()("test/Disk") {}

/** Media files on a disk, in a directory removed with the suite. */
export const layerDisk = Layer.unwrap(
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "media-"))),
      (created) => Effect.promise(() => rm(created, { recursive: true })),
    )
    const list = (name: string) => Effect.promise(() => readdir(join(directory, name)))
    const readSize = (name: string) =>
      Effect.promise(() =>
        stat(join(directory, "temporary", name)).then(
          ({ size }) => size,
          () => 0,
        ),
      )
    const reports: { free: number | null; whole: number } = { free: null, whole: 2 ** 40 }
    const checks = { count: 0 }
    const checkDisk = () => {
      checks.count++
      return Promise.resolve({ free: reports.free ?? reports.whole, whole: reports.whole })
    }
    return Layer.merge(
      Layer.orDie(layerDiskMediaFiles({ directory, checkDisk })),
      Layer.succeed(Disk, {
        directory,
        reports,
        checks,
        files: Effect.all({ stored: list("files"), temporary: list("temporary") }),
        spooledBytes: Effect.map(
          Effect.flatMap(list("temporary"), (names) => Effect.forEach(names, readSize)),
          (sizes) => sizes.reduce((sum, size) => sum + size, 0),
        ),
      }),
    )
  }),
)
