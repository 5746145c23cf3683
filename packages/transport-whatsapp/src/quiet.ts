/**
 * The libraries below print: session keys among other things. Nothing that they do prints from here:
 * what runs as `quietly` reaches no console, and their logger says nothing.
 */
import type { SignalRepositoryWithLIDStore, UserFacingSocketConfig } from "baileys"
import { AsyncLocalStorage } from "node:async_hooks"

const silenced = new AsyncLocalStorage<true>()
let isWatching = false

/** From the first use on, the console drops what is printed inside `quietly`, and nothing else. */
const watch = () => {
  if (isWatching) return
  isWatching = true
  for (const method of ["log", "info", "warn", "error", "debug", "trace", "dir"] as const) {
    const print = console[method].bind(console) as (...given: ReadonlyArray<unknown>) => void
    console[method] = (...given: ReadonlyArray<unknown>) => {
      if (silenced.getStore() === undefined) print(...given)
    }
  }
}

const quietly = <A>(work: () => A): A => {
  watch()
  return silenced.run(true, work)
}

/** Our own work in the midst of theirs, which may print. */
export const aloud = <A>(work: () => A): A => silenced.exit(work)

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** Every way into the encryption library goes through its repository. */
export const quietRepository =
  (make: MakeRepository): MakeRepository =>
  (...given) =>
    quietMethods(quietly(() => make(...given)))

const quietMethods = (repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore =>
  new Proxy(repository, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver)
      return typeof member === "function"
        ? (...given: ReadonlyArray<unknown>) => quietly(() => Reflect.apply(member, target, given))
        : member
    },
  })

const nothing = () => undefined

export const silentLogger: UserFacingSocketConfig["logger"] & object = {
  level: "silent",
  child: () => silentLogger,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}
