/** A claimed message, with defaults for everything that a test does not name. */
import type { MessageId, NumberId, TransportId, WorkspaceId } from "../../src/model/Ids.ts"
import type { Message } from "../../src/model/Message.ts"
import { noFailures } from "../../src/model/SendingNumber.ts"
import type { ClaimedMessage } from "../../src/model/Lane.ts"
import type { Phone } from "../../src/model/Recipient.ts"
import type { SendOutcome } from "../../src/store/Transport.ts"

export const noon = Date.UTC(2026, 2, 2, 12)

export const aMessage = (overrides: Partial<Message> = {}): Message => ({
  id: 42 as MessageId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  state: "waiting",
  from: { id: 7 as NumberId, phone: "15550000007", platform: "whatsapp" },
  phoneAtAcceptance: "15550000007",
  to: { kind: "phone", phone: "+15550000001" as Phone, contactId: null },
  text: "Hello",
  media: null,
  foundMediaType: null,
  sendAt: null,
  expiresAt: null,
  createdAt: noon,
  dueAt: noon,
  sentAt: null,
  error: null,
  transportId: "0000000000000000002A" as TransportId,
  callbackUrl: null,
  reference: null,
  campaign: null,
  replyTo: null,
  ...overrides,
})

export const claim = (
  overrides: Partial<Omit<ClaimedMessage, "message">> & {
    readonly message?: Partial<Message>
  } = {},
): ClaimedMessage => ({
  number: {
    id: 7 as NumberId,
    workspaceId: 1 as WorkspaceId,
    phone: "15550000007",
    label: "",
    platform: "whatsapp",
    status: "connected",
    loginMethod: "qr",
    mode: "live",
    createdAt: noon,
  },
  rest: [],
  dueSince: noon,
  removed: false,
  lease: 3,
  interruptions: 0,
  diskFailuresInARow: 0,
  pacing: null,
  failures: noFailures,
  ...overrides,
  message: aMessage(overrides.message),
})

export const accepted: SendOutcome = { _tag: "Accepted" }

export const unknown: SendOutcome = { _tag: "Unknown" }

export const notConnected: SendOutcome = { _tag: "NotConnected" }

export const notRegistered = { code: "recipient_not_found", message: "Not registered." } as const

export const refused: SendOutcome = {
  _tag: "Refused",
  error: notRegistered,
  againstNumber: false,
}
