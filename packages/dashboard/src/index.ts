/**
 * The files of the dashboard as a server answers with them: content, type, tag and compressed copies.
 * `build.ts` makes them from `pages`.
 */
import { readFile } from "node:fs/promises"

export interface DashboardFile {
  readonly body: Uint8Array
  /** For `Content-Type`. */
  readonly type: string
  /** For `ETag`, quotes included. */
  readonly etag: string
  /** The content compressed with Brotli, where that is smaller. */
  readonly br?: Uint8Array
  /** The content compressed with gzip, where that is smaller. */
  readonly gzip?: Uint8Array
  /** Whether the name changes with the content, so that a browser may keep it. */
  readonly immutable: boolean
}

/** What `manifest.json`, next to the files, says of one of them. */
interface ManifestEntry {
  readonly path: string
  readonly type: string
  readonly etag: string
  readonly immutable: boolean
  readonly compressed: boolean
}

/** Bundles of the apps replace this address by that of the copies next to them. */
const folder = new URL("../files/", import.meta.url)

const readEntry = async ({ compressed, path, ...about }: ManifestEntry): Promise<DashboardFile> => {
  const body = await readFile(new URL(path, folder))
  if (!compressed) return { body, ...about }
  const [br, gzip] = await Promise.all([
    readFile(new URL(`${path}.br`, folder)),
    readFile(new URL(`${path}.gz`, folder)),
  ])
  return { body, br, gzip, ...about }
}

/**
 * Reads all files, by their paths without a leading slash, such as `index.html`. In `index.html` addresses begin with
 * `./`; the server writes its base path there. Rejects when the files were never built.
 */
export const loadDashboard = async (): Promise<ReadonlyMap<string, DashboardFile>> => {
  const manifest = await readFile(new URL("manifest.json", folder), "utf8")
  const { files } = JSON.parse(manifest) as { readonly files: ReadonlyArray<ManifestEntry> }
  return new Map(
    await Promise.all(files.map(async (entry) => [entry.path, await readEntry(entry)] as const)),
  )
}
