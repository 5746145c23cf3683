/** The emulator controls in words (operator API: `/admin/v1/simulator`). */
import { MessageJson, NumberJson, pageJson } from "@messaging-service/core"
import {
  AdvanceBody,
  BehaviourBody,
  BehaviourJson,
  ClockJson,
  RegisteredBody,
  RegisteredJson,
  ScanBody,
  SentJson,
  SentQuery,
  TickBody,
} from "@messaging-service/emulator"
import { Schema } from "effect"
import type { emulatorRoutes } from "./emulatorRoutes.ts"
import type { Descriptions } from "../openapi/Description.ts"
import { examples, pageOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { jsonContent } from "../openapi/Operation.ts"

const missingNumber: Refused = { code: "number_not_found", inPath: true }

const behaviour = { send: "succeed", error_message: null, latency_ms: 0, groups: ["Team"] }

const sent = {
  id: 1,
  message_id: 4711,
  number_id: 12,
  to: "+15550001234",
  text: "Your table is ready.",
  media: null,
  at: "2030-01-31T07:00:02Z",
}

const clock = { now: "2030-01-31T07:00:00Z" }

export const emulatorDescriptions: Descriptions<ReturnType<typeof emulatorRoutes>[number]> = {
  "PUT /admin/v1/simulator/numbers/{number_id}/behaviour": {
    id: "setBehaviour",
    tag: "Emulator",
    summary: "Set how a phone behaves",
    about: "Replaces the phone's whole behaviour from now on: what is left out gets its default.",
    body: jsonContent(BehaviourBody, { send: "fail", error_message: "The recipient has gone." }),
    success: "The behaviour.",
    answer: jsonContent(BehaviourJson, behaviour),
    refused: [missingNumber],
  },
  "POST /admin/v1/simulator/numbers/{number_id}/scan": {
    id: "scanCode",
    tag: "Emulator",
    summary: "Scan the QR code or type the pairing code",
    about: "The number is connected before the answer.",
    body: jsonContent(ScanBody, { phone: "+15550001000" }),
    success: "The number, connected.",
    answer: jsonContent(NumberJson, examples.number),
    refused: [missingNumber, "not_connecting", "invalid_phone"],
  },
  "POST /admin/v1/simulator/numbers/{number_id}/logout": {
    id: "logOut",
    tag: "Emulator",
    summary: "Log a phone out",
    success: "The number, disconnected.",
    answer: jsonContent(NumberJson, { ...examples.number, status: "disconnected" }),
    refused: [missingNumber],
  },
  "PUT /admin/v1/simulator/registered": {
    id: "setRegistered",
    tag: "Emulator",
    summary: "Set which phones exist",
    about: "For number checks and for sending: others fail with `recipient_not_found`.",
    body: jsonContent(RegisteredBody, { phones: ["+15550001234"] }),
    success: "The phones.",
    answer: jsonContent(RegisteredJson, { phones: ["+15550001234"] }),
    refused: ["invalid_phone"],
  },
  "POST /admin/v1/simulator/messages/{message_id}/ticks": {
    id: "tick",
    tag: "Emulator",
    summary: "Let a tick arrive",
    body: jsonContent(TickBody, { status: "delivered" }),
    success: "The message as it is now.",
    answer: jsonContent(MessageJson, { ...examples.sent, status: "delivered" }),
    refused: ["message_not_found"],
  },
  "GET /admin/v1/simulator/sent": {
    id: "listSent",
    tag: "Emulator",
    summary: "List what left the phones",
    about: "Newest first: one entry for each copy that a recipient would really see.",
    query: SentQuery,
    success: "A page of copies.",
    answer: jsonContent(pageJson(SentJson), pageOf(sent)),
  },
  "GET /admin/v1/simulator/clock": {
    id: "getClock",
    tag: "Emulator",
    summary: "Read the clock",
    success: "The service's time.",
    answer: jsonContent(ClockJson, clock),
  },
  "POST /admin/v1/simulator/clock/advance": {
    id: "advanceClock",
    tag: "Emulator",
    summary: "Move the clock on",
    about:
      "From due moment to due moment; at each, what fell due is worked off first. Needs `CLOCK=adjustable`.",
    body: jsonContent(AdvanceBody, { seconds: 3600 }),
    success: "The service's time.",
    answer: jsonContent(ClockJson, clock),
    refused: ["clock_not_adjustable"],
  },
  "POST /admin/v1/simulator/settle": {
    id: "settle",
    tag: "Emulator",
    summary: "Wait until everything is done",
    success: "Nothing is due and nothing is in flight.",
    answer: jsonContent(Schema.Struct({}).annotate({ identifier: "Settled" }), {}),
  },
}
