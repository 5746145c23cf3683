/** The words of logging a Telegram account in. */
import type { TelegramLogin } from "@messaging-service/client"

export const addAccountLabels = {
  title: "Add a Telegram account",
  phone: "Account phone number",
  phoneAbout: "With + and country code.",
  label: "Label",
  labelAbout: "Optional. A name for your team.",
  add: "Add and log in",
}

export const telegramLabels = {
  title: "Log in to Telegram",
  allNumbers: "All numbers",
  how: "Login method",
  qr: "Scan a QR code",
  qrAbout: "In the account’s Telegram app: Settings, Devices.",
  code: "Enter a code",
  codeAbout: "Telegram sends it to the account’s phone or app.",
  phone: "Phone",
  begin: "Start login",
  cancel: "Cancel login",
  picture: "QR code to scan with the Telegram app",
  scanTitle: "Scan this code",
  steps: [
    "Open Telegram on the account’s phone.",
    "Go to Settings, then Devices, then Link Desktop Device.",
    "Point the phone at this code.",
  ],
  scan: "Scan as the simulated account",
  codeTitle: "Enter the code",
  sentTo: {
    app: "Telegram sent it to the account’s app.",
    sms: "Telegram sent it by text message.",
    call: "Telegram calls the account’s phone with the code.",
    email: "Telegram sent it by email.",
  } satisfies Record<NonNullable<TelegramLogin["code_sent_to"]>, string>,
  sent: "Telegram sent it.",
  otherWay: "To get it another way, cancel and start again. Telegram chooses how.",
  codeField: "Code",
  give: "Continue",
  passwordTitle: "Enter the account’s password",
  passwordAbout: "This account has two-step verification. The password is not stored.",
  passwordField: "Password",
  left: (time: string) => `${time} left`,
  connected: "The account is logged in",
  connectedAbout: "The number connects in a few seconds.",
  expired: "Login expired",
  expiredAbout: "Ten minutes passed. Nothing was changed.",
  failed: "Login failed",
}

/** Why a login failed (contract: Telegram login). Another code is Telegram's own word. */
export const loginErrorLabels: Readonly<Record<string, string>> = {
  phone_invalid: "Telegram does not recognise this phone number.",
  phone_banned: "Telegram has banned this phone.",
  phone_not_registered: "This phone has no Telegram account.",
  too_many_attempts: "Too many attempts. Telegram asks you to wait.",
  code_expired: "The code is no longer valid.",
  application_refused: "Telegram rejects the service’s application id.",
  account_banned: "Telegram has banned this account.",
  email_required: "Add an email address in the account’s own app first.",
  connection_lost: "Telegram could not be reached. The number is unchanged.",
  phone_of_another_number: "Another number of this workspace uses this account.",
  proxy_unreadable: "The proxy URL can no longer be read. Enter it again on the number’s page.",
}
export const ownWord = (code: string): string => `Telegram says: ${code}.`
