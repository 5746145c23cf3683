/** Failures common to all sends. */
import { aText } from "../Asking.ts"
import type { Fields } from "../Asking.ts"
import type { Case } from "./Cases.ts"

const long = "x".repeat(3001)

/** A group answers these differently. */
const notWhole = (operation: string, to: Fields): ReadonlyArray<Case> =>
  operation.startsWith("send_msg/group")
    ? []
    : [{ operation, fields: { ...to, msg_type: "", msg: "Hi" }, message: "Invalid msg_type" }]

/** One or the other recipient, with its field. */
export const contentCases = (operation: string, to: Fields): ReadonlyArray<Case> => [
  { operation, fields: { ...to, msg_type: 3, msg: "Hi" }, message: "Invalid msg_type" },
  { operation, fields: { ...to, msg_type: -1, msg: "Hi" }, message: "Invalid msg_type" },
  ...notWhole(operation, to),
  { operation, fields: { ...to }, message: "Msg cant be null" },
  { operation, fields: { ...to, msg: "" }, message: "Msg cant be null" },
  { operation, fields: { ...to, msg: " \n\t\u2003" }, message: "Msg cant be null" },
  { operation, fields: { ...to, msg: long }, message: "Message length is too long" },
  { operation, fields: { ...to, message: long }, message: "Message length is too long" },
  {
    operation,
    fields: { ...to, msg_type: 1, msg: long, img_url: "https://example.com/a.png" },
    message: "Message length is too long",
  },
  { operation, fields: { ...to, msg_type: 1, msg: "Hi" }, message: "Image Url Can't be null" },
  { operation, fields: { ...to, msg_type: 1, img_url: "" }, message: "Image Url Can't be null" },
  {
    operation,
    fields: { ...to, msg_type: 1, file_url: "https://example.com/a.pdf" },
    message: "Image Url Can't be null",
  },
  { operation, fields: { ...to, msg_type: 2, msg: "Hi" }, message: "File Url Can't be null" },
  {
    operation,
    fields: { ...to, msg_type: 1, img_url: "http://127.0.0.1/a.png" },
    message: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "no link" },
    message: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "https://example.com/nothing.pdf" },
    message: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "https://example.com/a", file_name: "x".repeat(256) },
    message: "Invalid file name",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", expire_after_seconds: 0 },
    message: "Invalid expire_after_seconds",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", expire_after_seconds: "soon" },
    message: "Invalid expire_after_seconds",
  },
  { operation, fields: { ...to, msg: "Hi", webhook: "nowhere" }, message: "Invalid webhook url" },
  {
    operation,
    fields: { ...to, msg: "Hi", webhook: "http://192.168.1.1/" },
    message: "Invalid webhook url",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", webhook: "https://localhost/" },
    message: "Invalid webhook url",
  },
  {
    operation,
    scene: "no number",
    fields: { ...to, msg: "Hi" },
    message: "Invalid whatsapp client id.",
  },
  {
    operation,
    scene: "two numbers",
    fields: { ...to, msg: "Hi" },
    message: "Invalid whatsapp client id.",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", whatsapp_client: 999_999_999 },
    message: "Invalid whatsapp client",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", whatsapp_client: "mine" },
    message: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "another workspace's number",
    fields: { ...to, msg: "Hi" },
    message: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "no messages left",
    fields: { ...to, msg: "Hi" },
    message: "Not enough credits",
  },
]

/** Of operations on a phone or a group. */
export const phoneCases = (operation: string): ReadonlyArray<Case> => [
  {
    operation,
    fields: { msg: "Hi" },
    message: "Either phone or group_name parameter is required",
  },
  {
    operation,
    fields: { country_code: "1", phone: "", msg: "Hi" },
    message: "Either phone or group_name parameter is required",
  },
  {
    operation,
    fields: { ...aText, group_name: "Team" },
    message: "Please provide either phone OR group_name, not both",
  },
  // Without `country_code` the phone needs its own.
  ...["0049301234567", "call me", "+", "12", `1${"5".repeat(15)}`, "@a", "@1abc"].map((phone) => ({
    operation,
    fields: { phone, msg: "Hi" },
    message: "Invalid phone number",
  })),
  {
    operation,
    fields: { country_code: "0", phone: "5550001234", msg: "Hi" },
    message: "Invalid phone number",
  },
  {
    operation,
    fields: { country_code: "1", phone: "000", msg: "Hi" },
    message: "Invalid phone number",
  },
  { operation, fields: { group_name: "x".repeat(101), msg: "Hi" }, message: "Invalid group name" },
  {
    operation,
    fields: { phone: "@recipient", msg: "Hi" },
    message: "Invalid whatsapp client id.",
  },
  {
    operation,
    scene: "its WhatsApp number",
    fields: { phone: "@recipient", msg: "Hi" },
    message: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "its Telegram account",
    fields: { group_name: "Team", msg: "Hi" },
    message: "Invalid whatsapp client",
  },
]
