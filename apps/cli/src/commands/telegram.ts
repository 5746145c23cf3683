/** Logging Telegram accounts in: by a code that Telegram sends, or by a QR code that the account's app scans. */
import type { TelegramLogin } from "@messaging-service/client"
import { command, id, maybe, once, text, workspace } from "../Command.ts"
import { Ended } from "../ending.ts"
import type { Output } from "../Output.ts"
import { inputOf } from "./input.ts"

const columns = [
  ["state", ({ state }: TelegramLogin) => state],
  ["show as a QR code", ({ qr_url }: TelegramLogin) => qr_url],
  ["code sent to", ({ code_sent_to }: TelegramLogin) => code_sent_to],
  ["ends", ({ expires_at }: TelegramLogin) => expires_at],
  ["error", ({ error }: TelegramLogin) => error],
] as const

const account = { arguments: { id: once(id("number")) }, options: { workspace } } as const

/** Shows how a login stands after a step of it. */
const show = (login: TelegramLogin, output: Output) => {
  output.one(login, columns)
  if (login.state !== "failed" && login.state !== "expired") return
  throw new Ended("failed", `the account was not logged in: ${login.error ?? login.state}`)
}

export const telegramCommands = [
  command({
    words: "telegram begin",
    as: "operator",
    summary: "Begins to log a Telegram account in: Telegram sends a code, or its app scans one.",
    about:
      "With --phone Telegram sends a code: give it to telegram code, and a password to telegram password. Without, telegram get\nshows the link for a QR code, which changes in time, and after the scan whether the account is connected.",
    arguments: account.arguments,
    options: { workspace, phone: maybe(text("PHONE", "The account's phone, E.164 with +.")) },
    run: async ({ id: number, phone, workspace: inside }, { operator, output }) => {
      const how =
        phone === undefined ? ({ method: "qr" } as const) : ({ method: "code", phone } as const)
      show(await operator().telegramLogins.begin(inside, number, how), output)
    },
  }),
  command({
    words: "telegram get",
    as: "operator",
    summary: "Shows how a Telegram login stands.",
    ...account,
    run: async (given, { operator, output }) =>
      output.one(await operator().telegramLogins.get(given.workspace, given.id), columns),
  }),
  command({
    words: "telegram code",
    as: "operator",
    summary: "Gives the code that Telegram sent, from standard input.",
    ...account,
    run: async (given, { operator, output, machine }) => {
      const code = await inputOf(machine, "the code")
      show(await operator().telegramLogins.code(given.workspace, given.id, { code }), output)
    },
  }),
  command({
    words: "telegram password",
    as: "operator",
    summary: "Gives the account's password for new devices, from standard input.",
    ...account,
    run: async (given, { operator, output, machine }) => {
      const password = await inputOf(machine, "the password")
      show(
        await operator().telegramLogins.password(given.workspace, given.id, { password }),
        output,
      )
    },
  }),
  command({
    words: "telegram cancel",
    as: "operator",
    summary: "Gives a Telegram login up.",
    ...account,
    run: async (given, { operator, output }) =>
      output.one(await operator().telegramLogins.cancel(given.workspace, given.id)),
  }),
]
