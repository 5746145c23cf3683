/** A PostgreSQL behind TLS: only a file of certificates names its authority. */
import { assert, it } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { makeCertificate } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { connect, createServer } from "node:net"
import type { AddressInfo, Server } from "node:net"
import { join } from "node:path"
import { TLSSocket } from "node:tls"
import { programs } from "./programs.ts"

/** TLS before that server, started as PostgreSQL does: a request of eight bytes, and an `S`. */
const withTls = (path: string, { cert, key }: ReturnType<typeof makeCertificate>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const server = createServer((near) => {
          near.on("error", () => undefined)
          near.once("data", () => {
            near.write("S")
            const encrypted = new TLSSocket(near, { isServer: true, cert, key })
            const remote = connect(path)
            for (const [one, other] of [
              [encrypted, remote],
              [remote, encrypted],
            ] as const) {
              one.on("error", () => undefined)
              one.on("close", () => other.destroy())
              one.pipe(other)
            }
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => void server.close()),
    ),
    (server) => (server.address() as AddressInfo).port,
  )

it.live("a service connects where sslrootcert names the authority, and nowhere else", () =>
  Effect.gen(function* () {
    const postgres = yield* EmbeddedPostgres
    const { database, path } = yield* postgres.createDatabase()
    const certificate = makeCertificate()
    const port = yield* withTls(path, certificate)
    const directory = yield* processes.temporaryDirectory
    const file = join(directory, "authority.pem")
    yield* Effect.promise(() => writeFile(file, certificate.cert))
    const migrate = (parameters: string) =>
      Effect.gen(function* () {
        const DATABASE_URL = `postgres://postgres@localhost:${port}/${database}?${parameters}`
        const process = yield* processes.start(programs.server, { DATABASE_URL }, ["migrate"])
        const { code, stderr } = yield* process.ended
        return code === 0 ? "migrated" : stderr.trim()
      })
    assert.match(yield* migrate("sslmode=require"), /self-signed .*\(name the certificate of/)
    for (const mode of ["require", "verify-ca", "verify-full"]) {
      assert.strictEqual(yield* migrate(`sslmode=${mode}&sslrootcert=${file}`), "migrated")
    }
  }).pipe(Effect.scoped, Effect.provide(EmbeddedPostgres.layer())),
)
