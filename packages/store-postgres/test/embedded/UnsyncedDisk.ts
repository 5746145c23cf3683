/**
 * A directory on a disk that forgets, for power cuts without a device: a shadow of it receives only what was synced.
 * At any sync an image can be taken of what a machine would find after its power failed just before: `strict`, in which nothing unsynced
 * is there, or `torn`, in which a random half of the unsynced pages is. As on ext4, to sync a new file keeps its
 * name too; other changes of names are kept when their directory is synced. Linux.
 */
import type { PGlite } from "@electric-sql/pglite"
import fs from "node:fs"
import { dirname, join, relative } from "node:path"
import { DurableNodeFS } from "../../src/pglite/DurablePglite.ts"

const pageBytes = 4096

interface ShadowFile {
  synced: Buffer
  /** Pages that were written since. */
  readonly dirty: Set<number>
}

type Names = Map<string, ShadowFile | "directory">

type Options = Parameters<DurableNodeFS["init"]>[1]

/** How PGlite writes to an open file. */
type Write = (
  file: { readonly nfd?: number },
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => number

export class UnsyncedDisk extends DurableNodeFS {
  readonly #root: string
  readonly #directories = new Map<string, Names>()
  /** By inode and time of birth: a number is used again once its file is gone. */
  readonly #files = new Map<string, ShadowFile>()
  /** Before each sync; `image` may be called there. */
  onSync: () => void = () => undefined
  /** A disk that takes syncs for done and does nothing. */
  isLying = false

  constructor(directory: string) {
    super(directory)
    this.#root = directory
    this.#keepAll(directory)
  }

  override async init(database: PGlite, overrides: Options) {
    const { emscriptenOpts } = await super.init(database, overrides)
    const watch = (module: PGlite["Module"]) => {
      const operations = (module.NODEFS as unknown as { readonly stream_ops: { write: Write } })
        .stream_ops
      const write = operations.write
      operations.write = (file, bytes, offset, length, position) => {
        const written = write(file, bytes, offset, length, position)
        if (file.nfd !== undefined) this.#wrote(file.nfd, position, written)
        return written
      }
    }
    return {
      emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), watch] },
    }
  }

  protected override sync(descriptor: number): void {
    this.onSync()
    if (this.isLying) return
    const path = fs.readlinkSync(`/proc/self/fd/${descriptor}`)
    if (fs.fstatSync(descriptor).isDirectory()) this.#keepNames(path)
    else this.#keepFile(descriptor, path)
  }

  /** Writes to `path` what would be found; `random` chooses which unsynced pages are there. */
  image(path: string, isTorn: boolean, random: () => number): void {
    for (const [directory, names] of this.#directories) {
      if (
        directory !== this.#root &&
        !this.#directories
          .get(dirname(directory))
          ?.has(directory.slice(dirname(directory).length + 1))
      )
        continue
      const target = join(path, relative(this.#root, directory))
      fs.mkdirSync(target, { recursive: true, mode: 0o700 })
      for (const [name, file] of names) {
        if (file === "directory") fs.mkdirSync(join(target, name), { recursive: true, mode: 0o700 })
        else {
          const bytes = isTorn ? torn(file, join(directory, name), random) : file.synced
          fs.writeFileSync(join(target, name), bytes, { mode: 0o600 })
        }
      }
    }
  }

  #toFile(stats: fs.BigIntStats): ShadowFile {
    const key = `${stats.ino} ${stats.birthtimeNs}`
    const known = this.#files.get(key)
    if (known !== undefined) return known
    const created = { synced: Buffer.alloc(0), dirty: new Set<number>() }
    this.#files.set(key, created)
    return created
  }

  #wrote(descriptor: number, position: number, length: number): void {
    const { dirty } = this.#toFile(fs.fstatSync(descriptor, { bigint: true }))
    const last = Math.floor((position + length - 1) / pageBytes)
    for (let page = Math.floor(position / pageBytes); page <= last; page++) dirty.add(page)
  }

  #keepFile(descriptor: number, path: string): void {
    const stats = fs.fstatSync(descriptor, { bigint: true })
    const file = this.#toFile(stats)
    const size = Number(stats.size)
    const now = size === file.synced.length ? file.synced : Buffer.alloc(size)
    if (now !== file.synced) file.synced.copy(now)
    // Opened for reading: PostgreSQL may have it open for writing alone.
    const reader = fs.openSync(`/proc/self/fd/${descriptor}`, "r")
    for (const page of file.dirty) {
      const at = page * pageBytes
      if (at < size) fs.readSync(reader, now, at, Math.min(pageBytes, size - at), at)
    }
    fs.closeSync(reader)
    file.synced = now
    file.dirty.clear()
    const names = this.#directories.get(dirname(path))
    const name = path.slice(dirname(path).length + 1)
    if (stats.nlink > 0 && names !== undefined && !names.has(name)) names.set(name, file)
  }

  #keepNames(directory: string): void {
    const names: Names = new Map()
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) {
        names.set(entry.name, "directory")
        if (!this.#directories.has(path)) this.#directories.set(path, new Map())
      } else names.set(entry.name, this.#toFile(fs.statSync(path, { bigint: true })))
    }
    this.#directories.set(directory, names)
  }

  /** What is there at the beginning lies on the disk. */
  #keepAll(directory: string): void {
    this.#keepNames(directory)
    for (const [name, file] of this.#directories.get(directory) ?? []) {
      const path = join(directory, name)
      if (file === "directory") this.#keepAll(path)
      else file.synced = fs.readFileSync(path)
    }
  }
}

const torn = ({ dirty, synced }: ShadowFile, path: string, random: () => number): Buffer => {
  if (dirty.size === 0 || !fs.existsSync(path)) return synced
  const now = fs.readFileSync(path)
  const found = Buffer.alloc(random() < 0.5 ? now.length : synced.length)
  synced.copy(found)
  for (const page of dirty) {
    const at = page * pageBytes
    if (random() < 0.5 && at < found.length)
      now.copy(found, at, at, Math.min(at + pageBytes, now.length))
  }
  return found
}
