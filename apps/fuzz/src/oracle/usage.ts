/** Resources of the server process: memory, descriptors, files. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"

export interface ResourceUsage {
  /** Resident bytes; 0 where the system does not report them. */
  readonly memory: number
  /** Open files and sockets; 0 where the system does not report them. */
  readonly descriptors: number
  /** Files in the media directory. */
  readonly files: number
  /** Unfinished files in it. */
  readonly temporary: number
}

export interface Usage {
  readonly first: ResourceUsage
  readonly last: ResourceUsage
  /** Peak memory, in bytes. */
  readonly peak: number
}

/** Sockets that the service keeps for its own calls. */
const storedDescriptors = 24

/** Average memory that a request may leave behind, where the store itself is in memory. */
const storedBytesOfRequest = 4 * 1024
/** The allowance of any run: caches, compiled code, buffers not released. */
const storedBytes = 256 * 1_048_576

const orNothing = async <A>(read: Promise<A>, nothing: A): Promise<A> => read.catch(() => nothing)

const getEntries = (directory: string) => orNothing(readdir(directory), [] as Array<string>)

/** A store in memory has a directory for its files that goes with the process. */
const mediaDirectoryIn = async (dataDirectory: string): Promise<string> => {
  const entries = await getEntries(dataDirectory)
  return join(dataDirectory, entries.find((name) => name.startsWith("passing-")) ?? "media")
}

/** Reads the process's resources and its media directory. */
export const lookAt = async (pid: number, dataDirectory: string): Promise<ResourceUsage> => {
  const mediaDirectory = await mediaDirectoryIn(dataDirectory)
  const status = await orNothing(readFile(`/proc/${pid}/status`, "utf8"), "")
  return {
    memory: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024,
    descriptors: (await getEntries(`/proc/${pid}/fd`)).length,
    files: (await getEntries(join(mediaDirectory, "files"))).length,
    temporary: (await getEntries(join(mediaDirectory, "temporary"))).length,
  }
}

/** Whether the process is idle after all connections were closed. */
export const isIdle = (first: ResourceUsage, now: ResourceUsage): boolean =>
  now.temporary === 0 && now.descriptors <= first.descriptors + storedDescriptors

/** Leaks of a run; `files`: successes that may have stored one. */
export const judgeUsage = (
  { first, last }: Usage,
  requests: number,
  files: number,
): ReadonlyArray<Finding> => {
  const rules: ReadonlyArray<readonly [holds: boolean, rule: string, detail: string]> = [
    [
      last.descriptors <= first.descriptors + storedDescriptors,
      "usage: descriptors are left open",
      `${first.descriptors}, then ${last.descriptors}`,
    ],
    [last.temporary === 0, "usage: temporary files are left", `${last.temporary}`],
    [
      last.files <= files,
      "usage: refused calls have left files",
      `${last.files} files after ${files} successes`,
    ],
    [
      last.memory <= first.memory + storedBytes + requests * storedBytesOfRequest,
      "usage: memory grows with the requests",
      `${first.memory}, then ${last.memory} bytes`,
    ],
  ]
  return rules.filter(([isMet]) => !isMet).map(([, rule, detail]) => finding(rule, detail))
}
