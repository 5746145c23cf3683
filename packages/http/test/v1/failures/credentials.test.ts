/**
 * Answers of every operation about credentials, and `me/` in its own words (contract: Version 1:
 * credentials).
 */
import { says } from "./Cases.ts"
import type { Case } from "./Cases.ts"

const unknownKey = "0123456789abcdef0123456789abcdef01234567"

/** Answers of all operations of version 1 about credentials. */
const credentialCases = (operation: string): ReadonlyArray<Case> => [
  {
    operation,
    fields: { api_key: null },
    message: "Auth Error - Please send correct API key and Client id",
  },
  {
    operation,
    fields: { api_key: "", client_id: null },
    message: "Auth Error - Please send correct API key and Client id",
  },
  { operation, fields: { client_id: null }, message: "Invalid client id." },
  { operation, fields: { client_id: "" }, message: "Invalid client id." },
  { operation, fields: { client_id: "seven" }, message: "Invalid client id." },
  { operation, fields: { client_id: "1.5" }, message: "Invalid client id." },
  { operation, fields: { api_key: unknownKey }, message: "Auth Error: invalid api key" },
  { operation, fields: { api_key: "mistyped" }, message: "Auth Error: invalid api key" },
  { operation, fields: {}, scene: "a deleted key", message: "Auth Error: invalid api key" },
  {
    operation,
    fields: {},
    scene: "the client id of another workspace",
    message: "Auth Error: invalid api key",
  },
  { operation, fields: {}, scene: "a deleted workspace", message: "Auth Error: invalid api key" },
  { operation, fields: {}, scene: "a demo workspace", message: "Demo Account can not access apis" },
  { operation, fields: {}, scene: "a disabled account", message: "Account Disabled" },
]

says("version 1 refuses credentials", [
  ...["send_msg/", "send_msg/group/", "send_msg/multi/", "schedule_msg/", "cancel_msg/"].flatMap(
    credentialCases,
  ),
  ...["message/status/", "report/"].flatMap(credentialCases),

  // `me/` has shorter texts of its own (contract: Version 1: credentials).
  ...credentialCases("me/").map((one) => ({
    ...one,
    message: one.message.startsWith("Auth Error -")
      ? "Auth Error"
      : one.message === "Invalid client id."
        ? one.fields["client_id"] === null || one.fields["client_id"] === ""
          ? "Auth Error"
          : "Invalid Client Id"
        : one.message,
  })),
  {
    operation: "me/",
    fields: { whatsapp_client: 999_999_999 },
    message: "Invalid WhatsApp Client ID",
  },
  { operation: "me/", fields: { whatsapp_client: "mine" }, message: "Invalid WhatsApp Client ID" },
  {
    operation: "me/",
    scene: "another workspace's number",
    fields: {},
    message: "Invalid WhatsApp Client ID",
  },
])
