/** Profiles: services by name, with the secrets for them. */
import { messagingClient, operatorClient } from "@messaging-service/client"
import { readSecret } from "../Access.ts"
import { command, flag, once, text } from "../Command.ts"
import type { Tools } from "../Command.ts"
import { usageError } from "../ending.ts"
import { inputOf } from "../Machine.ts"
import { operatorServiceOf, profileNamed, readProfiles, writeProfiles } from "../Profiles.ts"
import type { Profile } from "../Profiles.ts"

interface Row extends Profile {
  readonly name: string
  readonly isDefault: boolean
}

/** No secret is shown. */
const shownOf = ({ isDefault, key, name, operator_key, operator_service, service }: Row) => ({
  name,
  service,
  operator_service: operator_service ?? null,
  key: key !== undefined,
  operator_key: operator_key !== undefined,
  default: isDefault,
})

const columns = [
  "name",
  "service",
  ["operator service", "operator_service"],
  "key",
  ["operator key", "operator_key"],
  "default",
] as const

const nameValue = text("NAME", "Letters, digits, dots, dashes and underscores; up to 50.")

const name = once({
  ...nameValue,
  read: (given: string) => {
    if (/^[\w.-]{1,50}$/.test(given) && given !== "__proto__") return given
    throw usageError("NAME has 1 to 50 letters, digits, dots, dashes and underscores")
  },
})

const secretOf = async (
  file: string | undefined,
  option: string,
  { machine }: Tools,
): Promise<string | undefined> => {
  if (file === undefined) return undefined
  const given =
    file === "-" ? (await inputOf(machine, `the secret of --${option} -`)).trim() : readSecret(file)
  if (given === "") throw usageError(`--${option} holds nothing`)
  return given
}

/** The clients refuse addresses and secrets that cannot be sent. */
const checked = (profile: Profile): Profile => {
  const { key, operator_key: token, service } = profile
  try {
    messagingClient({ url: service, key: key ?? "key" })
    operatorClient({ url: operatorServiceOf(profile), token: token ?? "token" })
    return profile
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** What stays of a profile with these addresses: a secret is for one of them. */
const keptOf = (
  before: Profile | undefined,
  service: string,
  operator: string | undefined,
): Profile => {
  const kept = before?.service === service ? before : undefined
  const operatorService = operator ?? kept?.operator_service
  const profile = {
    service,
    ...(operatorService === undefined ? {} : { operator_service: operatorService }),
    ...(kept?.key === undefined ? {} : { key: kept.key }),
  }
  return kept?.operator_key !== undefined && operatorServiceOf(kept) === operatorServiceOf(profile)
    ? { ...profile, operator_key: kept.operator_key }
    : profile
}

const setProfile = async (named: string, tools: Tools): Promise<void> => {
  const { common, machine, output } = tools
  const { "key-file": keyFile, "operator-key-file": tokenFile } = common
  if (keyFile === "-" && tokenFile === "-") {
    throw usageError("standard input holds one secret: name a file for the other")
  }
  const key = await secretOf(keyFile, "key-file", tools)
  const token = await secretOf(tokenFile, "operator-key-file", tools)
  const kept = readProfiles(machine)
  const before = Object.hasOwn(kept.profiles, named) ? kept.profiles[named] : undefined
  const service = common.service ?? before?.service
  if (service === undefined) throw usageError("a new profile needs --service")
  const given = [common.service, common["operator-service"], key, token]
  if (given.every((each) => each === undefined)) {
    throw usageError("give what to keep, such as --service or --key-file")
  }
  const profile = checked({
    ...keptOf(before, service, common["operator-service"]),
    ...(key === undefined ? {} : { key }),
    ...(token === undefined ? {} : { operator_key: token }),
  })
  const isDefault = kept.default === null || kept.default === named
  writeProfiles(machine, {
    default: kept.default ?? named,
    profiles: { ...kept.profiles, [named]: profile },
  })
  output.one(shownOf({ ...profile, name: named, isDefault }), columns)
}

export const profileCommands = [
  command({
    words: "profile set",
    as: "none",
    summary: "Keeps a service under a name, with its secrets, or changes that.",
    about:
      "Takes --service, --key-file and --operator-key-file, and copies what the files hold; - reads standard input.\nWith ADMIN_PORT it takes --operator-service too. The first profile is the default one. Another address forgets\nthe secrets of the former one.",
    arguments: { name },
    run: (given, tools) => setProfile(given.name, tools),
  }),
  command({
    words: "profile list",
    as: "none",
    summary: "Lists the profiles, without their secrets.",
    run: (_, { machine, output }) => {
      const kept = readProfiles(machine)
      const rows = Object.entries(kept.profiles).map(([each, profile]) =>
        shownOf({ ...profile, name: each, isDefault: each === kept.default }),
      )
      return output.all(rows, columns)
    },
  }),
  command({
    words: "profile use",
    as: "none",
    summary: "Makes a profile the default one.",
    arguments: { name },
    run: (given, { machine, output }) => {
      const kept = readProfiles(machine)
      const profile = profileNamed(kept, given.name)
      writeProfiles(machine, { ...kept, default: given.name })
      output.one(shownOf({ ...profile, name: given.name, isDefault: true }), columns)
    },
  }),
  command({
    words: "profile remove",
    as: "none",
    summary: "Forgets a profile and its secrets.",
    arguments: { name },
    options: { yes: flag("It is meant. Required for the default profile.") },
    run: (given, { machine, output }) => {
      const kept = readProfiles(machine)
      const profile = profileNamed(kept, given.name)
      const isDefault = kept.default === given.name
      if (isDefault && !given.yes) throw usageError("removing the default profile needs --yes")
      const { [given.name]: _, ...profiles } = kept.profiles
      writeProfiles(machine, { default: isDefault ? null : kept.default, profiles })
      output.one(shownOf({ ...profile, name: given.name, isDefault }), columns)
    },
  }),
]
