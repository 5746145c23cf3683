/** What the linter must refuse and what it must allow, as samples of source. */

export interface Sample {
  /** What the sample does, completing the sentence "refuses …" or "allows …". */
  readonly does: string
  /** Its folder; the file name comes from its place in the table. */
  readonly room: string
  readonly source: string
  /** The content of its neighbour `neighbour.ts`, by the name of the sample's own file. */
  readonly neighbour?: (sample: string) => string
}

export interface Breach extends Sample {
  /** The rule that must name it. */
  readonly rule: string
}

const imports = "architecture(imports)"
const circle = "import(no-cycle)"
const globals = "eslint(no-restricted-globals)"
const properties = "eslint(no-restricted-properties)"
const wallClock = "architecture(no-wall-clock)"
const namedLayers = "architecture(named-layers)"
const workOnLoad = "architecture(no-work-on-load)"
const realTime = "architecture(no-real-time)"

const underTheService = [
  "store-memory",
  "store-postgres",
  "transport-whatsapp",
  "transport-telegram",
  "node",
  "testkit",
]
const outside = ["client", "whatsapp-server", "telegram-server"]

const makeLines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `export const line${index} = ${index}`).join("\n")

const makeFunction = (count: number): string =>
  `export const it = () => {\n${"// Why.\n\nit()\n".repeat(count - 2)}}`

export const breaches: ReadonlyArray<Breach> = [
  ...[
    "effect/http",
    "effect/http-api",
    "effect/sql",
    "effect/cluster",
    "effect/process",
    "effect/testing",
    "effect/unstable/http",
    "effect/Effect",
    "@effect/sql-pg",
    "@noble/hashes",
    "libphonenumber-js/min/metadata",
    "undici",
    "node:crypto",
    "fs",
    "@messaging-service/store-memory",
    "@messaging-service/testkit",
  ].map((module) => ({
    does: `the core importing ${module}`,
    room: "packages/core/src/model",
    source: `export { it } from "${module}"`,
    rule: imports,
  })),
  {
    does: "a file importing itself through another",
    room: "packages/core/src/circle",
    source: `import { that } from "./neighbour.ts"\nexport const it = () => that()`,
    neighbour: (sample) => `import { it } from "./${sample}"\nexport const that = () => it()`,
    rule: circle,
  },
  {
    does: "a file importing itself through another for types alone",
    room: "packages/service/src/circle",
    source: `import type { That } from "./neighbour.ts"\nexport type It = That | null`,
    neighbour: (sample) =>
      `import type { It } from "./${sample}"\nexport type That = ReadonlyArray<It>`,
    rule: circle,
  },
  ...[
    ["model", "store"],
    ["store", "service"],
    ["service", "worker"],
  ].map(([below, above]) => ({
    does: `the core's ${below} importing a type of the ${above} above it`,
    room: `packages/core/src/${below}`,
    source: `import type { It } from "../${above}/It.ts"\nexport type That = It`,
    rule: imports,
  })),
  {
    does: "the core importing a platform module for its types alone",
    room: "packages/core/src",
    source: `import type { Server } from "node:http"\nexport type It = Server`,
    rule: imports,
  },
  {
    does: "the core importing on demand",
    room: "packages/core/src",
    source: `export const it = () => import("node:net")`,
    rule: imports,
  },
  {
    does: "a core test importing an adapter that needs a platform",
    room: "packages/core/test",
    source: `export { it } from "@messaging-service/store-postgres"`,
    rule: imports,
  },
  ...["store-memory", "store-postgres", "http", "node", "emulator", "transport-whatsapp"].map(
    (adapter) => ({
      does: `${adapter} importing another adapter`,
      room: `packages/${adapter}/src`,
      source: `export { it } from "@messaging-service/${adapter === "node" ? "http" : "node"}"`,
      rule: imports,
    }),
  ),
  ...["core", "store-memory", "store-postgres", "http", "node", "client", "testkit"].map(
    (name) => ({
      does: `${name} importing the emulator`,
      room: `packages/${name}/src`,
      source: `export { it } from "@messaging-service/emulator"`,
      rule: imports,
    }),
  ),
  {
    does: "the source of http importing its entry for the emulator",
    room: "packages/http/src",
    source: `export { it } from "./emulator.ts"`,
    rule: imports,
  },
  ...[...underTheService, ...outside].map((name) => ({
    does: `${name} importing what calls the service`,
    room: `packages/${name}/src`,
    source: `import { MessageStore, Messages } from "@messaging-service/core"\nexport const it = [MessageStore, Messages]`,
    rule: imports,
  })),
  {
    does: "an adapter under the service passing on what calls it",
    room: "packages/node/src",
    source: `export { Messages as it } from "@messaging-service/core"`,
    rule: imports,
  },
  {
    does: "the same by the name of the whole core",
    room: "packages/node/src",
    source: `import * as core from "@messaging-service/core"\nexport const it = core.Messages`,
    rule: imports,
  },
  {
    does: "the emulator importing a store",
    room: "packages/emulator/src",
    source: `export { it } from "@messaging-service/store-memory"`,
    rule: imports,
  },
  {
    does: "an adapter's test importing another adapter",
    room: "packages/store-memory/test",
    source: `export { it } from "@messaging-service/store-postgres"`,
    rule: imports,
  },
  {
    does: "the HTTP source choosing an adapter",
    room: "packages/http/src",
    source: `export { it } from "@messaging-service/store-memory"`,
    rule: imports,
  },
  ...["apps/server/src", "packages/node/src", "packages/testkit/src"].map((room) => ({
    does: `${room} importing the library behind an adapter`,
    room,
    source: `export { it } from "baileys"`,
    rule: imports,
  })),
  {
    does: "an adapter's source importing the contract suites",
    room: "packages/store-memory/src",
    source: `export { it } from "@messaging-service/testkit"`,
    rule: imports,
  },
  {
    does: "the contract suites choosing an adapter",
    room: "packages/testkit/src",
    source: `export { it } from "@messaging-service/store-memory"`,
    rule: imports,
  },
  {
    does: "what processes are made from choosing adapters, which the composed service does",
    room: "packages/node/src",
    source: `export { it } from "@messaging-service/store-memory"`,
    rule: imports,
  },
  {
    does: "an adapter importing the composed service",
    room: "packages/http/test",
    source: `export { it } from "@messaging-service/service/compose"`,
    rule: imports,
  },
  {
    does: "an app importing another app",
    room: "apps/worker/src",
    source: `export { it } from "@messaging-service/server"`,
    rule: imports,
  },
  ...["packages/http/src", "apps/server/src"].map((room) => ({
    does: `a way out of ${room} around another package's exports`,
    room,
    source: `export { it } from "../../../packages/core/src/index.ts"`,
    rule: imports,
  })),
  ...["new Date()", "Date()"].map((expression) => ({
    does: `${expression} in the core`,
    room: "packages/core/src/model",
    source: `export const it = ${expression}`,
    rule: wallClock,
  })),
  ...["Date.now()", "Math.random()"].map((expression) => ({
    does: `${expression} in the core`,
    room: "packages/core/src/model",
    source: `export const it = ${expression}`,
    rule: properties,
  })),
  ...[
    "setTimeout(run, 1)",
    "setInterval(run, 1)",
    "setImmediate(run)",
    "process.env",
    "globalThis.process",
    "performance.now()",
    "Buffer.from([])",
    "crypto.randomUUID()",
    `fetch("https://example.com")`,
    "console.log(run)",
  ].map((expression) => ({
    does: `${expression} in the core`,
    room: "packages/core/src",
    source: `export const run = () => undefined\nexport const it = () => ${expression}`,
    rule: globals,
  })),
  {
    does: "require in the core",
    room: "packages/core/src",
    source: `export const it = require("node:fs")`,
    rule: "typescript(no-require-imports)",
  },
  ...["packages/http/src", "apps/server/src"].flatMap((room) => [
    {
      does: `a default export in ${room}`,
      room,
      source: "export default 1",
      rule: "import(no-default-export)",
    },
    {
      does: `a non-null assertion in ${room}`,
      room,
      source: "export const it = (given: string | null) => given!.length",
      rule: "typescript(no-non-null-assertion)",
    },
    {
      does: `an explicit any in ${room}`,
      room,
      source: "export const it = (given: any) => given",
      rule: "typescript(no-explicit-any)",
    },
  ]),
  ...["process.title = it", "if (it === 1) throw it"].map((statement) => ({
    does: `\`${statement}\` where a module of a package is loaded`,
    room: "packages/node/src",
    source: `export const it = 1\n${statement}`,
    rule: workOnLoad,
  })),
  {
    does: "an explicit any in a test",
    room: "packages/http/test",
    source: "export const it = (given: any) => given",
    rule: "typescript(no-explicit-any)",
  },
  {
    does: "a layer's tests without a name",
    room: "packages/http/test",
    source: `import { layer } from "@effect/vitest"\nlayer(Layer.empty)((it) => it.effect("", () => Effect.void))`,
    rule: namedLayers,
  },
  ...[
    [
      "a limit of a layer's hooks",
      `import { layer as describeWith } from "@effect/vitest"\ndescribeWith(Layer.empty, { timeout: 60_000 })("it", () => undefined)`,
    ],
    ["time that a test measures", "export const it = performance.now()"],
    ["time that an effect takes", "export const it = Effect.timed(Effect.void)"],
    [
      "time that passed on the wall clock",
      "const began = Date.now()\nexport const it = () => Date.now() - began",
    ],
    ["a limit of a second", `export const it = Effect.timeout(Effect.void, "1 second")`],
    ["a limit of a second in a pipe", "export const it = Effect.void.pipe(Effect.timeout(1000))"],
    ["a wait of 300 ms", "export const it = processes.within(300, Effect.void)"],
    ["a test's own limit of a second", `it("is", () => undefined, { timeout: 1000 })`],
  ].map(([does = "", source = ""]) => ({
    does: `${does} in a test`,
    room: "packages/http/test",
    source,
    rule: realTime,
  })),
  {
    does: "a file of more than 1,000 lines",
    room: "packages/http/test",
    source: makeLines(1001),
    rule: "eslint(max-lines)",
  },
  {
    does: "a function of more than 70 lines",
    room: "packages/http/src",
    source: makeFunction(71),
    rule: "eslint(max-lines-per-function)",
  },
]

export const permitted: ReadonlyArray<Sample> = [
  {
    does: "a file of 1,000 lines",
    room: "packages/http/test",
    source: makeLines(1000),
  },
  {
    does: "a function of 70 lines, comments and blank lines aside",
    room: "packages/http/src",
    source: makeFunction(70),
  },
  {
    does: "a program that does something when it is loaded",
    room: "apps/server/src",
    source: `const it = 1\nprocess.exitCode = it`,
  },
  ...[
    "effect",
    "cron-parser",
    "ipaddr.js",
    "@noble/ciphers/chacha.js",
    "@noble/hashes/sha2.js",
    "../model/SendingNumber.ts",
  ].map((module) => ({
    does: `the core importing ${module}`,
    room: "packages/core/src/model",
    source: `export { it } from "${module}"`,
  })),
  ...[
    "effect/testing",
    "@effect/vitest",
    "node:fs",
    "@messaging-service/testkit",
    "@messaging-service/store-memory",
    "../src/index.ts",
  ].map((module) => ({
    does: `a core test importing ${module}`,
    room: "packages/core/test",
    source: `export { it } from "${module}"`,
  })),
  {
    does: "a layer's tests under a name",
    room: "packages/http/test",
    source: `import { layer } from "@effect/vitest"\nlayer(Layer.empty)("what they are about", (it) => it.effect("", () => Effect.void))`,
  },
  {
    does: "limits of 2 s, a moment that lies ahead or back, and a limit of no test",
    room: "packages/http/test",
    source: `const now = Date.now()\nexport const it = [Effect.timeout(Effect.void, "2 seconds"), within(limit, now - 5000), Server.layer({ timeout: 5 })]`,
  },
  {
    does: "the core turning a given time into a Date",
    room: "packages/core/src/model",
    source: "export const it = (at: number) => new Date(at)",
  },
  {
    does: "an adapter importing the core's ports, and a platform",
    room: "packages/node/src",
    source: `export { MessageStore } from "@messaging-service/core"\nexport { that } from "node:fs"`,
  },
  {
    does: "the builders of tests importing the services",
    room: "packages/testkit/src/world",
    source: `export { Workspaces } from "@messaging-service/core"`,
  },
  {
    does: "an adapter naming ports as members of the core",
    room: "packages/store-memory/src",
    source: `import * as ports from "@messaging-service/core"\nexport const it = ports.MessageStore`,
  },
  {
    does: "http's entry for the emulator importing the emulator and the rest of the package",
    room: "packages/http/src/emulator",
    source: `export { it } from "@messaging-service/emulator"\nexport { that } from "../index.ts"`,
  },
  {
    does: "a file importing another that does not import it",
    room: "packages/core/src/line",
    source: `import type { That } from "./neighbour.ts"\nexport type It = That | null`,
    neighbour: () => "export type That = ReadonlyArray<string>",
  },
  {
    does: "an adapter's test importing the contract suites",
    room: "packages/store-memory/test",
    source: `export { it } from "@messaging-service/testkit"`,
  },
  {
    does: "an adapter importing its own library",
    room: "packages/transport-whatsapp/src",
    source: `export { it } from "baileys"`,
  },
  {
    does: "the HTTP tests choosing the adapters under the whole service",
    room: "packages/http/test",
    source: `export { it } from "@messaging-service/store-memory"\nexport { that } from "@messaging-service/emulator"`,
  },
  {
    does: "an app choosing its adapters",
    room: "apps/server/src",
    source: `export { it } from "@messaging-service/store-memory"\nexport { that } from "@messaging-service/http"`,
  },
  {
    does: "the composed service choosing adapters",
    room: "packages/service/src",
    source: `export { it } from "@messaging-service/store-memory"\nexport { that } from "@messaging-service/node"`,
  },
  {
    does: "an app importing the composed service",
    room: "apps/worker/src",
    source: `export { it } from "@messaging-service/service/compose"`,
  },
  {
    does: "a non-null assertion in a test",
    room: "packages/http/test",
    source: "export const it = (given: string | null) => given!.length",
  },
]
