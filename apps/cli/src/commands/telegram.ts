/**
 * Logins of Telegram accounts: with a code that Telegram sends, or a QR code that the account's app scans.
 */
import type { TelegramLogin } from "@messaging-service/client"
import { command, id, maybe, once, phoneValue, workspace } from "../Command.ts"
import { Ended, interruptible } from "../ending.ts"
import type { Output } from "../Output.ts"
import { drawQrCode } from "../qrCode.ts"
import { readInput } from "../Machine.ts"
import { follow } from "./polling.ts"
import { operatorDetail } from "./rows.ts"

const columns = [
  "state",
  ["show as a QR code", "qr_url"],
  ["code sent to", "code_sent_to"],
  ["ends", "expires_at"],
  "error",
] as const

const account = { arguments: { id: once(id("number")) }, options: { workspace } } as const

/** Ends the program with a failure when the login has failed. */
const mustGoOn = (login: TelegramLogin) => {
  if (login.state !== "failed" && login.state !== "expired") return
  throw new Ended("failed", `the login failed: ${login.error ?? login.state}`)
}

/** Shows the state of a login after a step. */
const show = (login: TelegramLogin, output: Output) => {
  output.one(login, columns)
  mustGoOn(login)
}

export const telegramCommands = [
  command({
    name: "telegram begin",
    as: "operator",
    summary: "Starts the login of a Telegram account: Telegram sends a code, or its app scans one.",
    about:
      "With --phone Telegram sends a code: give it to telegram code, and a password to telegram password. Without it, the\ncommand shows each new code to scan, and ends when the account is connected, needs its password, or after ten\nminutes. With --json each poll prints a line, with the code's link.",
    arguments: account.arguments,
    options: { workspace, phone: maybe(phoneValue("The account's phone, E.164 with +.")) },
    run: async ({ id: number, phone, workspace: inside }, tools) => {
      const { machine, operator, output } = tools
      const logins = operator().telegramLogins
      if (phone !== undefined) {
        show(await logins.begin(inside, number, { method: "code", phone }), output)
        return
      }
      const started = await logins.begin(inside, number, { method: "qr" })
      const target = `${number} --workspace ${inside}`
      const goesOn = () => `the login continues; messaging telegram get ${target} shows the result`
      const login = {
        isOver: ({ state }: TelegramLogin) => state !== "showing_qr",
        check: () => logins.get(inside, number),
        toShow: async ({ qr_url }: TelegramLogin) =>
          qr_url === null
            ? undefined
            : `Scan this with the account's Telegram, under its devices:\n${await drawQrCode(qr_url)}`,
      }
      const ended = await interruptible(machine.signal, goesOn, () => follow(started, login, tools))
      // The reader of the codes has gone: the login continues without it.
      if (!login.isOver(ended)) return
      if (!output.json) output.one(ended, columns)
      if (ended.state === "password_needed") {
        output.remark(
          `the account has a password: give it to messaging telegram password ${target}`,
          { state: ended.state },
        )
      }
      mustGoOn(ended)
    },
  }),
  operatorDetail(
    "telegram get",
    "number",
    "telegramLogins.get",
    "Shows the state of a Telegram login.",
    columns,
  ),
  command({
    name: "telegram code",
    as: "operator",
    summary: "Submits the login code, read from standard input.",
    ...account,
    run: async (input, { operator, output, machine }) => {
      const code = await readInput(machine, "the code")
      show(await operator().telegramLogins.code(input.workspace, input.id, { code }), output)
    },
  }),
  command({
    name: "telegram password",
    as: "operator",
    summary: "Submits the account's password, read from standard input.",
    ...account,
    run: async (input, { operator, output, machine }) => {
      const password = await readInput(machine, "the password")
      show(
        await operator().telegramLogins.password(input.workspace, input.id, { password }),
        output,
      )
    },
  }),
  operatorDetail("telegram cancel", "number", "telegramLogins.cancel", "Cancels a Telegram login."),
]
