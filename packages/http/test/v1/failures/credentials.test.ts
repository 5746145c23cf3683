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
    says: "Auth Error - Please send correct API key and Client id",
  },
  {
    operation,
    fields: { api_key: "", client_id: null },
    says: "Auth Error - Please send correct API key and Client id",
  },
  { operation, fields: { client_id: null }, says: "Invalid client id." },
  { operation, fields: { client_id: "" }, says: "Invalid client id." },
  { operation, fields: { client_id: "seven" }, says: "Invalid client id." },
  { operation, fields: { client_id: "1.5" }, says: "Invalid client id." },
  { operation, fields: { api_key: unknownKey }, says: "Auth Error: invalid api key" },
  { operation, fields: { api_key: "mistyped" }, says: "Auth Error: invalid api key" },
  { operation, fields: {}, scene: "a deleted key", says: "Auth Error: invalid api key" },
  {
    operation,
    fields: {},
    scene: "the client id of another workspace",
    says: "Auth Error: invalid api key",
  },
  { operation, fields: {}, scene: "a deleted workspace", says: "Auth Error: invalid api key" },
  { operation, fields: {}, scene: "a demo workspace", says: "Demo Account can not access apis" },
  { operation, fields: {}, scene: "a disabled account", says: "Account Disabled" },
]

says("version 1 refuses credentials", [
  ...["send_msg/", "send_msg/group/", "send_msg/multi/", "schedule_msg/", "cancel_msg/"].flatMap(
    credentialCases,
  ),
  ...["message/status/", "report/"].flatMap(credentialCases),

  // `me/` has shorter texts of its own (contract: Version 1: credentials).
  ...credentialCases("me/").map((one) => ({
    ...one,
    says: one.says.startsWith("Auth Error -")
      ? "Auth Error"
      : one.says === "Invalid client id."
        ? one.fields["client_id"] === null || one.fields["client_id"] === ""
          ? "Auth Error"
          : "Invalid Client Id"
        : one.says,
  })),
  {
    operation: "me/",
    fields: { whatsapp_client: 999_999_999 },
    says: "Invalid WhatsApp Client ID",
  },
  { operation: "me/", fields: { whatsapp_client: "mine" }, says: "Invalid WhatsApp Client ID" },
  {
    operation: "me/",
    scene: "another workspace's number",
    fields: {},
    says: "Invalid WhatsApp Client ID",
  },
])
