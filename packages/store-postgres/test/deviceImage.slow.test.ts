/** The embedded database on a device of its own, as its image at one moment under load shows it. Linux, as root. */
import { assert, it } from "@effect/vitest"
import { processes, putEmbeddedDatabase } from "@messaging-service/testkit"
import { Effect, Schedule } from "effect"
import { execFile } from "node:child_process"
import { mkdir, rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { findFaults } from "./embedded/things.ts"

const run = promisify(execFile)

const program = join(import.meta.dirname, "embedded/acknowledging.ts")

/** Mounts the file system in a file, until the scope ends. */
const mounted = (file: string, path: string) =>
  Effect.acquireRelease(
    Effect.tryPromise(async () => {
      await mkdir(path, { recursive: true })
      await run("mount", ["-o", "loop", file, path])
      return path
    }),
    () => Effect.promise(() => run("umount", [path])),
  )

/** A device of ext4; why there can be none on this machine. */
const aDevice = Effect.gen(function* () {
  const directory = yield* processes.temporaryDirectory
  const file = join(directory, "device")
  yield* Effect.tryPromise(async () => {
    await run("truncate", ["--size=256M", file])
    await run("mkfs.ext4", ["-q", "-F", file])
  })
  return { directory, file, place: yield* mounted(file, join(directory, "mounted")) }
})

/** Copies what is on the device until nothing has been written to it meanwhile. */
const copyImage = async (file: string, image: string): Promise<void> => {
  for (;;) {
    await run("cp", ["--sparse=always", file, image])
    const isSame = await run("cmp", ["--silent", file, image]).then(
      () => true,
      () => false,
    )
    if (isSame) return
  }
}

it.live(
  "ten images of the device at one moment under load lose nothing that was acknowledged",
  () =>
    Effect.gen(function* () {
      const device = yield* aDevice.pipe(
        Effect.catch(({ cause }) =>
          Effect.as(
            Effect.logWarning(`not tried, since no loop device can be made here: ${String(cause)}`),
            null,
          ),
        ),
      )
      if (device === null) return
      const dataDir = join(device.place, "db")
      yield* putEmbeddedDatabase(
        createRequire(import.meta.url).resolve("@electric-sql/pglite"),
        dataDir,
      )
      const working = yield* processes.start(program, {}, [dataDir])
      const acknowledged = Effect.map(
        working.stdout,
        (text) => new Set(text.split("\n").slice(0, -1).map(Number)),
      )
      for (let taken = 0; taken < 10; taken++) {
        const before = (yield* acknowledged).size
        const hasWorked = Effect.map(acknowledged, ({ size }) =>
          size >= before + 50 ? true : undefined,
        )
        const ended = Effect.flatMap(working.ended, ({ stderr }) => Effect.die(stderr))
        const worked = processes.waitUntil("there is more", hasWorked, Schedule.spaced(7))
        yield* Effect.raceFirst(worked, ended)
        yield* working.freeze
        const known = yield* acknowledged
        const image = join(device.directory, "image")
        yield* Effect.promise(() => copyImage(device.file, image))
        yield* working.thaw
        const faults = yield* Effect.scoped(
          Effect.gen(function* () {
            const path = yield* mounted(image, join(device.directory, "found"))
            return yield* Effect.promise(() => findFaults(join(path, "db"), known))
          }),
        )
        assert.deepStrictEqual(faults, [], `image ${taken}`)
        yield* Effect.promise(() => rm(image))
      }
      yield* working.kill
    }),
)
