/**
 * Which commands install less than everything; and what packing changes in manifests, and in none of the tree.
 * Each gets the address of its source. Only the clone that is packed knows that, by its `origin`, or else the
 * variable `REPOSITORY`. An address that others cannot reach, such as a folder of this machine, is none.
 * Programs lose their dependencies, which their bundles hold, and name the one library that is not in them. So does
 * the dashboard: its built pages hold them.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { relative } from "node:path"

const root = import.meta.dirname

/** `git@host:path` is written as no URL is. */
const scp = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/

/** Names with a dot, whose last part is no number and none that only a local network knows. */
const isPublicHost = (host) =>
  /^[a-z\d-]+(?:\.[a-z\d-]+)*\.[a-z][a-z\d-]*$/i.test(host) &&
  !/\.(?:local|localhost|internal|intranet|lan|home|corp)$/i.test(host)

/** As a manifest names it, without user, password and the port of SSH; undefined when others cannot reach it. */
export const repositoryUrl = (address) => {
  const [, host, path] = scp.exec(address) ?? []
  const text = host === undefined ? address : `ssh://${host}/${path}`
  if (!URL.canParse(text)) return undefined
  const { hostname, pathname, port, protocol } = new URL(text)
  if (protocol !== "https:" && protocol !== "ssh:") return undefined
  const place = pathname.replace(/^\/+/, "").replace(/(?:\.git)?\/*$/, "")
  if (!isPublicHost(hostname) || place === "") return undefined
  const at = protocol === "https:" && port !== "" ? `${hostname}:${port}` : hostname
  return `git+https://${at}/${place}.git`
}

const origin = () => {
  try {
    return execFileSync("git", ["-C", root, "config", "--get", "remote.origin.url"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim()
  } catch {
    return ""
  }
}

let found

/** Looked for once, and said once when there is none. */
const repository = () => {
  if (found === undefined) {
    found = repositoryUrl(origin()) ?? repositoryUrl(process.env.REPOSITORY ?? "") ?? null
    if (found === null) {
      console.error(
        "The packages name no repository: the clone's origin is no public address, and REPOSITORY names none.",
      )
    }
  }
  return found
}

const isBundle = ({ bin = {}, name, publishConfig = {} }) =>
  name === "@messaging-service/dashboard" ||
  Object.values(publishConfig.bin ?? bin).some((file) => file.includes("/bundle/"))

/** The one version of the library of WhatsApp that a bundle works with. */
const whatsAppLibrary = () => {
  const file = `${root}/packages/transport-whatsapp/node_modules/baileys/package.json`
  return {
    peerDependencies: { baileys: JSON.parse(readFileSync(file, "utf8")).version },
    peerDependenciesMeta: { baileys: { optional: true } },
  }
}

const bundled = ({ dependencies = {}, ...manifest }) => ({
  ...manifest,
  ...("@messaging-service/transport-whatsapp" in dependencies ? whatsAppLibrary() : {}),
})

/** They call `.ci/installProduct`. Before all other commands, pnpm installs the whole workspace. */
const installThemselves = ["start", "start:worker", "dev", "bundle", "install:product"]

/** What pnpm was called with: its hooks do not get it. Where processes have no files, nothing: all is installed. */
const calledWith = () => {
  try {
    const [, ...args] = readFileSync(`/proc/${process.ppid}/cmdline`, "utf8").split("\0")
    return args.find((each) => each !== "run" && !each.startsWith("-"))
  } catch {
    return undefined
  }
}

export const hooks = {
  updateConfig: (config) =>
    installThemselves.includes(calledWith()) ? { ...config, verifyDepsBeforeRun: false } : config,
  beforePacking: (manifest, directory) => {
    const url = repository()
    const packed = isBundle(manifest) ? bundled(manifest) : manifest
    return url === null
      ? packed
      : { ...packed, repository: { type: "git", url, directory: relative(root, directory) } }
  },
}
