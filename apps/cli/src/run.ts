/** The program as a function: a command line and a machine in, an exit code out. */
import { MessagingError, messagingClient, operatorClient } from "@messaging-service/client"
import { version } from "@messaging-service/core"
import { makeAccess } from "./Access.ts"
import type { Command, CommonOptions } from "./Command.ts"
import { commands } from "./commands/index.ts"
import { Ended, toEnding, exitCode, interruptible, usageError } from "./ending.ts"
import type { Ending } from "./ending.ts"
import { commandHelp, groupHelp, help } from "./help.ts"
import { makeOutput } from "./Output.ts"
import { findCommand, readLine, refuseFormerNames } from "./parse.ts"
import type { Machine } from "./Machine.ts"
import { nearest } from "./suggest.ts"
import { toTarget, workspaceClient } from "./WorkspaceClient.ts"

/** Runs one command line to its end. */
export const run = async (line: ReadonlyArray<string>, machine: Machine): Promise<number> => {
  // Errors are then JSON too, even for wrong options.
  const json = line.includes("--json")
  const notify = ({ ending, line: formatted, ...reported }: Notification): number => {
    const { message } = reported
    machine.remark(
      json ? `${JSON.stringify({ error: reported })}\n` : `messaging: ${formatted ?? message}\n`,
    )
    return exitCode(ending)
  }
  const code = await obey(line, machine).then(
    () => exitCode("done"),
    (error: unknown) => notify(toFailure(error)),
  )
  const unwritten = await machine.written()
  // The reader of the output may have seen enough, as `head` does: no failure.
  if (unwritten === null || unwritten.code === "EPIPE") return code
  const message = `cannot write to standard output: ${unwritten.message}`
  const told = notify({ ending: "unwritten", message })
  return code === exitCode("done") ? told : code
}

const obey = async (line: ReadonlyArray<string>, machine: Machine): Promise<void> => {
  const { command, rest, texts } = findCommand(line, commands)
  refuseFormerNames(line, command)
  if (command === undefined) {
    const [first, second] = texts
    const isGroup = first !== undefined && commands.some(({ name }) => name.startsWith(`${first} `))
    if (first === undefined && rest.includes("--version")) {
      return machine.print(
        line.includes("--json") ? `${JSON.stringify({ version })}\n` : `messaging ${version}\n`,
      )
    }
    if (first === undefined) return machine.print(help(commands))
    if (first === "all" && rest.some(isHelp)) return machine.print(groupHelp(commands))
    if (isGroup && (second === undefined || rest.some(isHelp))) {
      return machine.print(groupHelp(commands, first))
    }
    const alone = isGroup && commands.some(({ name }) => name === second) ? second : undefined
    const meant = alone ?? meantBy(texts)
    const hint = elsewhere[first] ?? (meant === undefined ? undefined : `"${meant}"`)
    throw usageError(
      `unknown command "${texts.join(" ")}";${hint === undefined ? "" : ` did you mean ${hint}?`} messaging ${isGroup ? first : "help all"} lists them`,
    )
  }
  const { common, values } = readLine(command, rest, machine.now())
  if (common.help) return machine.print(commandHelp(command))
  const output = makeOutput(machine, common, toFields(common))
  let changes = false
  const requesting = {
    ...machine,
    fetch: (url: string, init: RequestInit) => {
      changes = init.method !== "GET"
      return machine.fetch(url, init)
    },
  }
  const { client, lastRequested, operator, service } = getClients(common, requesting)
  const target = command.as === "key or operator" ? toTarget(values) : undefined
  const tools = {
    machine: requesting,
    commands,
    output,
    common,
    service,
    client,
    operator,
    caller: () => (target === undefined ? client() : workspaceClient(operator(), target)),
    place: target,
  }
  const goesOn = () => (changes ? "the last request may have taken effect" : undefined)
  try {
    await interruptible(machine.signal, goesOn, async () => {
      try {
        await command.run(values, tools)
      } catch (error) {
        const named = withOptionNamed(withAddressNamed(error, lastRequested()), command)
        throw changes ? withDoubtNamed(named) : named
      }
    })
  } finally {
    output.progress(undefined)
  }
}

/** Makes clients when they are needed, and knows the last one's address. */
const getClients = (common: CommonOptions, machine: Machine) => {
  const access = makeAccess(common, machine)
  let request: ParsedCommand = { by: "key", url: access.service }
  const connection = () => toConnection(common, request.url(), machine)
  return {
    service: access.service,
    lastRequested: () => request,
    client: () => {
      const key = access.key()
      request = { by: "key", url: access.service }
      return create(() => messagingClient({ ...connection(), key }))
    },
    operator: () => {
      const token = access.operatorToken()
      request = { by: "operator", url: access.operatorService }
      return create(() => operatorClient({ ...connection(), token }))
    },
  }
}

/** Commands of another program. */
const elsewhere: Readonly<Record<string, string>> = {
  doctor: '"status", or "messaging-server doctor" on the machine of the service',
}

/** The command with nearly these words; only its first one when the second is like none. */
const meantBy = ([first = "", second]: ReadonlyArray<string>): string | undefined => {
  const all = commands.map((each) => each.name.split(" "))
  const firsts = all.flatMap((each) => each.slice(0, 1))
  const group = firsts.includes(first) ? first : nearest(first, firsts)
  const seconds = all.filter(([word]) => word === group).flatMap((each) => each.slice(1))
  const meant = second === undefined || seconds.includes(second) ? second : nearest(second, seconds)
  if (meant !== undefined && seconds.includes(meant)) return `${group} ${meant}`
  return group === first ? undefined : group
}

const toFields = ({ fields }: CommonOptions): ReadonlyArray<string> | undefined => {
  if (fields === undefined) return undefined
  const names = fields.split(",").map((name) => name.trim())
  if (names.includes("")) throw usageError("--fields is a list of names, such as id,status")
  return names
}

/** The client reports a wrong url or key, and sends no request then. */
const create = <A>(make: () => A): A => {
  try {
    return make()
  } catch (error) {
    throw usageError(toMessage(error))
  }
}

const isHelp = (word: string): boolean => word === "--help" || word === "-h"

const toConnection = (
  { retries, timeout }: CommonOptions,
  url: string,
  { fetch, signal }: Machine,
) => ({
  fetch,
  url,
  signal,
  ...(timeout === undefined ? {} : { timeoutMillis: timeout * 1000 }),
  ...(retries === undefined ? {} : { retries }),
})

/** Who asked last, and at which address. */
interface ParsedCommand {
  readonly by: "key" | "operator"
  readonly url: () => string
}

const wrongAddress: Readonly<Record<ParsedCommand["by"], string>> = {
  key: "With ADMIN_PORT this may be the operator's address: name the customers' one, that of PORT, with --service.",
  operator:
    "With ADMIN_PORT the operator has another address: name it with --operator-service, MESSAGING_OPERATOR_SERVICE or in the profile.",
}

/**
 * An error that a wrong address may have caused, with a hint: a path that the service lacks, and a
 * token that the customers' port never takes. When the address has a path too, that is often the
 * interface's, which the program adds itself.
 */
export const withAddressNamed = (error: unknown, { by, url }: ParsedCommand): unknown => {
  if (!(error instanceof MessagingError)) return error
  const isPath = error.code === "not_found"
  if (!isPath && !(by === "operator" && error.code === "invalid_operator_token")) return error
  const { origin, pathname = "/" } = URL.parse(url()) ?? {}
  const hint =
    pathname === "/" || !isPath
      ? `The address was ${url()}. ${wrongAddress[by]}`
      : `The address of the service has the path ${pathname}: give ${origin} alone, unless the service is mounted there.`
  return new MessagingError({ ...error, text: `${error.text} ${hint}` })
}

/** A change without a usable answer; a repeat of the command would be another request. */
const withDoubtNamed = (error: unknown): unknown => {
  if (!(error instanceof MessagingError) || toEnding(error) !== "unavailable") return error
  // The service refuses so before it does anything.
  if (error.code === "service_unavailable" || error.status === 429) return error
  return new MessagingError({ ...error, text: `${error.text}; it may have taken effect` })
}

/** Options with other names than the fields that they fill. */
const optionOfField: Readonly<Record<string, string>> = {
  account_disabled: "disabled",
  event_id: "event",
  expires_at: "expires",
  expires_in: "expires",
  jitter_ms: "jitter",
  min_interval_ms: "rest",
  new_recipients_per_day: "new-recipients",
  number_id: "number",
  number_ids: "number",
  proxy_url: "proxy",
  retention_days: "retention",
  seconds: "duration",
  send_at: "at",
}

/** The option or argument that filled a field such as `schedule.cron` or `phones[3]`; undefined for none. */
const findOption = (field: string, command: Command): string | undefined => {
  const path = field.replaceAll(/\[\d+\]/g, "").split(".")
  const [first = ""] = path
  const last = path.at(-1) ?? ""
  const names = [path.join("-"), last, first].map((name) => name.replaceAll("_", "-"))
  const singular = names.map((name) => name.replace(/s$/, ""))
  const candidates = [...names, optionOfField[last] ?? "", ...singular]
  const found = candidates.find((name) => name in command.options || name in command.arguments)
  if (found === undefined) return undefined
  return found in command.options ? `--${found}` : found.toUpperCase()
}

/** A refusal of a field in the words of the command line; the field itself stays in brackets. */
const withOptionNamed = (error: unknown, command: Command): unknown => {
  if (!(error instanceof MessagingError) || error.field === null) return error
  const option = findOption(error.field, command)
  if (option === undefined) return error
  const text = error.text.startsWith(`${error.field}: `)
    ? error.text.slice(error.field.length + 2)
    : error.text
  return new MessagingError({ ...error, text: `${option}: ${text}` })
}

const toMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

interface Notification {
  readonly ending: Ending
  readonly message: string
  /** For people, where it adds to the message; programs get these as fields. */
  readonly line?: string
  readonly code?: string
  readonly field?: string | null
  readonly request_id?: string | null
}

const toFailure = (error: unknown): Notification => {
  if (error instanceof Ended) return { ending: error.ending, message: error.message }
  if (error instanceof MessagingError) {
    const { code, details, field, message, requestId, text } = error
    const cause = error.cause instanceof Error ? `: ${rootCause(error.cause)}` : ""
    return {
      ending: toEnding(error),
      message: `${text}${cause}`,
      line: `${message}${cause}`,
      code,
      field,
      ...details,
      request_id: requestId,
    }
  }
  return {
    ending: "fault",
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }
}

/** `fetch` says "fetch failed", and the reason is at the bottom. */
const rootCause = (error: Error): string =>
  error.cause instanceof Error ? rootCause(error.cause) : error.message.trim()
