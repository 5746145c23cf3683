/**
 * Checks whether the reader of standard output has gone, for a command that may write nothing for
 * hours. Only a write would show it, because Node does not poll a pipe. Linux lists the processes that
 * hold its other end; elsewhere only the next write tells.
 */
import { lstatSync, readdirSync, readlinkSync } from "node:fs"

const ownOutput = "/proc/self/fd/1"

/** The owner's right to read: a link to an open file has it when the file is open for reading. */
const readable = 0o400

const tried = <A>(check: () => A, otherwise: (error: NodeJS.ErrnoException) => A): A => {
  try {
    return check()
  } catch (error) {
    return otherwise(error as NodeJS.ErrnoException)
  }
}

const toLink = (path: string): string | undefined =>
  tried<string | undefined>(
    () => readlinkSync(path),
    () => undefined,
  )

/** Whether that process reads the pipe; undefined when the system denies the check. */
const reads = (pid: string, pipe: string): boolean | undefined =>
  tried<boolean | undefined>(
    () =>
      readdirSync(`/proc/${pid}/fd`)
        .map((fd) => `/proc/${pid}/fd/${fd}`)
        .some(
          (file) =>
            toLink(file) === pipe &&
            tried(
              () => (lstatSync(file).mode & readable) !== 0,
              () => false,
            ),
        ),
    ({ code }) => (code === "ENOENT" || code === "ESRCH" ? false : undefined),
  )

/**
 * Checks who reads standard output now. True once all readers of earlier checks have gone, without a
 * successor. A reader that the system hides, such as another user's, counts as present.
 */
export const outputWatch = (): (() => boolean) => {
  const pipe = toLink(ownOutput)
  if (pipe?.startsWith("pipe:") !== true) return () => false
  let readers: ReadonlyArray<string> = []
  let observed = false
  return () => {
    readers = readers.filter((pid) => reads(pid, pipe) !== false)
    if (readers.length > 0) return false
    const running = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
    readers = running.filter((pid) => reads(pid, pipe) === true)
    const isMissing = observed && readers.length === 0
    observed ||= readers.length > 0
    return isMissing
  }
}
