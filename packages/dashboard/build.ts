/**
 * Builds `pages` into `files`, compressed, with a manifest. Does nothing when those files were built from the same
 * sources, so that every start can call it. `node build.ts [folder]`
 */
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, dirname, extname, join, relative, resolve } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

const own = import.meta.dirname
const workspace = resolve(own, "../..")

/** What the files are made of. The versions of libraries are those of the catalogue. */
const sources = [
  "packages/dashboard/pages",
  "packages/dashboard/vite.config.ts",
  "packages/dashboard/build.ts",
  "pnpm-workspace.yaml",
]

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

const filesUnder = async (path: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

const hashOfSources = async (): Promise<string> => {
  const hash = createHash("sha256")
  for (const source of sources) {
    const path = join(workspace, source)
    const files = extname(path) === "" ? await filesUnder(path) : [path]
    for (const file of files) hash.update(relative(workspace, file)).update(await readFile(file))
  }
  return hash.digest("hex")
}

/** Null when nothing was built yet. */
const builtFrom = async (folder: string): Promise<string | null> => {
  const manifest = await readFile(join(folder, "manifest.json"), "utf8").catch(() => null)
  return manifest === null ? null : (JSON.parse(manifest) as { sources: string }).sources
}

const compressors = {
  br: (content: Uint8Array) =>
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    }),
  gz: (content: Uint8Array) => promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }),
}

/** Writes the compressed copies of a file, and tells what the manifest says of it. */
const describeFile = async (folder: string, file: string) => {
  const path = relative(folder, file)
  const content = await readFile(file)
  const type = types[extname(file)]
  if (type === undefined) throw new Error(`${path} has no content type`)
  // The server writes its base path into the page, so that no copy could be made here.
  const compressed = extname(file) !== ".html"
  if (compressed) {
    for (const [extension, compress] of Object.entries(compressors))
      await writeFile(`${file}.${extension}`, await compress(content))
  }
  const immutable = dirname(path) === "assets"
  return { path, type, etag: `"${sha256(content).slice(0, 32)}"`, immutable, compressed }
}

const build = async (folder: string, from: string): Promise<void> => {
  // The libraries contain checks for developers unless this is set before they are loaded.
  process.env["NODE_ENV"] = "production"
  const vite = await import("vite")
  const outDir = join(dirname(folder), `.${basename(folder)}-${process.pid}`)
  await mkdir(dirname(folder), { recursive: true })
  try {
    const configFile = join(own, "vite.config.ts")
    await vite.build({ configFile, logLevel: "error", build: { outDir, emptyOutDir: true } })
    const files = []
    for (const file of await filesUnder(outDir)) files.push(await describeFile(outDir, file))
    await writeFile(join(outDir, "manifest.json"), JSON.stringify({ sources: from, files }))
    // At once, so that another process reads the files of one build.
    await rm(folder, { recursive: true, force: true })
    await rename(outDir, folder)
  } finally {
    await rm(outDir, { recursive: true, force: true })
  }
}

const folder = resolve(process.argv[2] ?? join(own, "files"))
const query = await hashOfSources()
if (process.env["DASHBOARD"] !== "false" && (await builtFrom(folder)) !== query) {
  const started = performance.now()
  await build(folder, query)
  console.error(`built the dashboard in ${((performance.now() - started) / 1000).toFixed(1)} s`)
}
