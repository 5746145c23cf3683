/**
 * The architecture, held by the linter: which part of the workspace may import which, and
 * what the core may not touch. Everything points towards `core`; adapters know `core` alone; only
 * `service` chooses adapters, for programs that embed it and for the apps.
 * The tables below are the rules, the code under them only reads them.
 */
import { dirname, relative, resolve, sep } from "node:path"
import { noRealTime } from "./realTime.js"

const root = resolve(import.meta.dirname, "..")
const scope = "@messaging-service/"

/** The whole of what the core may import beside its own files: effects, and pure data. */
const pureModules = ["effect", "cron-parser", "ipaddr.js", "@noble/ciphers/*", "@noble/hashes/*"]

/**
 * Core tests also need a test runner, the virtual clock, Node to read recorded files, and what a list
 * of the core's is compared with.
 */
const coreTestModules = [
  ...pureModules,
  "effect/testing",
  "@effect/vitest",
  "vitest",
  "node:*",
  "libphonenumber-js/*",
]

/** The floors of the core, from the lowest: a file imports its own floor and those below, types included. */
const coreFloors = ["model", "store", "service", "worker"]

/** Programs, not libraries: nothing imports them. */
const apps = ["server", "worker", "cli", "bench", "examples", "fuzz", "simulation"]

/** Which packages of the workspace a package may import. Apps are not listed: they choose. */
const workspaceImports = {
  src: ["core"],
  test: ["core", "testkit"],
}

/** Packages that choose adapters as an app does. */
const packagesThatChoose = {
  service: [
    "store-memory",
    "store-postgres",
    "emulator",
    "transport-whatsapp",
    "transport-telegram",
    "node",
    "http",
    "dashboard",
  ],
}

/**
 * Packages with an entry of their own for the emulator, the file or folder `src/emulator`: nothing else of their source
 * imports the emulator or that, so that a service without simulated phones loads neither.
 */
const packagesWithAnEmulatorEntry = ["http"]
const emulatorEntry = "src/emulator"

/** Packages under the service: they know its ports and records, and nothing that calls it. */
const packagesUnderTheService = [
  "store-memory",
  "store-postgres",
  "transport-whatsapp",
  "transport-telegram",
  "node",
  "testkit",
]

/** The builders of tests make records as callers do, so the services are theirs too. */
const buildersOfTests = "packages/testkit/src/world/"

/** What of the core calls the stores and transports: packages under the service import none of it. */
const callersOfPorts = [
  "Admission",
  "BrowserSessions",
  "CallbackUrls",
  "Caller",
  "Connections",
  "Contacts",
  "EnsuredWorkspaces",
  "EventFeed",
  "Housekeeping",
  "Keys",
  "MediaDirectory",
  "MessageOperations",
  "Messages",
  "NumberChecks",
  "NumberOperations",
  "Numbers",
  "PortalLinks",
  "Readiness",
  "Reminders",
  "Restoration",
  "IdleMonitor",
  "TelegramLogins",
  "Version1Lists",
  "WebhookOperations",
  "Webhooks",
  "WorkGate",
  "Worker",
  "Workspaces",
  "layer",
  "layerServices",
  "layerWorker",
  "makeDeliverer",
  "makeDispatcher",
  "authorize",
]

/** Packages for those on the other end of the wire: what they may import instead of the core. */
const packagesOutside = {
  client: [],
  dashboard: ["client"],
  "telegram-server": [],
  "whatsapp-server": [],
}

/** Tests that need the whole service under them or a store to compare with, and so choose adapters as an app does. */
const testsThatChoose = {
  "store-postgres": ["store-memory"],
  core: ["store-memory", "emulator"],
  "transport-whatsapp": ["store-memory", "store-postgres", "whatsapp-server"],
  "transport-telegram": ["store-memory", "telegram-server"],
  http: ["store-memory", "store-postgres", "emulator", "node", "client"],
  client: ["store-memory", "emulator", "node", "http"],
  service: ["telegram-server"],
  dashboard: ["client"],
}

/**
 * Libraries behind one adapter, so that another one may take their place; a remote server for tests speaks
 * their protocol too, and the benchmarks measure the library alone beside the adapter.
 */
const libraryHomes = {
  baileys: ["transport-whatsapp", "whatsapp-server", "bench"],
  libsignal: [],
  "@mtcute": ["transport-telegram", "telegram-server", "bench"],
}

/** Folders of what a package is; the others are for its tests and its build. */
const sourceRooms = ["src", "pages"]

/** Where a file lives: `packages/http/src/…` is area `packages`, name `http`, room `src`. */
const placeOf = (file) => {
  const [area, name, room] = relative(root, file).split(sep)
  if (area !== "packages" && area !== "apps") return undefined
  const path = `${area}/${name}`
  const within = relative(resolve(root, path), file).split(sep).join("/")
  return {
    area,
    name,
    room: sourceRooms.includes(room) ? "src" : "test",
    path,
    isEmulatorEntry: isInEmulatorEntry(name, within),
    isWorld: `${path}/${within}`.startsWith(buildersOfTests),
  }
}

const isInEmulatorEntry = (name, within) =>
  packagesWithAnEmulatorEntry.includes(name) &&
  (within === `${emulatorEntry}.ts` || within.startsWith(`${emulatorEntry}/`))

const matches = (patterns, specifier) =>
  patterns.some((pattern) =>
    pattern.endsWith("*") ? specifier.startsWith(pattern.slice(0, -1)) : specifier === pattern,
  )

const floorOf = (path, file) => {
  const [room, floor] = relative(resolve(root, path), file).split(sep)
  return room === "src" ? floor : undefined
}

/** The floor of that target, where it is above `floor`; modules beside the floors may import all of them. */
const floorAbove = (floor, target) => {
  const [room, entered] = target.split(sep)
  const height = coreFloors.indexOf(floor)
  if (height === -1 || room !== "src") return undefined
  return coreFloors.indexOf(entered) > height ? entered : undefined
}

const relativeComplaint = (place, file, specifier) => {
  const target = relative(resolve(root, place.path), resolve(dirname(file), specifier))
  if (target === ".." || target.startsWith(`..${sep}`)) {
    return `"${specifier}" reaches out of ${place.path}: import another package by its name.`
  }
  const above =
    place.path === "packages/core" ? floorAbove(floorOf(place.path, file), target) : undefined
  if (above !== undefined) {
    return `"${specifier}" is on the floor "${above}" of the core, above this file's: import from its own floor or below.`
  }
  const entered = isInEmulatorEntry(place.name, target.split(sep).join("/"))
  return entered && place.room === "src" && !place.isEmulatorEntry
    ? `"${specifier}" would load the emulator with ${place.path}: only tests and ${emulatorEntry} itself import it.`
    : undefined
}

const workspaceComplaint = (place, specifier, names) => {
  const imported = specifier.slice(scope.length).split("/")[0]
  if (imported === place.name) return undefined
  if (apps.includes(imported)) return `"${specifier}" is a program: nothing imports it.`
  if (place.area === "apps") return undefined
  if (
    specifier === `${scope}core` &&
    place.room === "src" &&
    packagesUnderTheService.includes(place.name) &&
    !place.isWorld
  ) {
    const called = names.find((name) => callersOfPorts.includes(name))
    if (called !== undefined) {
      return `${place.path} is under the service, and "${called}" of the core calls it: import ports.`
    }
  }
  if (place.name === "core" && place.room === "src") {
    return `The core may not import "${specifier}": everything points towards the core.`
  }
  const chosen = [
    ...(packagesThatChoose[place.name] ?? []),
    ...(place.room === "test" ? (testsThatChoose[place.name] ?? []) : []),
    ...(place.isEmulatorEntry ? ["emulator"] : []),
  ]
  const usual =
    (place.room === "src" ? packagesOutside[place.name] : undefined) ?? workspaceImports[place.room]
  const allowed = [...usual, ...chosen]
  return allowed.includes(imported)
    ? undefined
    : `${place.path}/${place.room} may import ${allowed.join(" and ") || "nothing"} of this workspace, not "${specifier}": adapters do not know one another, apps choose them.`
}

const foreignComplaint = (place, specifier) => {
  const [library] = specifier.split("/")
  const homes = libraryHomes[library]
  if (homes !== undefined && !homes.includes(place.name)) {
    return `"${specifier}" is known to ${homes.join(" and ") || "no package of ours"} alone: import the adapter, or core's port.`
  }
  if (place.path !== "packages/core") return undefined
  const allowed = place.room === "src" ? pureModules : coreTestModules
  return matches(allowed, specifier)
    ? undefined
    : `The core may not import "${specifier}" (only ${allowed.join(", ")}): it holds rules and does no I/O.`
}

const complaint = (place, file, specifier, names) => {
  if (specifier.startsWith(".") || specifier.startsWith("/")) {
    return relativeComplaint(place, file, specifier)
  }
  return specifier.startsWith(scope)
    ? workspaceComplaint(place, specifier, names)
    : foreignComplaint(place, specifier)
}

/** The names that a declaration imports, or exports from another module. */
const namesFrom = ({ specifiers = [] }) =>
  specifiers.map(({ imported, local }) => (imported ?? local).name)

const isNamespace = ({ type }) => type === "ImportNamespaceSpecifier"

/** Holds every static, dynamic, re-exporting and type import to the tables above. */
const imports = {
  create(context) {
    const place = placeOf(context.filename)
    if (place === undefined) return {}
    const namespaces = new Map()
    const report = (node, specifier, names) => {
      const message = complaint(place, context.filename, specifier, names)
      if (message !== undefined) context.report({ node, message })
    }
    const check = (node) => {
      const { source } = node
      if (typeof source?.value === "string") report(source, source.value, namesFrom(node))
    }
    const checkMember = (node, of, name) => {
      const specifier = namespaces.get(of)
      if (specifier !== undefined) report(node, specifier, [name])
    }
    return {
      ImportDeclaration(node) {
        check(node)
        const whole = node.specifiers.find(isNamespace)
        if (whole !== undefined) namespaces.set(whole.local.name, node.source.value)
      },
      MemberExpression: (node) => checkMember(node, node.object.name, node.property.name),
      TSQualifiedName: (node) => checkMember(node, node.left.name, node.right.name),
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    }
  },
}

/** `new Date()` and `Date()` read the wall clock; `new Date(ms)` only converts a time. */
const noWallClock = {
  create(context) {
    const report = (node) =>
      context.report({
        node,
        message: "This reads the wall clock: take the time from Effect's Clock.",
      })
    const isDate = (callee) => callee.type === "Identifier" && callee.name === "Date"
    return {
      NewExpression(node) {
        if (isDate(node.callee) && node.arguments.length === 0) report(node)
      },
      CallExpression(node) {
        if (isDate(node.callee)) report(node)
      },
    }
  },
}

/**
 * `layer(services)(tests)` closes its services after as many tests as it has, a second try counted
 * twice: the last test then stands without them. `layer(services)(name, tests)` closes them at its end.
 */
const namedLayers = {
  create(context) {
    return {
      CallExpression(node) {
        const { callee } = node
        if (
          callee.type === "CallExpression" &&
          callee.callee.type === "Identifier" &&
          callee.callee.name === "layer" &&
          node.arguments.length === 1
        ) {
          context.report({
            node,
            message:
              "Give the layer's tests a name: without one a second try breaks the last test.",
          })
        }
      },
    }
  },
}

/** What a module may consist of. Whatever else stands at its top does something when it is loaded. */
const declarations = [
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ExportDefaultDeclaration",
  "VariableDeclaration",
  "FunctionDeclaration",
  "ClassDeclaration",
  "TSTypeAliasDeclaration",
  "TSInterfaceDeclaration",
  "TSModuleDeclaration",
]

/**
 * Packages say that importing them does nothing (`sideEffects: false`), and bundlers drop the modules
 * of which nothing is used: a module that did something would do it in one program and not in another.
 */
const noWorkOnLoad = {
  create(context) {
    return {
      Program({ body }) {
        for (const node of body) {
          if (declarations.includes(node.type)) continue
          context.report({
            node,
            message: "This runs when the module is loaded, but packages say that nothing does.",
          })
        }
      },
    }
  },
}

export default {
  meta: { name: "architecture" },
  rules: {
    imports,
    "no-wall-clock": noWallClock,
    "named-layers": namedLayers,
    "no-work-on-load": noWorkOnLoad,
    "no-real-time": noRealTime,
  },
}
