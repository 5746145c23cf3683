/** Numbers of a workspace, and linking them to phones. */
import type { ListedConnection, SendingNumber } from "@messaging-service/client"
import {
  choice,
  command,
  count,
  id,
  maybe,
  number as wholeNumber,
  once,
  phoneValue,
  targetOptions,
  text,
  time,
  workspace,
} from "../Command.ts"
import { Ended, interruptible, usageError } from "../ending.ts"
import { qrCodeText } from "../qrCode.ts"
import { readInput } from "../Machine.ts"
import { targetText } from "../WorkspaceClient.ts"
import { follow } from "./polling.ts"
import { callerDetail, toFields, operatorDetail } from "./rows.ts"

const columns = ["id", "phone", "label", "platform", "status"] as const

const connectionColumns = [
  ["number", "number_id"],
  "state",
  "reason",
  "waiting",
  "next_send_at",
  ["quota", ({ quota }: ListedConnection) => `${quota.used}/${quota.limit}`],
] as const

const inWorkspace = { arguments: { id: once(id("number")) }, options: { workspace } } as const

/** Text for a person, which changes with each new code to scan or type. */
const getCode = async (
  connect: SendingNumber["connect"],
  signal: AbortSignal,
): Promise<string | undefined> => {
  if (connect === null) return undefined
  if (connect.linking) return "The phone has the code; linking.\n"
  if (connect.pairing_code !== null) {
    return `Type this code on the phone, under linked devices: ${connect.pairing_code}\n`
  }
  if (connect.qr_code_url === null) return undefined
  try {
    const picture = await fetch(connect.qr_code_url, { signal })
    if (!picture.ok) throw new Error(`it was answered ${picture.status}`)
    const code = await qrCodeText(new Uint8Array(await picture.arrayBuffer()))
    return `Scan this with the phone, under linked devices:\n${code}`
  } catch {
    // Links begin with the service's public address, which this machine may not reach.
    return "The code cannot be shown here; run the command with --json and open qr_code_url in a browser.\n"
  }
}

export const numberCommands = [
  command({
    name: "numbers list",
    as: "key or operator",
    summary: "Lists numbers: the key's, or all of a workspace.",
    options: { workspace: maybe(workspace.value) },
    run: async ({ workspace: inside }, { client, operator, output }) =>
      inside === undefined
        ? output.all(await client().numbers.list(), columns)
        : output.all(await operator().numbers.list(inside), columns),
  }),
  command({
    name: "numbers get",
    as: "key or operator",
    summary: "Shows a number: the key's, or one of a workspace with its pacing and proxy.",
    arguments: { id: once(id("number")) },
    options: { workspace: maybe(workspace.value) },
    run: async ({ id: number, workspace: inside }, { client, operator, output }) =>
      inside === undefined
        ? output.one(await client().numbers.get(number))
        : output.one(await operator().numbers.get(inside, number)),
  }),
  command({
    name: "numbers connect",
    as: "key or operator",
    summary: "Links a WhatsApp number: shows the code to scan or to type, and waits.",
    about:
      "It ends when the number is connected, or after ten minutes. With --json each poll prints a line,\nwith the link to the picture of the code.",
    options: {
      ...targetOptions,
      number: maybe(count("ID", "Relinks this number instead of adding one.")),
      phone: maybe(phoneValue("Shows a code to type on that phone instead of one to scan.")),
    },
    run: async ({ number, phone }, tools) => {
      const started = await tools.caller().numbers.connect({
        ...toFields({ number_id: number }),
        ...(phone === undefined ? {} : { login_method: "phone_code", phone }),
      })
      const { output, machine } = tools
      const goesOn = () =>
        `number ${started.id} is still connecting; messaging numbers get ${started.id}${targetText(tools.place, { withMode: false })} shows the result`
      const linking = {
        isOver: ({ status }: SendingNumber) => status !== "connecting",
        check: () => tools.caller().numbers.get(started.id),
        toShow: ({ connect }: SendingNumber) => getCode(connect, machine.signal),
      }
      const ended = await interruptible(machine.signal, goesOn, () =>
        follow(started, linking, tools),
      )
      // The reader of the codes has gone: the attempt continues without it.
      if (ended.status === "connecting") return
      if (!output.json) output.one(ended, columns)
      if (ended.status !== "connected") {
        throw new Ended("failed", `number ${ended.id} was not linked`)
      }
    },
  }),
  command({
    name: "numbers add",
    as: "operator",
    summary: "Adds a number to a workspace.",
    arguments: { phone: once(phoneValue("E.164 with +.")) },
    options: {
      workspace,
      platform: maybe(choice(["whatsapp", "telegram"], "Default: whatsapp.")),
      label: maybe(text("LABEL", "A name for people.")),
      status: maybe(
        choice(
          ["connected", "disconnected"],
          "Default: connected; live numbers start disconnected.",
        ),
      ),
    },
    run: async ({ platform = "whatsapp", workspace: inside, ...args }, { operator, output }) => {
      const added = await operator().numbers.create(inside, { platform, ...toFields(args) })
      output.one(added, columns)
    },
  }),
  command({
    name: "numbers update",
    as: "operator",
    summary: "Changes a number's label, pacing or proxy.",
    about:
      "A limit of 0 removes it. The proxy's URL contains its password: --proxy - reads it from standard input.",
    arguments: inWorkspace.arguments,
    options: {
      workspace,
      label: maybe(text("LABEL", "A name for people.")),
      rest: maybe(wholeNumber("MILLIS", "The minimum rest between messages.")),
      jitter: maybe(wholeNumber("MILLIS", "The maximum addition to that rest.")),
      "per-minute": maybe(wholeNumber("COUNT", "Messages a minute.")),
      "per-hour": maybe(wholeNumber("COUNT", "Messages an hour.")),
      "new-recipients": maybe(wholeNumber("COUNT", "New recipients in 24 hours.")),
      proxy: maybe(text("URL", "The proxy of its connection; none removes it.")),
    },
    run: async ({ id: number, label, proxy, workspace: inside, ...args }, tools) => {
      const limits = [
        ["min_interval_ms", args.rest],
        ["jitter_ms", args.jitter],
        ["per_minute", args["per-minute"]],
        ["per_hour", args["per-hour"]],
        ["new_recipients_per_day", args["new-recipients"]],
      ] as const
      const named = limits.flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value === 0 ? null : value] as const],
      )
      if ([label, proxy, ...named].every((each) => each === undefined)) {
        throw usageError("give what to change, such as --label")
      }
      const address =
        proxy === "-" ? (await readInput(tools.machine, "the URL of --proxy -")).trim() : proxy
      const changed = await tools.operator().numbers.update(inside, number, {
        ...toFields({ label }),
        ...(named.length === 0 ? {} : { pacing: Object.fromEntries(named) }),
        ...(address === undefined ? {} : { proxy_url: address === "none" ? null : address }),
      })
      tools.output.one(changed)
    },
  }),
  operatorDetail(
    "numbers remove",
    "number",
    "numbers.delete",
    "Removes a number and cancels its waiting messages.",
  ),
  command({
    name: "numbers connections",
    as: "operator",
    summary: "Lists the connections of a workspace's numbers, with what they may still send.",
    options: { workspace },
    run: async (input, { operator, output }) => {
      const { data } = await operator().numbers.connections(input.workspace)
      await output.all(data, connectionColumns)
    },
  }),
  operatorDetail(
    "numbers connection",
    "number",
    "numbers.connection",
    "Shows the state of a number's connection, and why its messages wait.",
  ),
  callerDetail(
    "numbers restrictions",
    "number",
    "numbers.restrictions",
    "Shows what WhatsApp lets a number do with new chats.",
  ),
  command({
    name: "numbers pause",
    as: "operator",
    summary: "Pauses a number; its messages wait.",
    arguments: inWorkspace.arguments,
    options: { workspace, until: maybe(time("When it resumes automatically.")) },
    run: async ({ id: number, until, workspace: inside }, { operator, output }) =>
      output.one(await operator().numbers.pause(inside, number, toFields({ until }))),
  }),
  operatorDetail("numbers resume", "number", "numbers.resume", "Resumes a paused number."),
  operatorDetail(
    "numbers check-proxy",
    "number",
    "numbers.checkProxy",
    "Tests a number's proxy with one connection, within 10 seconds.",
  ),
  operatorDetail(
    "numbers logout",
    "number",
    "numbers.logOut",
    "Logs a number out and erases its credentials; its messages wait.",
    columns,
  ),
]
