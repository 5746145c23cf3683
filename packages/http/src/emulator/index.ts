/**
 * The emulator controls over HTTP (contract: Emulator controls), for `@messaging-service/emulator`:
 * what `HttpOptions.emulator` takes.
 */
import { MessageJson } from "@messaging-service/core"
import {
  AdvanceBody,
  BehaviourBody,
  BehaviourJson,
  ClockJson,
  Emulator,
  RegisteredBody,
  RegisteredJson,
  ScanBody,
  SentJson,
  SentQuery,
  TickBody,
} from "@messaging-service/emulator"
import type { ListSent } from "@messaging-service/emulator"
import { Effect, Option, Schema } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { operatorRoute } from "../operator/OperatorRoute.ts"
import type { EmulatorControls } from "../operator/OperatorRoute.ts"
import { asGiven, byName, json, optionalJson, pageJson, query } from "../route/Entry.ts"
import { NumberJson, numberJson } from "../v2/numbers.ts"

const tag = "Emulator"

const simulatorPath = "/admin/v1/simulator"

const missingNumber: Refused = { code: "number_not_found", inPath: true }

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

const routes = (emulator: typeof Emulator.Service) => [
  operatorRoute({
    method: "PUT",
    path: `${simulatorPath}/numbers/{number_id}/behaviour`,
    id: "setBehaviour",
    tag,
    summary: "Set how a phone behaves",
    about: "Replaces the phone's whole behaviour from now on: what is left out gets its default.",
    request: json(
      BehaviourBody,
      { send: "fail", error_message: "The recipient has gone." },
      asGiven,
    ),
    success: "The behaviour.",
    answer: BehaviourJson,
    example: { send: "succeed", error_message: null, latency_ms: 0, groups: ["Team"] },
    refused: [missingNumber],
    handler: ({ id, request }) => emulator.setBehaviour(id("number_id"), request),
  }),
  operatorRoute({
    method: "POST",
    path: `${simulatorPath}/numbers/{number_id}/scan`,
    id: "scanCode",
    tag,
    summary: "Scan the QR code or type the pairing code",
    about: "The number is connected before the answer.",
    request: optionalJson(ScanBody, { phone: "+15550001000" }, asGiven),
    success: "The number, connected.",
    answer: NumberJson,
    example: examples.number,
    refused: [missingNumber, "not_connecting", "invalid_phone"],
    handler: ({ id, request }) => Effect.map(emulator.scan(id("number_id"), request), numberJson),
  }),
  operatorRoute({
    method: "POST",
    path: `${simulatorPath}/numbers/{number_id}/logout`,
    id: "logOut",
    tag,
    summary: "Log a phone out",
    success: "The number, disconnected.",
    answer: NumberJson,
    example: { ...examples.number, status: "disconnected" },
    refused: [missingNumber],
    handler: ({ id }) => Effect.map(emulator.logout(id("number_id")), numberJson),
  }),
  operatorRoute({
    method: "PUT",
    path: `${simulatorPath}/registered`,
    id: "setRegistered",
    tag,
    summary: "Set which phones exist",
    about: "For number checks and for sending: others fail with `recipient_not_found`.",
    request: json(RegisteredBody, { phones: ["+15550001234"] }, asGiven),
    success: "The phones.",
    answer: RegisteredJson,
    example: { phones: ["+15550001234"] },
    refused: ["invalid_phone"],
    handler: ({ request }) => emulator.setRegistered(request),
  }),
  operatorRoute({
    method: "POST",
    path: `${simulatorPath}/messages/{message_id}/ticks`,
    id: "tick",
    tag,
    summary: "Let a tick arrive",
    request: json(TickBody, { status: "delivered" }, asGiven),
    success: "The message as it is now.",
    answer: MessageJson,
    example: { ...examples.sent, status: "delivered" },
    refused: ["message_not_found"],
    handler: ({ id, request }) => emulator.tick(id("message_id"), request),
  }),
  operatorRoute({
    method: "GET",
    path: `${simulatorPath}/sent`,
    id: "listSent",
    tag,
    summary: "List what left the phones",
    about: "Newest first: one entry for each copy that a recipient would really see.",
    request: query(SentQuery, byName<ListSent>),
    success: "A page of copies.",
    answer: pageJson(SentJson),
    example: pageOf(sent),
    handler: ({ request }) => emulator.sent(request),
  }),
  operatorRoute({
    method: "GET",
    path: `${simulatorPath}/clock`,
    id: "getClock",
    tag,
    summary: "Read the clock",
    success: "The service's time.",
    answer: ClockJson,
    example: clock,
    handler: () => emulator.clock,
  }),
  operatorRoute({
    method: "POST",
    path: `${simulatorPath}/clock/advance`,
    id: "advanceClock",
    tag,
    summary: "Move the clock on",
    about:
      "From due moment to due moment; at each, what fell due is worked off first. Needs `CLOCK=adjustable`.",
    request: json(AdvanceBody, { seconds: 3600 }, asGiven),
    success: "The service's time.",
    answer: ClockJson,
    example: clock,
    refused: ["clock_not_adjustable"],
    handler: ({ request }) => emulator.advance(request),
  }),
  operatorRoute({
    method: "POST",
    path: `${simulatorPath}/settle`,
    id: "settle",
    tag,
    summary: "Wait until everything is done",
    success: "Nothing is due and nothing is in flight.",
    answer: Schema.Struct({}).annotate({ identifier: "Settled" }),
    example: {},
    handler: () => emulator.settle,
  }),
]

/** The controls of the `Emulator` among the services, which must be there. */
export const emulatorControls: EmulatorControls = Effect.flatMap(
  Effect.serviceOption(Emulator),
  (emulator) =>
    Option.isSome(emulator)
      ? Effect.succeed(routes(emulator.value))
      : Effect.die(new Error("HttpOptions.emulator needs the Emulator among the services")),
)
