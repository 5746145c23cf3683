/**
 * Errors of a transport's library that no caller receives, such as one thrown in a timer. Unguarded,
 * each would end the process with all of its numbers; guarded, it closes the connection that it
 * belongs to.
 */
import { Context, Effect } from "effect"
import { logThrottled } from "./logThrottled.ts"
import { countLibraryFault } from "../store/Metrics.ts"
import type { Platform } from "../model/SendingNumber.ts"

/** Runs the library's work for one connection, and whatever that work starts. */
export type RunGuarded = <A>(work: () => A) => A

/** How a process receives such errors. Default: it does not, and they end it. */
export const LibraryGuard = /*#__PURE__*/ Context.Reference<{
  /**
   * Passes errors from guarded work to `onFault`, if they are the library's. The program's own code
   * can start from guarded work too, so `isItsOwn` must know the library's errors by themselves.
   */
  readonly watch: (
    isItsOwn: (error: Error) => boolean,
    onFault: (error: Error) => void,
  ) => RunGuarded
}>("core/LibraryGuard", { defaultValue: () => ({ watch: () => (work) => work() }) })

/** Whether the stack names one of these packages, or the file at `url`, which has them in a bundle. */
export const isFrom =
  (packages: ReadonlyArray<string>, url: string) =>
  ({ stack = "" }: Error): boolean =>
    stack.includes(url) ||
    packages.some((name) => new RegExp(`node_modules[\\\\/]${name}[\\\\/]`).test(stack))

/** Where it was thrown. Its message stays out of the log: it may name a phone. */
const firstFrame = ({ name, stack = "" }: Error): string => /^ +at (.*)$/m.exec(stack)?.[1] ?? name

/** Guards one connection, or other work of a library; an error that no caller receives calls `end`. */
export const guardLibrary = Effect.fnUntraced(function* guardLibrary(
  platform: Platform,
  isItsOwn: (error: Error) => boolean,
  end: (error: Error) => void,
): Effect.fn.Return<RunGuarded> {
  const { watch } = yield* LibraryGuard
  const run = Effect.runForkWith(yield* Effect.context<never>())
  return watch(isItsOwn, (error) => {
    end(error)
    const line = "a library failed where no caller waited, and its work ended"
    run(
      Effect.andThen(
        countLibraryFault(platform),
        logThrottled(line, { platform, at: firstFrame(error) }, "Warn"),
      ),
    )
  })
})
