/** The store of a process that serves: the database that its environment names. */
import type { HttpSettings } from "@messaging-service/http"
import { layer as layerPostgres } from "@messaging-service/store-postgres"

const { PG_DATABASE, PG_PATH, PG_POOL, PG_USER } = process.env

export const servedStore = layerPostgres({
  path: PG_PATH ?? "",
  database: PG_DATABASE ?? "",
  username: PG_USER ?? "",
  maxConnections: Number(PG_POOL),
})

export const servedSettings: HttpSettings = {
  operatorToken: null,
  emulator: null,
  publicUrl: "http://127.0.0.1",
  trustProxy: false,
}
