/** The rule of test mode: which of its messages fail (contract: Test mode). Pure. */
import { targetOf } from "../recipient/Recipient.ts"
import type { Message, MessageError } from "./Message.ts"
import type { Ending } from "./MessageChange.ts"

/** The phones to which test messages fail, and how. */
const failingTestPhones: Readonly<Record<string, MessageError>> = {
  "+15005550001": {
    code: "recipient_not_found",
    message: "In test mode this phone is not registered.",
  },
  "+15005550009": { code: "send_failed", message: "In test mode sending to this phone fails." },
}

/** How a due test message ends. */
export const testEnding = (message: Pick<Message, "to">): Ending => {
  const target = targetOf(message.to)
  const error = target.kind === "phone" ? failingTestPhones[target.phone] : undefined
  return error === undefined ? { trigger: "send_succeeded" } : { trigger: "send_failed", error }
}
