/** Store and HTTP settings of a benchmark server process, from its environment. */
import type { HttpSettings } from "@messaging-service/http"
import { layer as layerPostgres } from "@messaging-service/store-postgres"

const { PGDATABASE, PGHOST, PGUSER, POOL_SIZE } = process.env

export const servedStore = layerPostgres({
  path: PGHOST ?? "",
  database: PGDATABASE ?? "",
  username: PGUSER ?? "",
  maxConnections: Number(POOL_SIZE),
})

export const servedSettings: HttpSettings = {
  operatorToken: null,
  emulator: null,
  publicUrl: "http://127.0.0.1",
  trustProxy: false,
}
