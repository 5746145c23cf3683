/** Answers of the operations on sent messages (contract: Version 1: messages). */
import { says } from "./Cases.ts"
import type { Case } from "./Cases.ts"

says("version 1 refuses queries about sends", [
  ...["cancel_msg/", "message/status/"].flatMap((operation): ReadonlyArray<Case> => [
    { operation, fields: {}, message: "Invalid message id" },
    { operation, fields: { msg_id: "" }, message: "Invalid message id" },
    { operation, fields: { msg_id: "first" }, message: "Invalid message id" },
    { operation, fields: { msg_id: 0 }, message: "Invalid message id" },
    { operation, fields: { msg_id: -1 }, message: "Invalid message id" },
    { operation, fields: { msg_id: 999_999_999 }, message: "Invalid message id" },
    {
      operation,
      scene: "another workspace's message",
      fields: {},
      message: "Invalid message id",
    },
  ]),

  ...[
    { end_date: "01-01-1970" },
    { start_date: "01-01-1970" },
    { start_date: "1970-01-01", end_date: "01-01-1970" },
    { start_date: "31-02-1970", end_date: "01-03-1970" },
    { start_date: "01/01/1970", end_date: "01/01/1970" },
  ].map((fields) => ({ operation: "report/", fields, message: "Invalid date" })),
  ...[0, -1, "first", 10_000_000_000].map((page) => ({
    operation: "report/",
    fields: { start_date: "01-01-1970", end_date: "01-01-1970", page },
    message: "Invalid page",
  })),
])
