/**
 * Keeps errors of transport libraries from ending the process. Node reports an error that no code
 * handles through `process.emit`. This takes those of guarded libraries out there, so that neither Node
 * nor the program's own listeners see them; every other error passes unchanged.
 */
import { LibraryGuard } from "@messaging-service/core"
import { Layer } from "effect"
import { AsyncLocalStorage } from "node:async_hooks"

interface Guarded {
  readonly isItsOwn: (error: Error) => boolean
  readonly onFault: (error: Error) => void
}

/** The connection of the library that runs, or that started what runs. */
const running = new AsyncLocalStorage<Guarded>()

const isClaimed = (error: unknown): boolean => {
  const guarded = running.getStore()
  if (guarded === undefined || !(error instanceof Error) || !guarded.isItsOwn(error)) return false
  guarded.onFault(error)
  return true
}

const reports: ReadonlySet<unknown> = new Set(["unhandledRejection", "uncaughtException"])

let isWatching = false

/** Once for the process, and for its whole life: a closed connection's library may still fail. */
const watchProcess = () => {
  if (isWatching) return
  isWatching = true
  const emit = process.emit.bind(process) as (...args: ReadonlyArray<unknown>) => boolean
  Object.assign(process, {
    emit: (...args: ReadonlyArray<unknown>) =>
      (reports.has(args[0]) && isClaimed(args[1])) || emit(...args),
  })
}

export const layerLibraryGuard: Layer.Layer<never> = Layer.sync(LibraryGuard, () => {
  watchProcess()
  return {
    watch: (isItsOwn, onFault) => {
      const guarded: Guarded = { isItsOwn, onFault }
      return (work) => running.run(guarded, work)
    },
  }
})
