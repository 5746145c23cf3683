/** Profiles: services by name, with the secrets for them. */
import { messagingClient, operatorClient } from "@messaging-service/client"
import { readSecret } from "../Access.ts"
import { command, flag, maybe, once, text } from "../Command.ts"
import type { Tools } from "../Command.ts"
import { usageError } from "../ending.ts"
import { readInput } from "../Machine.ts"
import {
  findProfile,
  getOperatorService,
  profileNamed,
  readProfiles,
  writeProfiles,
} from "../Profiles.ts"
import type { Profile } from "../Profiles.ts"

interface Row extends Profile {
  readonly name: string
  readonly isDefault: boolean
}

/** No secret is shown. */
const toView = ({ isDefault, key, name, operator_key, operator_service, service }: Row) => ({
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
  read: (value: string) => {
    if (/^[\w.-]{1,50}$/.test(value) && value !== "__proto__") return value
    throw usageError("NAME has 1 to 50 letters, digits, dots, dashes and underscores")
  },
})

const getSecret = async (
  file: string | undefined,
  option: string,
  { machine }: Tools,
): Promise<string | undefined> => {
  if (file === undefined) return undefined
  const value =
    file === "-"
      ? (await readInput(machine, `the secret of --${option} -`)).trim()
      : readSecret(file)
  if (value === "") throw usageError(`--${option} is empty`)
  return value
}

/** The clients refuse addresses and secrets that cannot be sent. */
const checked = (profile: Profile): Profile => {
  const { key, operator_key: token, service } = profile
  try {
    messagingClient({ url: service, key: key ?? "key" })
    operatorClient({ url: getOperatorService(profile), token: token ?? "token" })
    return profile
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** What stays of a profile with these addresses: a secret is for one of them. */
const readStored = (
  before: Profile | undefined,
  service: string,
  operator: string | undefined,
): Profile => {
  const stored = before?.service === service ? before : undefined
  const operatorService = operator ?? stored?.operator_service
  const profile = {
    service,
    ...(operatorService === undefined ? {} : { operator_service: operatorService }),
    ...(stored?.key === undefined ? {} : { key: stored.key }),
  }
  return stored?.operator_key !== undefined &&
    getOperatorService(stored) === getOperatorService(profile)
    ? { ...profile, operator_key: stored.operator_key }
    : profile
}

const setProfile = async (named: string, tools: Tools): Promise<void> => {
  const { common, machine, output } = tools
  const { "key-file": keyFile, "operator-key-file": tokenFile } = common
  if (keyFile === "-" && tokenFile === "-") {
    throw usageError("standard input holds one secret: name a file for the other")
  }
  const key = await getSecret(keyFile, "key-file", tools)
  const token = await getSecret(tokenFile, "operator-key-file", tools)
  const stored = readProfiles(machine)
  const before = findProfile(stored, named)
  const service = common.service ?? before?.service
  if (service === undefined) throw usageError("a new profile needs --service")
  const input = [common.service, common["operator-service"], key, token]
  if (input.every((each) => each === undefined)) {
    throw usageError("give what to keep, such as --service or --key-file")
  }
  const profile = checked({
    ...readStored(before, service, common["operator-service"]),
    ...(key === undefined ? {} : { key }),
    ...(token === undefined ? {} : { operator_key: token }),
  })
  const isDefault = stored.default === null || stored.default === named
  writeProfiles(machine, {
    default: stored.default ?? named,
    profiles: { ...stored.profiles, [named]: profile },
  })
  output.one(toView({ ...profile, name: named, isDefault }), columns)
}

/** The key of `--key-file`, of standard input, or as a person types it. */
const getKey = async (tools: Tools): Promise<string> => {
  const { common, machine } = tools
  const file = common["key-file"]
  if (file !== undefined) return (await getSecret(file, "key-file", tools)) ?? ""
  return machine.askSecret === null ? readInput(machine, "the key") : machine.askSecret("API key: ")
}

/** Saves a key that its service accepts, as a profile that is the default one from now on. */
const login = async (named: string, tools: Tools): Promise<void> => {
  const { common, machine, output } = tools
  const stored = readProfiles(machine)
  const before = findProfile(stored, named)
  const service = common.service ?? before?.service ?? tools.service()
  const key = (await getKey(tools)).trim()
  if (key === "") throw usageError("the key is empty")
  const profile = checked({ ...readStored(before, service, common["operator-service"]), key })
  const { fetch, signal } = machine
  const me = await messagingClient({ url: service, key, fetch, signal }).me()
  writeProfiles(machine, {
    default: named,
    profiles: { ...stored.profiles, [named]: profile },
  })
  output.one({ profile: named, service, workspace: me.workspace, key: me.key })
}

export const profileCommands = [
  command({
    name: "login",
    as: "new key",
    summary: "Saves a service and a key as the default profile, once the service accepts the key.",
    about:
      "Takes --service, and asks for the key; --key-file names a file with it, and - reads standard input.\nThe profile is named default, or NAME.",
    arguments: { name: maybe(name.value) },
    run: (input, tools) => login(input.name ?? "default", tools),
  }),
  command({
    name: "profile set",
    as: "none",
    summary: "Saves or updates a profile: a service and its secrets.",
    about:
      "Takes --service, --key-file and --operator-key-file, and copies what the files hold; - reads standard input.\nWith ADMIN_PORT it takes --operator-service too. The first profile is the default one. Another address forgets\nthe secrets of the former one.",
    arguments: { name },
    run: (input, tools) => setProfile(input.name, tools),
  }),
  command({
    name: "profile list",
    as: "none",
    summary: "Lists the profiles, without their secrets.",
    run: (_, { machine, output }) => {
      const stored = readProfiles(machine)
      const rows = Object.entries(stored.profiles).map(([each, profile]) =>
        toView({ ...profile, name: each, isDefault: each === stored.default }),
      )
      return output.all(rows, columns)
    },
  }),
  command({
    name: "profile use",
    as: "none",
    summary: "Sets the default profile.",
    arguments: { name },
    run: (input, { machine, output }) => {
      const stored = readProfiles(machine)
      const profile = profileNamed(stored, input.name)
      writeProfiles(machine, { ...stored, default: input.name })
      output.one(toView({ ...profile, name: input.name, isDefault: true }), columns)
    },
  }),
  command({
    name: "profile remove",
    as: "none",
    summary: "Deletes a profile and its secrets.",
    arguments: { name },
    options: { yes: flag("Confirms the command. Required for the default profile.") },
    run: (input, { machine, output }) => {
      const stored = readProfiles(machine)
      const profile = profileNamed(stored, input.name)
      const isDefault = stored.default === input.name
      if (isDefault && !input.yes) throw usageError("removing the default profile needs --yes")
      const { [input.name]: _, ...profiles } = stored.profiles
      writeProfiles(machine, { default: isDefault ? null : stored.default, profiles })
      output.one(toView({ ...profile, name: input.name, isDefault }), columns)
    },
  }),
]
