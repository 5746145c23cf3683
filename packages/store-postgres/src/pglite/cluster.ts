/** Making the cluster of an embedded database, so that one that is there is whole and on the disk. */
import { access, mkdir, open, readFile, readdir, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const syncOne = async (path: string): Promise<void> => {
  const handle = await open(path, "r")
  await handle.sync().finally(() => handle.close())
}

/** Syncs a directory and all that is in it. */
const syncTree = async (directory: string): Promise<void> => {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else if (entry.isFile()) await syncOne(path)
  }
  await syncOne(directory)
}

/**
 * A database would never open if its first making was interrupted. So a file next to it marks the making;
 * where that file is left, the database is made again from the start, since nothing can be in it yet.
 * Returns what to do once it is made, unless it was there: PGlite copies a new cluster into place without any sync.
 */
export const startCluster = async (dataDir: string): Promise<(() => Promise<void>) | undefined> => {
  const directory = resolve(dataDir)
  const marker = `${directory}.making`
  if (await exists(marker)) await rm(directory, { recursive: true, force: true })
  else if (await exists(join(directory, "PG_VERSION"))) return undefined
  await mkdir(dirname(marker), { recursive: true })
  await writeFile(marker, "")
  await syncOne(dirname(marker))
  return async () => {
    await syncTree(directory)
    await rm(marker)
    await syncOne(dirname(marker))
  }
}

/**
 * A cluster with all tables, which a bundle carries next to this code (`rolldown.config.ts`); without it
 * PGlite makes an empty one.
 */
export const packedCluster = async (): Promise<Blob | undefined> => {
  try {
    return new Blob([await readFile(new URL("./cluster.tar.gz", import.meta.url))])
  } catch {
    return undefined
  }
}
