/**
 * The service that a command asks, and its secrets: of options, else of the chosen profile, else of the
 * environment, else of the default profile. Every process can see a command line, so no option takes a
 * secret itself.
 */
import { readFileSync } from "node:fs"
import { isLink } from "./Command.ts"
import type { CommonOptions } from "./Command.ts"
import { Ended, usageError } from "./ending.ts"
import type { Machine } from "./Machine.ts"
import { getOperatorService, profileNamed, readProfiles } from "./Profiles.ts"
import type { Profile } from "./Profiles.ts"

export interface Access {
  /** The service's address. */
  readonly service: () => string
  /** The address of its operator API: with `ADMIN_PORT` another one. */
  readonly operatorService: () => string
  /** Fails without one. */
  readonly key: () => string
  /** Fails without one. */
  readonly operatorToken: () => string
}

const secrets = {
  key: { variable: "MESSAGING_KEY", option: "key-file", field: "key", what: "key" },
  operator: {
    variable: "MESSAGING_OPERATOR_KEY",
    option: "operator-key-file",
    field: "operator_key",
    what: "operator token",
  },
} as const

type Secret = (typeof secrets)[keyof typeof secrets]

/** Variables that a default profile yields to: a single one would mix two services. */
const variables = [
  "MESSAGING_SERVICE",
  "MESSAGING_OPERATOR_SERVICE",
  ...Object.values(secrets).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
]

interface Named {
  readonly name: string
  readonly profile: Profile
}

/** The chosen profile, or the default one where nothing else names a service. */
const chosenProfile = (common: CommonOptions, machine: Machine): Named | undefined => {
  const { env } = machine
  const chosen = common.profile ?? (env["MESSAGING_PROFILE"] || undefined)
  if (chosen !== undefined) {
    return { name: chosen, profile: profileNamed(readProfiles(machine), chosen) }
  }
  const isNamed = common.service !== undefined || common["operator-service"] !== undefined
  if (isNamed || variables.some((name) => env[name])) return undefined
  const stored = readProfiles(machine)
  return stored.default === null
    ? undefined
    : { name: stored.default, profile: profileNamed(stored, stored.default) }
}

/** The address in the environment. The program refuses its former name, so no key goes to a wrong place. */
const findService = (env: Machine["env"]): string | undefined => {
  const text = env["MESSAGING_SERVICE"] || undefined
  if (text === undefined && env["MESSAGING_URL"]) {
    throw usageError("MESSAGING_URL is MESSAGING_SERVICE now, the address of the service")
  }
  if (text !== undefined && !isLink(text)) {
    throw usageError("MESSAGING_SERVICE is an address with https:// or http://")
  }
  return text
}

export const readSecret = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim()
  } catch (error) {
    throw usageError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

/** Where each secret of the profile goes, and where the options would send it. */
const toTargets = (
  profile: Profile,
  { service, "operator-service": operator }: CommonOptions,
): Readonly<Record<Secret["field"], readonly [own: string, asked: string | undefined]>> => ({
  key: [profile.service, service],
  operator_key: [
    getOperatorService(profile),
    operator ?? (service === profile.service ? undefined : service),
  ],
})

/** Of the profile, for its own address alone. */
const profileSecret = (
  { name, profile }: Named,
  { field, option, what }: Secret,
  common: CommonOptions,
): string => {
  const [own, query] = toTargets(profile, common)[field]
  if (query !== undefined && query !== own) {
    throw usageError(
      `the ${what} of the profile "${name}" is for ${own} alone: give --${option} with --service`,
    )
  }
  const stored = profile[field]
  if (stored !== undefined) return stored
  throw new Ended(
    "notAllowed",
    `the profile "${name}" has no ${what}: messaging profile set ${name} --${option} FILE`,
  )
}

/** Why the default profile does not count; empty where there is none. */
const passedOver = (common: CommonOptions, machine: Machine): string => {
  const { default: name } = readProfiles(machine)
  if (name === null) return ""
  const set = variables.find((variable) => machine.env[variable])
  const cause = set ?? (common.service === undefined ? "--operator-service" : "--service")
  return `; the profile "${name}" does not count with ${cause}: give --profile ${name}`
}

/** Of the environment. */
const environmentSecret = (
  common: CommonOptions,
  machine: Machine,
  { variable, what }: Secret,
): string => {
  const { env } = machine
  const file = env[`${variable}_FILE`] || undefined
  const text = file === undefined ? env[variable]?.trim() : readSecret(file)
  if (text !== undefined && text !== "") return text
  const hint = passedOver(common, machine)
  throw new Ended("notAllowed", `there is no ${what}: set ${variable} or ${variable}_FILE${hint}`)
}

export const makeAccess = (common: CommonOptions, machine: Machine): Access => {
  let found: { readonly named: Named | undefined } | undefined
  const named = () => (found ??= { named: chosenProfile(common, machine) }).named
  const secret = (which: Secret) => {
    const file = common[which.option]
    if (file !== undefined) {
      const text = readSecret(file)
      if (text !== "") return text
      throw new Ended("notAllowed", `${file} is empty`)
    }
    const of = named()
    return of === undefined
      ? environmentSecret(common, machine, which)
      : profileSecret(of, which, common)
  }
  const service = () =>
    common.service ??
    named()?.profile.service ??
    findService(machine.env) ??
    "http://127.0.0.1:8080"
  /** The operator's address of the same service; none for another `--service`. */
  const besideService = () => {
    const of = named()
    if (of === undefined) {
      return common.service === undefined
        ? machine.env["MESSAGING_OPERATOR_SERVICE"] || undefined
        : undefined
    }
    const isOwn = common.service === undefined || common.service === of.profile.service
    return isOwn ? of.profile.operator_service : undefined
  }
  return {
    service,
    operatorService: () => common["operator-service"] ?? besideService() ?? service(),
    key: () => secret(secrets.key),
    operatorToken: () => secret(secrets.operator),
  }
}
