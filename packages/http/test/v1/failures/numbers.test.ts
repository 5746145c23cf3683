/** Answers of the operations on numbers (contract: Version 1: numbers). */
import { says } from "./Cases.ts"
import type { Case } from "./Cases.ts"

const connecting = (fields: Case["fields"], text: string, scene?: Case["scene"]): Case => ({
  operation: "whatsapp/connect/",
  fields,
  message: text,
  ...(scene === undefined ? {} : { scene }),
})

says("version 1 refuses to connect and show numbers", [
  connecting({ whatsapp_client: "main" }, "Invalid whatsapp client"),
  connecting({ whatsapp_client: 999_999_999 }, "Invalid whatsapp client"),
  connecting({}, "Invalid whatsapp client", "another workspace's number"),
  connecting({}, "Invalid whatsapp client", "its Telegram account"),
  connecting({}, "Whatsapp client is already connected", "its WhatsApp number"),
  connecting({}, "Whatsapp client is already connecting", "its connecting number"),

  connecting({ whatsapp_number: "12" }, "Invalid phone number"),
  connecting({ whatsapp_number: "@recipient" }, "Invalid phone number"),
  connecting({ whatsapp_number: "00015550001234" }, "Invalid phone number"),

  ...["nowhere", "http://127.0.0.1/", "http://10.0.0.1/hook", "ftp://example.com/"].map((url) =>
    connecting({ webhook_url: url }, "Invalid webhook url"),
  ),

  connecting({}, "Your plan does not include this", "a plan without reminders and numbers"),
  connecting({}, "Whatsapp client limit reached", "a plan with room for one number"),

  { operation: "whatsapp/status/", fields: {}, message: "Invalid whatsapp client id." },
  {
    operation: "whatsapp/status/",
    fields: { whatsapp_client: "main" },
    message: "Invalid whatsapp client",
  },
  {
    operation: "whatsapp/status/",
    fields: { whatsapp_client: 999_999_999 },
    message: "Invalid whatsapp client",
  },
  {
    operation: "whatsapp/status/",
    scene: "another workspace's number",
    fields: {},
    message: "Invalid whatsapp client",
  },
])
