/**
 * Data directory of a process (`DATA_DIR`; contract: Configuration): the embedded database, media
 * files and the operator token.
 */
import { constants } from "node:fs"
import {
  access,
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises"
import { dirname, join } from "node:path"
import { Ids } from "@messaging-service/core"
import { briefly, CannotStart } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { isOfFullDisk, noRoomForData, SettingFault } from "./startFaults.ts"
import type { SettingNames } from "./startFaults.ts"

/** Only the service's own user may read the files. */
const directoryPermissions = 0o700
const filePermissions = 0o600

/** Mode bits that give other users access. */
const forOthers = 0o077

/** Media files of a store that outlives the process. */
export const mediaDirectory = (dataDirectory: string): string => join(dataDirectory, "media")

/** Describes the directory in a log line. */
const directoryFault = (what: string) => new SettingFault("DATA_DIR", ofDirectory(what))

const ofDirectory =
  (what: string) =>
  ({ DATA_DIR }: SettingNames): string =>
    `${DATA_DIR} ${what}`

/** Another service has the directory's lock. */
export class DirectoryInUse extends SettingFault {
  constructor(directory: string, by: string) {
    super("DATA_DIR", ofDirectory(`is in use by ${by}: ${directory}`))
  }
}

/** Fails with a line that names the problem with the directory, and its reason. */
const onDisk = <A>(complaint: string, operation: () => Promise<A>) =>
  Effect.tryPromise({
    try: operation,
    catch: (cause) => directoryFault(`${complaint}: ${briefly(cause)}`),
  })

const unwritable = "cannot be written to"

/** Name prefix of directories that no other process uses. */
const passing = "passing-"

/** Mode bits that let other users write. */
const writingOfOthers = 0o022

/** Files and directories of the service, including the temporary names of secrets. */
const ownName =
  /^(?:db(?:\.(?:lock|exclusive))?|media|passing-.*|lock(?:-.*)?|(?:secrets-key|operator-token|example-[\w-]+-key(?:\.memory)?)(?:\.[\da-f]+)?)$/

/** Closes everything open to others, and everything below it. It does not follow links. */
const closeToOthers = async (path: string, change: typeof chmod): Promise<void> => {
  const found = await lstat(path)
  const isDirectory = found.isDirectory()
  if (!isDirectory && !found.isFile()) return
  if ((found.mode & forOthers) !== 0) {
    await change(path, isDirectory ? directoryPermissions : filePermissions)
  }
  if (!isDirectory) return
  for (const name of await readdir(path)) {
    await ignoreMissing(closeToOthers(join(path, name), change))
  }
}

/**
 * Closes only the service's own files, when the directory holds other files too. Other users may then
 * still read the directory, but not write in it: they could replace the service's files.
 */
const closeOwn = async (directory: string, change: typeof chmod): Promise<void> => {
  const names = await readdir(directory)
  const own = names.filter((name) => ownName.test(name))
  if (own.length === names.length) return closeToOthers(directory, change)
  for (const name of own) await ignoreMissing(closeToOthers(join(directory, name), change))
  const { mode } = await lstat(directory)
  if ((mode & writingOfOthers) !== 0) await change(directory, mode & 0o7777 & ~writingOfOthers)
}

/** Other processes may remove their files meanwhile. */
const ignoreMissing = (done: Promise<void>): Promise<void> =>
  done.catch((cause: unknown) => {
    if (!hasCode(cause, "ENOENT")) throw cause
  })

const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && "code" in cause && cause.code === code

/** Whether the path exists; fails when that is unknown. */
const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (cause: unknown) => {
      if (hasCode(cause, "ENOENT")) return false
      throw cause
    },
  )

/**
 * Creates the directory and its missing parents one by one. Node's own `recursive` retries endlessly
 * where the file system refuses, as below `/proc`.
 */
const makeDirectory = async (directory: string): Promise<void> => {
  const missing: Array<string> = []
  for (let at = directory; !(await isThere(at)); at = dirname(at)) missing.push(at)
  for (const each of missing.toReversed()) {
    // Another process may create it at the same time.
    await mkdir(each, { mode: directoryPermissions }).catch((cause: unknown) => {
      if (!hasCode(cause, "EEXIST")) throw cause
    })
  }
  if (!(await stat(directory)).isDirectory()) throw new Error("it is not a directory")
}

/**
 * Creates the directory when it is missing and checks that it is writable. Closes the service's own
 * files to other users, because the directory may have been open before. Leaves all other files alone.
 */
export const openDataDirectory = (directory: string): Effect.Effect<void, CannotStart> =>
  Effect.andThen(
    onDisk(unwritable, async () => {
      await makeDirectory(directory)
      await access(directory, constants.W_OK | constants.X_OK)
      // Permissions are not enough everywhere: root has all of them, even where it can create nothing.
      await rmdir(await mkdtemp(join(directory, passing)))
    }),
    restrictDataDirectory(directory),
  )

/**
 * Closes the service's files in the directory to other users, and the directory itself when it holds
 * nothing else. The embedded database ignores the umask when it creates files, so call this again
 * afterwards.
 */
export const restrictDataDirectory = (
  directory: string,
  change: typeof chmod = chmod,
): Effect.Effect<void, CannotStart> =>
  onDisk("is open to other users and cannot be closed to them", async () =>
    closeOwn(await realpath(directory), change),
  )

/** Creates a directory below that only this process uses; the scope removes it. */
export const temporaryDirectory = (
  directory: string,
): Effect.Effect<string, CannotStart, Scope.Scope> =>
  Effect.acquireRelease(
    onDisk(unwritable, () => mkdtemp(join(directory, passing))),
    (made) => Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
  )

/**
 * Real paths of the directories that this process holds. The lock does not tell which process has it.
 */
const ownedHere = new Set<string>()

/**
 * Locks the directory against other processes, and other services of this one, until the scope closes.
 * Fails when another one holds it. The embedded database does not protect itself: two processes would
 * corrupt it.
 *
 * SQLite serves only for its lock, which belongs to the operating system. The lock ends with the
 * process, however that ends, so no stale lock blocks a restart. It does not depend on process ids,
 * which the system reuses. Containers that share a directory see it too.
 */
export const lockDirectory = (directory: string): Effect.Effect<void, CannotStart, Scope.Scope> =>
  Effect.gen(function* () {
    const path = yield* onDisk(unlockable, () => realpath(directory))
    yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          // Loaded only here: Node 22 prints an experimental warning at each load.
          const { DatabaseSync } = await import("node:sqlite")
          const lock = new DatabaseSync(join(directory, "lock"))
          lock.exec("pragma locking_mode = exclusive; begin exclusive")
          ownedHere.add(path)
          return lock
        },
        catch: (cause) => {
          if (isOfFullDisk(cause)) return noRoomForData()
          if (!isBusy(cause)) return directoryFault(`${unlockable}: ${briefly(cause)}`)
          return new DirectoryInUse(
            directory,
            ownedHere.has(path) ? "another service of this process" : "another process",
          )
        },
      }),
      (lock) =>
        Effect.sync(() => {
          ownedHere.delete(path)
          lock.close()
        }),
    )
  })

const unlockable = "cannot be locked"

/** SQLite's code for a lock that another process holds. */
const busy = 5

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === busy

/** Only the service's own user may access it. */
const permissions = 0o600

/**
 * A kind of secret that the service generates when the configuration has none. It keeps the secret in
 * a file that only its own user may read (contract: Configuration).
 */
export interface SecretKind {
  /** The file's name in the data directory. */
  readonly name: string
  /** Name in log lines: "operator token". */
  readonly what: string
  /** Generates a new one. */
  make(ids: typeof Ids.Service): string
  /** Whether the file's text is a usable secret. */
  isUsable(text: string): boolean
  /** What to do about a file without one: "remove it to generate a new one". */
  mend(names: SettingNames): string
}

interface KeptSecret {
  readonly secret: Redacted.Redacted
  /** Path of the file. */
  readonly file: string
  /** Whether this start generated it. */
  readonly isNew: boolean
}

/** Returns the stored secret, or generates it. All processes get the same one, whichever is first. */
export const loadOrMakeSecret = /*#__PURE__*/ Effect.fnUntraced(function* (
  dataDirectory: string,
  kind: SecretKind,
): Effect.fn.Return<KeptSecret, CannotStart, Ids> {
  const ids = yield* Ids
  const file = join(dataDirectory, kind.name)
  const present = yield* read(kind, file)
  if (present !== undefined) return yield* usable(kind, file, present)
  const secret = kind.make(ids)
  const made = yield* writeAtomically(kind, file, ids, secret, (temporary) =>
    exceptCode(kind, "EEXIST", () => link(temporary, file).then(() => true)),
  )
  return made === true
    ? { secret: Redacted.make(secret), file, isNew: true }
    : yield* usable(kind, file, (yield* read(kind, file)) ?? "")
})

/** Replaces the stored secret with a given one; returns its file. */
export const storeSecret = /*#__PURE__*/ Effect.fnUntraced(function* (
  dataDirectory: string,
  kind: Pick<SecretKind, "name" | "what">,
  secret: string,
): Effect.fn.Return<string, CannotStart, Ids> {
  const file = join(dataDirectory, kind.name)
  yield* writeAtomically(kind, file, yield* Ids, secret, (temporary) =>
    exceptCode(kind, "", () => rename(temporary, file)),
  )
  return file
})

const usable = ({ isUsable, mend, what }: SecretKind, file: string, text: string) => {
  const secret = text.trim()
  return isUsable(secret)
    ? Effect.succeed({ secret: Redacted.make(secret), file, isNew: false })
    : Effect.fail(
        new SettingFault(
          "DATA_DIR",
          (names) => `${names.DATA_DIR} holds no usable ${what} in ${file}: ${mend(names)}`,
        ),
      )
}

/** Runs a disk operation; returns undefined when it fails with the given code. */
const exceptCode = <A>(
  { what }: Pick<SecretKind, "what">,
  code: string,
  operation: () => Promise<A>,
): Effect.Effect<A | undefined, CannotStart> =>
  Effect.tryPromise({
    try: () =>
      operation().catch((error: NodeJS.ErrnoException) =>
        error.code === code ? undefined : Promise.reject(error),
      ),
    catch: (cause) => directoryFault(`cannot keep the ${what}: ${briefly(cause)}`),
  })

const read = (kind: SecretKind, file: string) =>
  exceptCode(kind, "ENOENT", () => readFile(file, "utf8"))

/**
 * Writes the secret durably under another name, then lets `appear` name it: linking fails when the
 * name exists, renaming replaces.
 */
const writeAtomically = <A>(
  kind: Pick<SecretKind, "what">,
  file: string,
  ids: typeof Ids.Service,
  secret: string,
  appear: (temporary: string) => Effect.Effect<A, CannotStart>,
) => {
  const temporary = `${file}.${ids.hex(16)}`
  return exceptCode(kind, "", () =>
    writeFile(temporary, `${secret}\n`, { flag: "wx", mode: permissions, flush: true }),
  ).pipe(
    Effect.andThen(appear(temporary)),
    Effect.ensuring(Effect.ignore(exceptCode(kind, "", () => rm(temporary, { force: true })))),
  )
}
