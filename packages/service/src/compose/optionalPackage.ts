/** Packages that need not be installed: each is loaded where it is chosen, and missed in one clear line. */
import { CannotStart } from "@messaging-service/node"
import { Data, Effect } from "effect"

/** What the embedded database is called where its package is missing: no variable names that choice. */
export const embeddedDatabase = "the embedded database"

/** Codes of Node for a module that is not there. */
const missing = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]

class NotLoaded extends Data.TaggedError("NotLoaded")<{ readonly cause: unknown }> {}

const isMissing = (name: string, cause: unknown): boolean =>
  cause instanceof Error &&
  cause.message.includes(name) &&
  "code" in cause &&
  missing.includes(String(cause.code))

/** Loads a module of a package that `choice` needs. Fails with the line that says what to install. */
export const optionalPackage = <Module>(
  name: string,
  choice: string,
  load: () => Promise<Module>,
): Effect.Effect<Module, CannotStart> =>
  Effect.tryPromise({ try: load, catch: (cause) => new NotLoaded({ cause }) }).pipe(
    Effect.catchTag("NotLoaded", ({ cause }) =>
      isMissing(name, cause)
        ? Effect.fail(
            new CannotStart({
              message: `${choice} needs the package ${name}, which is not installed: npm install ${name}`,
            }),
          )
        : Effect.die(cause),
    ),
  )
