/**
 * Loaded into a process before its program: other threads' files in one directory are on a disk that is full,
 * fails to sync or never answers, as a control file says. `FaultyDisk.ts` starts it and writes that file.
 */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { isMainThread } from "node:worker_threads"
import type { DiskFault } from "./FaultyDisk.ts"

const { FAULTY_CONTROL: control = "", FAULTY_DIRECTORY: directory = "" } = process.env
const { existsSync, fdatasyncSync, fstatSync, fsyncSync, openSync } = fs
const { readFileSync, writeFileSync, writeSync } = fs

let fault: DiskFault | undefined
/** Remaining writes before it is full. */
let room = 0

const check = (): DiskFault | undefined => {
  if (!existsSync(control)) fault = undefined
  else if (fault === undefined) {
    fault = JSON.parse(readFileSync(control, "utf8")) as DiskFault
    room = fault.kind === "full" ? fault.roomFor : 0
  }
  if (fault?.kind === "silent") for (;;);
  return fault
}

const failure = (code: string) => Object.assign(new Error(`${code}: as the test says`), { code })

/** Runs at each write that takes room. */
const takeRoom = (): void => {
  if (check()?.kind === "full" && room-- <= 0) throw failure("ENOSPC")
}

const whereSound =
  (sync: (descriptor: number) => void) =>
  (descriptor: number): void => {
    if (check()?.kind === "unsyncable") throw failure("EIO")
    sync(descriptor)
  }

const isOfDirectory = (path: unknown): boolean =>
  typeof path === "string" && path.startsWith(directory)

if (!isMainThread) {
  /** Descriptors of the directory's files. */
  const opened = new Set<number>()
  Object.assign(fs, {
    fdatasyncSync: whereSound(fdatasyncSync),
    fsyncSync: whereSound(fsyncSync),
    openSync: (...args: Parameters<typeof openSync>) => {
      const descriptor = openSync(...args)
      if (isOfDirectory(args[0])) opened.add(descriptor)
      else opened.delete(descriptor)
      return descriptor
    },
    writeFileSync: (...args: Parameters<typeof writeFileSync>) => {
      if (isOfDirectory(args[0])) takeRoom()
      writeFileSync(...args)
    },
    // As PGlite calls it: overwriting takes no room.
    writeSync: (
      descriptor: number,
      bytes: Uint8Array,
      offset: number,
      length: number,
      position: number,
    ) => {
      if (opened.has(descriptor) && position + length > fstatSync(descriptor).size) takeRoom()
      return writeSync(descriptor, bytes, offset, length, position)
    },
  })
  syncBuiltinESMExports()
}
