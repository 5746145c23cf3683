/**
 * Files that take long to create and are always the same. The first test on a machine that needs
 * them creates them in the directory for temporary files, and every later run finds them there.
 */
import { Effect } from "effect"
import { createRequire } from "node:module"
import { chmod, cp, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

/** In a directory that everyone may write to, trust only our own files. */
const isOurs = (path: string) =>
  Effect.promise(() =>
    stat(path).then(
      ({ uid }) => uid === process.getuid?.(),
      () => false,
    ),
  )

/**
 * The directory of that name, which `make` fills if it does not exist; a rename makes it appear
 * complete or not at all. The name contains the version of the files.
 */
export const makeOnce = Effect.fnUntraced(function* <E>(
  name: string,
  make: (directory: string) => Effect.Effect<unknown, E>,
) {
  const shared = join(tmpdir(), name)
  if (yield* isOurs(shared)) return shared
  const creating = yield* Effect.promise(() => mkdtemp(`${shared}-`))
  const remove = Effect.promise(() => rm(creating, { recursive: true, force: true }))
  yield* Effect.onError(make(creating), () => remove)
  // `mkdtemp` creates a directory that only its owner enters.
  yield* Effect.promise(() => chmod(creating, 0o755))
  const isFirst = yield* Effect.promise(() =>
    rename(creating, shared).then(
      () => true,
      () => false,
    ),
  )
  // Another process may have been faster, and its files are as good.
  if (!isFirst && !(yield* isOurs(shared))) return creating
  if (!isFirst) yield* remove
  return shared
})

/** Version of the package with its `package.json` in that directory. */
export const versionIn = (directory: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const manifest = await readFile(join(directory, "package.json"), "utf8")
    const { version } = JSON.parse(manifest) as { readonly version: string }
    return version
  })

/**
 * Puts a new, empty database of PGlite into `directory`, which must not exist: opening it there takes a sixth
 * of the time of creating one. `pglite` is the package's path, from `require.resolve`.
 */
export const putEmbeddedDatabase = Effect.fnUntraced(function* (pglite: string, directory: string) {
  const installed = dirname(pglite)
  const version = yield* versionIn(join(installed, ".."))
  const created = yield* makeOnce(`embedded-pglite-${version}-database`, (creating) =>
    Effect.promise(async () => {
      const { PGlite } = await import(pathToFileURL(join(installed, "index.js")).href)
      const database = await PGlite.create(join(creating, "data"))
      await database.close()
    }),
  )
  yield* Effect.promise(() => cp(join(created, "data"), directory, { recursive: true }))
})

/**
 * Puts such a database into the data directory of a service, for tests that are not about its first
 * start. The package of that manifest depends on PGlite.
 */
export const putDataDirectory = (manifest: string, directory: string) =>
  putEmbeddedDatabase(
    createRequire(manifest).resolve("@electric-sql/pglite"),
    join(directory, "db"),
  )
