/**
 * Profiles: named services with their secrets, in a file that only its owner may read. A profile is used
 * whole, so that no secret goes to the address of another service.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Ended, usageError } from "./ending.ts"
import type { Machine } from "./Machine.ts"

export interface Profile {
  /** The service's address. */
  readonly service: string
  /** The operator's address, where `ADMIN_PORT` makes it another one. */
  readonly operator_service?: string
  readonly key?: string
  readonly operator_key?: string
}

export const getOperatorService = ({ operator_service, service }: Profile): string =>
  operator_service ?? service

export interface Profiles {
  /** The profile without another choice. */
  readonly default: string | null
  readonly profiles: Readonly<Record<string, Profile>>
}

const none: Profiles = { default: null, profiles: {} }

/** `$XDG_CONFIG_HOME/messaging/profiles.json`; undefined without a home. */
const findFile = ({ XDG_CONFIG_HOME, HOME }: Machine["env"]): string | undefined => {
  const folder = XDG_CONFIG_HOME || (HOME ? join(HOME, ".config") : undefined)
  return folder === undefined ? undefined : join(folder, "messaging", "profiles.json")
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isProfile = (value: unknown): value is Profile =>
  isObject(value) &&
  isText(value["service"]) &&
  [value["operator_service"], value["key"], value["operator_key"]].every(
    (each) => each === undefined || isText(each),
  )

const isProfiles = (value: unknown): value is Profiles =>
  isObject(value) &&
  (value["default"] === null || isText(value["default"])) &&
  isObject(value["profiles"]) &&
  Object.values(value["profiles"]).every(isProfile)

const toMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** All profiles; a file that others may read is a usage error. */
export const readProfiles = ({ env }: Machine): Profiles => {
  const file = findFile(env)
  if (file === undefined) return none
  let text: string
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw usageError(`others may read ${file}, which holds secrets: chmod 600 ${file}`)
    }
    text = readFileSync(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return none
    throw error instanceof Ended ? error : usageError(`cannot read ${file}: ${toMessage(error)}`)
  }
  const found = parsed(text)
  if (isProfiles(found)) return found
  throw usageError(`${file} is not a file of profiles: repair it, or remove it and set them again`)
}

/** Replaces the file at once, so that a crash leaves the former one. */
export const writeProfiles = ({ env }: Machine, profiles: Profiles): void => {
  const file = findFile(env)
  if (file === undefined) throw usageError("set HOME or XDG_CONFIG_HOME: profiles are kept there")
  const beside = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(beside, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: "wx" })
    renameSync(beside, file)
  } catch (error) {
    throw usageError(`cannot write ${file}: ${toMessage(error)}`)
  }
}

/** Its profile of that name, if any. */
export const findProfile = ({ profiles }: Profiles, name: string): Profile | undefined =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined

/** Its profile of that name. */
export const profileNamed = (stored: Profiles, name: string): Profile => {
  const found = findProfile(stored, name)
  if (found !== undefined) return found
  const names = Object.keys(stored.profiles).join(", ")
  throw usageError(`unknown profile "${name}"; there are ${names === "" ? "none" : names}`)
}
