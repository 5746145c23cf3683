/**
 * Checks whether the reader of standard output has gone, for a command that may write nothing for
 * hours. Only a write would show it, because Node does not poll a pipe. Linux lists the processes that
 * hold its other end; elsewhere only the next write tells.
 */
import { lstatSync, readdirSync, readlinkSync } from "node:fs"

const ownOutput = "/proc/self/fd/1"

/** The owner's right to read: a link to an open file has it when the file is open for reading. */
const readable = 0o400

const tried = <A>(look: () => A, otherwise: (error: NodeJS.ErrnoException) => A): A => {
  try {
    return look()
  } catch (error) {
    return otherwise(error as NodeJS.ErrnoException)
  }
}

const linkOf = (path: string): string | undefined =>
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
            linkOf(file) === pipe &&
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
  const pipe = linkOf(ownOutput)
  if (pipe?.startsWith("pipe:") !== true) return () => false
  let readers: ReadonlyArray<string> = []
  let seen = false
  return () => {
    readers = readers.filter((pid) => reads(pid, pipe) !== false)
    if (readers.length > 0) return false
    const running = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
    readers = running.filter((pid) => reads(pid, pipe) === true)
    const isGone = seen && readers.length === 0
    seen ||= readers.length > 0
    return isGone
  }
}
