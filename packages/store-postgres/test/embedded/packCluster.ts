/**
 * Writes a cluster that holds all tables and functions, for bundles to bring along:
 *
 *     node test/embedded/packCluster.ts FILE
 */
import { PGlite } from "@electric-sql/pglite"
import { Effect } from "effect"
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { schema } from "../../src/migrations/index.ts"
import { migrate } from "../../src/migrations/migrate.ts"
import { layerPgliteDatabase } from "../../src/pglite/layerPgliteDatabase.ts"

const [path = "cluster.tar.gz"] = process.argv.slice(2)
const folder = await mkdtemp(join(tmpdir(), "packed-cluster-"))
const dataDir = join(folder, "db")
await Effect.runPromise(Effect.provide(migrate(schema), layerPgliteDatabase({ dataDir })))
const database = await PGlite.create(dataDir)
await database.exec("checkpoint")
const packed = await database.dumpDataDir("gzip")
await database.close()
await rm(folder, { recursive: true })
await mkdir(dirname(path), { recursive: true })
// Renamed, so it appears complete.
await writeFile(`${path}.new`, packed.stream())
await rename(`${path}.new`, path)
