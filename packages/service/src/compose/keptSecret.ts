/**
 * Secrets that the service generates when none is configured, each in a file of the data directory
 * that the service's own user alone may read (contract: Configuration).
 */
import { Ids } from "@messaging-service/core"
import { CannotStart, briefly } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** For the service's own user alone. */
const permissions = 0o600

/** One kind of secret. */
export interface SecretKind {
  /** The file's name in the data directory. */
  readonly name: string
  /** In lines about it: "operator token". */
  readonly what: string
  /** A new one. */
  make(ids: typeof Ids.Service): string
  /** Whether the service can work with what stands in the file. */
  isUsable(text: string): boolean
  /** What to do about a file that holds none: "remove it to have a new one made". */
  readonly mend: string
}

export interface KeptSecret {
  readonly secret: Redacted.Redacted
  /** The file it is kept in. */
  readonly file: string
  /** Whether it was generated just now. */
  readonly isNew: boolean
}

/** The kept secret; generated when there is none. The same for all processes, whichever is first. */
export const keptSecret = /*#__PURE__*/ Effect.fnUntraced(function* (
  dataDirectory: string,
  kind: SecretKind,
): Effect.fn.Return<KeptSecret, CannotStart, Ids> {
  const ids = yield* Ids
  const file = join(dataDirectory, kind.name)
  const present = yield* read(kind, file)
  if (present !== undefined) return yield* usable(kind, file, present)
  const secret = kind.make(ids)
  const made = yield* placed(kind, file, ids, secret, (temporary) =>
    unless(kind, "EEXIST", () => link(temporary, file).then(() => true)),
  )
  return made === true
    ? { secret: Redacted.make(secret), file, isNew: true }
    : yield* usable(kind, file, (yield* read(kind, file)) ?? "")
})

/** Keeps a secret that was made elsewhere, in place of the one before; returns its file. */
export const keepSecret = /*#__PURE__*/ Effect.fnUntraced(function* (
  dataDirectory: string,
  kind: Pick<SecretKind, "name" | "what">,
  secret: string,
): Effect.fn.Return<string, CannotStart, Ids> {
  const file = join(dataDirectory, kind.name)
  yield* placed(kind, file, yield* Ids, secret, (temporary) =>
    unless(kind, "", () => rename(temporary, file)),
  )
  return file
})

const usable = ({ isUsable, mend, what }: SecretKind, file: string, text: string) => {
  const secret = text.trim()
  return isUsable(secret)
    ? Effect.succeed({ secret: Redacted.make(secret), file, isNew: false })
    : Effect.fail(
        new CannotStart({ message: `DATA_DIR holds no usable ${what} in ${file}: ${mend}` }),
      )
}

/** Runs an operation on the disk; gives undefined when that fails with the given code. */
const unless = <A>(
  { what }: Pick<SecretKind, "what">,
  code: string,
  operation: () => Promise<A>,
): Effect.Effect<A | undefined, CannotStart> =>
  Effect.tryPromise({
    try: () =>
      operation().catch((error: NodeJS.ErrnoException) =>
        error.code === code ? undefined : Promise.reject(error),
      ),
    catch: (cause) =>
      new CannotStart({ message: `DATA_DIR cannot keep the ${what}: ${briefly(cause)}` }),
  })

const read = (kind: SecretKind, file: string) =>
  unless(kind, "ENOENT", () => readFile(file, "utf8"))

/**
 * Writes the secret safely on the disk beside its file, and lets `appear` put it there whole: linking
 * fails where the name is taken, renaming replaces.
 */
const placed = <A>(
  kind: Pick<SecretKind, "what">,
  file: string,
  ids: typeof Ids.Service,
  secret: string,
  appear: (temporary: string) => Effect.Effect<A, CannotStart>,
) => {
  const temporary = `${file}.${ids.hex(16)}`
  return unless(kind, "", () =>
    writeFile(temporary, `${secret}\n`, { flag: "wx", mode: permissions, flush: true }),
  ).pipe(
    Effect.andThen(appear(temporary)),
    Effect.ensuring(Effect.ignore(unless(kind, "", () => rm(temporary, { force: true })))),
  )
}
