/** Why the service cannot start on a database, in one line that says what to do, and no secret. */
import { StoreUnavailable } from "@messaging-service/core"

/** The oldest version that the service is tested on. */
export const oldestVersion = 150_000

/** What the operator can do about an error of PostgreSQL, by its code. */
const advice: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password",
  "28000": "check the user, and what the server's pg_hba.conf lets it do",
  "3D000": "create the database, or check its name",
  "42501":
    "grant the role usage on the schema and its sequences, and select, insert, update and delete on its tables; what is missing there is made by a role that may create it",
  "53300": "the server has no connection left: lower maxConnections, or raise its max_connections",
  "08P01":
    "a pooler such as pgbouncer takes no settings: connect to PostgreSQL itself, or see docs/postgresql.md",
  SELF_SIGNED_CERT_IN_CHAIN: "name the certificate of its authority by sslrootcert",
  DEPTH_ZERO_SELF_SIGNED_CERT: "name the certificate of its authority by sslrootcert",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "name the certificate of its authority by sslrootcert",
  "57P03": "the server is starting up or shutting down",
  ECONNREFUSED: "no server listens there",
  ENOENT: "there is no such socket",
  ENOTFOUND: "there is no host of that name",
  ECONNRESET: "the server closed the connection",
}

/** The innermost error: that of the server, or of the network. */
const rootOf = (cause: unknown): unknown => {
  const { cause: inner, reason } = (cause ?? {}) as {
    readonly cause?: unknown
    readonly reason?: unknown
  }
  const within = reason ?? inner
  return within === undefined || within === null ? cause : rootOf(within)
}

const lineOf = (cause: unknown): string => {
  const root = rootOf(cause)
  const { code, message } = (root ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const words = typeof message === "string" && message !== "" ? message : String(root)
  const hint = typeof code === "string" ? advice[code] : undefined
  const first = words.split("\n", 1)[0] ?? ""
  return hint === undefined ? first : `${first} (${hint})`
}

/** The failure of a start, whose cause is that line alone. */
export const cannotStart = (operation: string, cause: unknown): StoreUnavailable =>
  new StoreUnavailable({ operation, cause: new Error(lineOf(cause)) })

export const tooOld = (version: string): StoreUnavailable =>
  cannotStart("connect", new Error(`PostgreSQL 15 or newer is needed, and this is ${version}`))

export const onStandby: StoreUnavailable = cannotStart(
  "connect",
  new Error("the database is a standby in recovery: name the primary"),
)

export const settingsLost: StoreUnavailable = cannotStart(
  "connect",
  new Error(
    "the connection does not have the settings that it asked for: a pooler such as pgbouncer dropped them; connect to PostgreSQL itself, or give them to the role (docs/postgresql.md)",
  ),
)
