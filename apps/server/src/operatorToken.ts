/**
 * The operator's token when none is configured: generated on the first start and kept in the data
 * directory (operator API: `OPERATOR_TOKEN`).
 */
import { Ids } from "@messaging-service/core"
import { CannotStart, briefly } from "@messaging-service/runtime"
import { Effect, Redacted } from "effect"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** Letters and digits: some 238 bits. */
const tokenLength = 40

/** For the service's own user alone. */
const permissions = 0o600

export interface KeptToken {
  readonly token: Redacted.Redacted
  /** The file it is kept in. */
  readonly file: string
  /** Whether it was generated just now. */
  readonly isNew: boolean
}

/** The kept token; generated when there is none. The same for all processes, whichever is first. */
export const keptOperatorToken = Effect.fnUntraced(function* (
  dataDirectory: string,
): Effect.fn.Return<KeptToken, CannotStart, Ids> {
  const ids = yield* Ids
  const file = join(dataDirectory, "operator-token")
  const present = yield* read(file)
  if (present !== undefined) return yield* usable(file, present)
  const token = ids.alphanumeric(tokenLength)
  const made = yield* create(file, `${file}.${ids.hex(16)}`, `${token}\n`)
  return made
    ? { token: Redacted.make(token), file, isNew: true }
    : yield* usable(file, (yield* read(file)) ?? "")
})

/** Whether a header can carry it as it stands. */
export const isToken = (text: string): boolean => /^[!-~](?:[ -~]*[!-~])?$/.test(text)

const usable = (file: string, text: string) => {
  const token = text.trim()
  return isToken(token)
    ? Effect.succeed({ token: Redacted.make(token), file, isNew: false })
    : Effect.fail(
        new CannotStart({
          message: `DATA_DIR holds no usable token in ${file}: remove it to have a new one made`,
        }),
      )
}

/** An operation on the disk; undefined when it fails with that code. */
const unless = <A>(code: string, operation: () => Promise<A>) =>
  Effect.tryPromise({
    try: () =>
      operation().catch((error: NodeJS.ErrnoException) =>
        error.code === code ? undefined : Promise.reject(error),
      ),
    catch: (cause) =>
      new CannotStart({ message: `DATA_DIR cannot keep the operator token: ${briefly(cause)}` }),
  })

const read = (file: string) => unless("ENOENT", () => readFile(file, "utf8"))

/**
 * Writes a file, whole and safely on the disk, unless it is there: then false. Linking makes it
 * appear at once, and fails where the name is taken.
 */
const create = (file: string, temporary: string, text: string) =>
  unless("", () => writeFile(temporary, text, { flag: "wx", mode: permissions, flush: true })).pipe(
    Effect.andThen(unless("EEXIST", () => link(temporary, file).then(() => true))),
    Effect.ensuring(Effect.ignore(unless("", () => rm(temporary, { force: true })))),
    Effect.map((linked) => linked ?? false),
  )
