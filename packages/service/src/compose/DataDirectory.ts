/**
 * The directory that a process keeps its data in (`DATA_DIR`; contract: Configuration): the
 * embedded database, media files and the operator token.
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

/** What is kept is for the service's own user alone. */
const directoryPermissions = 0o700
const filePermissions = 0o600

/** The bits of a mode that let other users in. */
const forOthers = 0o077

/** A line that says what the directory is or does. */
const directoryFault = (what: string) =>
  new SettingFault("DATA_DIR", ({ DATA_DIR }) => `${DATA_DIR} ${what}`)

/** Fails with a line that says what is wrong with the directory, and why. */
const onDisk = <A>(complaint: string, operation: () => Promise<A>) =>
  Effect.tryPromise({
    try: operation,
    catch: (cause) => directoryFault(`${complaint}: ${briefly(cause)}`),
  })

const unwritable = "cannot be written to"

/** How the names of directories begin that are of no use to any other process. */
const passing = "passing-"

/** What of a mode lets other users write. */
const writingOfOthers = 0o022

/** What the service keeps there, with the files in which secrets are written before they have their name. */
const ownName =
  /^(?:db(?:\.(?:lock|exclusive))?|media|passing-.*|lock(?:-.*)?|(?:secrets-key|operator-token|example-[\w-]+-key(?:\.memory)?)(?:\.[\da-f]+)?)$/

/** Closes what is open to others, all that is below too; what links lead to is left as it is. */
const closeToOthers = async (path: string, change: typeof chmod): Promise<void> => {
  const found = await lstat(path)
  const isDirectory = found.isDirectory()
  if (!isDirectory && !found.isFile()) return
  if ((found.mode & forOthers) !== 0) {
    await change(path, isDirectory ? directoryPermissions : filePermissions)
  }
  if (!isDirectory) return
  for (const name of await readdir(path)) {
    await unlessGone(closeToOthers(join(path, name), change))
  }
}

/**
 * The same with what is the service's own alone, where something else stands beside it. Then other users
 * may go on to read in the directory, but to write in it they could put files of theirs in its place.
 */
const closeOwn = async (directory: string, change: typeof chmod): Promise<void> => {
  const names = await readdir(directory)
  const own = names.filter((name) => ownName.test(name))
  if (own.length === names.length) return closeToOthers(directory, change)
  for (const name of own) await unlessGone(closeToOthers(join(directory, name), change))
  const { mode } = await lstat(directory)
  if ((mode & writingOfOthers) !== 0) await change(directory, mode & 0o7777 & ~writingOfOthers)
}

/** Other processes may remove files of theirs meanwhile. */
const unlessGone = (done: Promise<void>): Promise<void> =>
  done.catch((cause: unknown) => {
    if (!hasCode(cause, "ENOENT")) throw cause
  })

const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && "code" in cause && cause.code === code

/** Whether something is there; fails where that cannot be known. */
const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (cause: unknown) => {
      if (hasCode(cause, "ENOENT")) return false
      throw cause
    },
  )

/**
 * Makes the directory and those above it that are missing, one by one: Node's own `recursive` tries without
 * end where the file system lets nothing be made, as below `/proc`.
 */
const makeDirectory = async (directory: string): Promise<void> => {
  const missing: Array<string> = []
  for (let at = directory; !(await isThere(at)); at = dirname(at)) missing.push(at)
  for (const each of missing.toReversed()) {
    // Another process may make it at the same time.
    await mkdir(each, { mode: directoryPermissions }).catch((cause: unknown) => {
      if (!hasCode(cause, "EEXIST")) throw cause
    })
  }
  if (!(await stat(directory)).isDirectory()) throw new Error("it is not a directory")
}

/**
 * Makes the directory, unless it is there, and sees to it that it can be written to, and that the
 * service's own user alone can read what the service keeps in it: it may have stood open to others
 * before, with the files in it. What is not the service's stays as it is.
 */
export const openDataDirectory = (directory: string): Effect.Effect<void, CannotStart> =>
  Effect.andThen(
    onDisk(unwritable, async () => {
      await makeDirectory(directory)
      await access(directory, constants.W_OK | constants.X_OK)
      // Rights are not enough everywhere: root has all of them, also where nothing can be made.
      await rmdir(await mkdtemp(join(directory, passing)))
    }),
    restrictDataDirectory(directory),
  )

/**
 * Closes what the service keeps in the directory to other users, and the directory itself where it holds
 * nothing else. The embedded database gives its files
 * modes of its own whatever the umask, so this is needed once more when it has made them.
 */
export const restrictDataDirectory = (
  directory: string,
  change: typeof chmod = chmod,
): Effect.Effect<void, CannotStart> =>
  onDisk("is open to other users and cannot be closed to them", async () =>
    closeOwn(await realpath(directory), change),
  )

/** A new directory below, for what is of no use to any other process; it goes with the scope. */
export const temporaryDirectory = (
  directory: string,
): Effect.Effect<string, CannotStart, Scope.Scope> =>
  Effect.acquireRelease(
    onDisk(unwritable, () => mkdtemp(join(directory, passing))),
    (made) => Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
  )

/** Those that this process holds, without links: the lock does not tell which process has it. */
const heldHere = new Set<string>()

/**
 * Holds the directory against other processes, and other services of this one, until the scope closes;
 * fails when it is held. The embedded database has no protection of its own: two processes would ruin it.
 *
 * SQLite serves only for its lock, which is one of the operating system. It goes with the process,
 * however that ends, so that nothing stale can be in the way of a restart; it is not fooled by
 * process ids that are used again; and containers that share a directory see it too.
 */
export const lockDirectory = (directory: string): Effect.Effect<void, CannotStart, Scope.Scope> =>
  Effect.gen(function* () {
    const place = yield* onDisk(unlockable, () => realpath(directory))
    yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          // Loaded here alone: Node 22 calls it experimental each time that it is loaded.
          const { DatabaseSync } = await import("node:sqlite")
          const lock = new DatabaseSync(join(directory, "lock"))
          lock.exec("pragma locking_mode = exclusive; begin exclusive")
          heldHere.add(place)
          return lock
        },
        catch: (cause) => {
          if (isOfFullDisk(cause)) return noRoomForData()
          return directoryFault(
            isBusy(cause)
              ? `is in use by ${heldHere.has(place) ? "another service of this process" : "another process"}: ${directory}`
              : `${unlockable}: ${briefly(cause)}`,
          )
        },
      }),
      (lock) =>
        Effect.sync(() => {
          heldHere.delete(place)
          lock.close()
        }),
    )
  })

const unlockable = "cannot be locked"

/** SQLite's code for a lock that another process holds. */
const busy = 5

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === busy

/** For the service's own user alone. */
const permissions = 0o600

/**
 * A kind of secret that the service generates when none is configured, kept in a file of the data
 * directory that the service's own user alone may read (contract: Configuration).
 */
export interface SecretKind {
  /** The file's name in the data directory. */
  readonly name: string
  /** In lines about it: "operator token". */
  readonly what: string
  /** A new one. */
  make(ids: typeof Ids.Service): string
  /** Whether the service can work with the text in the file. */
  isUsable(text: string): boolean
  /** What to do about a file that holds none: "remove it to have a new one made". */
  mend(names: SettingNames): string
}

interface KeptSecret {
  readonly secret: Redacted.Redacted
  /** The file it is kept in. */
  readonly file: string
  /** Whether it was generated just now. */
  readonly isNew: boolean
}

/** The kept secret; generated when there is none. The same for all processes, whichever is first. */
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

/** Keeps a secret that was made elsewhere, in place of the one before; returns its file. */
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

/** Runs an operation on the disk; gives undefined when that fails with the given code. */
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
 * Writes the secret safely on the disk under another name, and lets `appear` give it its own: linking
 * fails where the name is taken, renaming replaces.
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
