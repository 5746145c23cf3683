/** Answers of the operations that send at once (contract: Version 1: sends). */
import { says } from "./Cases.ts"
import { contentCases, phoneCases } from "./SendCases.ts"

const group = { group_name: "Team" }
const phones = { country_code: "1", phones: "5550001234,555-000-1235" }

says("version 1 refuses a send", [
  ...phoneCases("send_msg/"),
  ...contentCases("send_msg/", { country_code: "1", phone: "5550001234" }),

  { operation: "send_msg/group/", fields: { msg: "Hi" }, message: "Group Name cant be null" },
  {
    operation: "send_msg/group/",
    fields: { group_name: "", msg: "Hi" },
    message: "Group Name cant be null",
  },
  {
    operation: "send_msg/group/",
    fields: { country_code: "1", phone: "5550001234", msg: "Hi" },
    message: "Group Name cant be null",
  },
  ...contentCases("send_msg/group/", group),

  { operation: "send_msg/multi/", fields: { msg: "Hi" }, message: "Phones cant be null" },
  {
    operation: "send_msg/multi/",
    fields: { phones: " , ", msg: "Hi" },
    message: "Phones cant be null",
  },
  {
    operation: "send_msg/multi/",
    fields: { ...phones, phones: "5550001234,nothing", msg: "Hi" },
    message: "Invalid Contact Number",
  },
  {
    operation: "send_msg/multi/",
    fields: { ...phones, phones: Array.from({ length: 1001 }, () => "5550001234"), msg: "Hi" },
    message: "More than 1000 phones",
  },
  {
    operation: "send_msg/multi/",
    scene: "one message left",
    fields: { ...phones, msg: "Hi" },
    message: "Not enough credits",
  },
  ...contentCases("send_msg/multi/", phones),
])
