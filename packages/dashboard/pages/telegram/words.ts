/** The words of logging a Telegram account in. */
import type { TelegramLogin } from "@messaging-service/client"

export const addAccountLabels = {
  title: "Add a Telegram account",
  phone: "Phone of the account",
  phoneAbout: "With + and country code.",
  label: "Label",
  labelAbout: "Optional: a name for people.",
  add: "Add and log in",
}

export const telegramLabels = {
  title: "Log in at Telegram",
  allNumbers: "All numbers",
  how: "How to log in",
  qr: "Scan a QR code",
  qrAbout: "With the Telegram app of the account, under Settings, Devices.",
  code: "Enter a code",
  codeAbout: "Telegram sends it to the account’s phone or app.",
  phone: "Phone",
  begin: "Begin",
  cancel: "Give up this login",
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
    call: "Telegram calls the account’s phone and says it.",
    email: "Telegram sent it by email.",
  } satisfies Record<NonNullable<TelegramLogin["code_sent_to"]>, string>,
  sent: "Telegram sent it.",
  otherWay:
    "To get it by another way, give this login up and begin again: Telegram chooses the way.",
  codeField: "Code",
  give: "Go on",
  passwordTitle: "Enter the account’s password",
  passwordAbout:
    "The account has a password of its own besides the code. The service does not store it.",
  passwordField: "Password",
  left: (time: string) => `${time} left`,
  connected: "The account is logged in",
  connectedAbout: "Its number connects in a moment.",
  expired: "The login is over",
  expiredAbout: "Ten minutes passed. Nothing was changed.",
  failed: "The login failed",
}

/** Why a login failed (contract: Telegram login). Another code is Telegram's own word. */
export const loginErrorLabels: Readonly<Record<string, string>> = {
  phone_invalid: "Telegram says that this is no phone.",
  phone_banned: "Telegram has banned this phone.",
  phone_not_registered: "This phone has no Telegram account.",
  too_many_attempts: "There were too many attempts: Telegram wants you to wait.",
  code_expired: "The code is no longer valid.",
  application_refused: "Telegram refuses the service’s application id.",
  account_banned: "Telegram has banned this account.",
  email_required: "The account has to give Telegram an email address first, in its own app.",
  connection_lost: "Telegram could not be reached. What the number had before it still has.",
  phone_of_another_number: "A number of this workspace has this account already.",
  proxy_unreadable:
    "The URL of the number’s proxy can no longer be read. Give it again on the number’s page.",
}
export const ownWord = (code: string): string => `Telegram says: ${code}.`
