/** Failures common to all sends. */
import { aText } from "../Asking.ts"
import type { Fields } from "../Asking.ts"
import type { Case } from "./Cases.ts"

const long = "x".repeat(3001)

/** A group answers these differently. */
const notWhole = (operation: string, to: Fields): ReadonlyArray<Case> =>
  operation.startsWith("send_msg/group")
    ? []
    : [{ operation, fields: { ...to, msg_type: "", msg: "Hi" }, says: "Invalid msg_type" }]

/** One or the other recipient, with its field. */
export const contentCases = (operation: string, to: Fields): ReadonlyArray<Case> => [
  { operation, fields: { ...to, msg_type: 3, msg: "Hi" }, says: "Invalid msg_type" },
  { operation, fields: { ...to, msg_type: -1, msg: "Hi" }, says: "Invalid msg_type" },
  ...notWhole(operation, to),
  { operation, fields: { ...to }, says: "Msg cant be null" },
  { operation, fields: { ...to, msg: "" }, says: "Msg cant be null" },
  { operation, fields: { ...to, msg: " \n\t\u2003" }, says: "Msg cant be null" },
  { operation, fields: { ...to, msg: long }, says: "Message length is too long" },
  { operation, fields: { ...to, message: long }, says: "Message length is too long" },
  {
    operation,
    fields: { ...to, msg_type: 1, msg: long, img_url: "https://example.com/a.png" },
    says: "Message length is too long",
  },
  { operation, fields: { ...to, msg_type: 1, msg: "Hi" }, says: "Image Url Can't be null" },
  { operation, fields: { ...to, msg_type: 1, img_url: "" }, says: "Image Url Can't be null" },
  {
    operation,
    fields: { ...to, msg_type: 1, file_url: "https://example.com/a.pdf" },
    says: "Image Url Can't be null",
  },
  { operation, fields: { ...to, msg_type: 2, msg: "Hi" }, says: "File Url Can't be null" },
  {
    operation,
    fields: { ...to, msg_type: 1, img_url: "http://127.0.0.1/a.png" },
    says: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "no link" },
    says: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "https://example.com/nothing.pdf" },
    says: "Invalid file url, Can't download",
  },
  {
    operation,
    fields: { ...to, msg_type: 2, file_url: "https://example.com/a", file_name: "x".repeat(256) },
    says: "Invalid file name",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", expire_after_seconds: 0 },
    says: "Invalid expire_after_seconds",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", expire_after_seconds: "soon" },
    says: "Invalid expire_after_seconds",
  },
  { operation, fields: { ...to, msg: "Hi", webhook: "nowhere" }, says: "Invalid webhook url" },
  {
    operation,
    fields: { ...to, msg: "Hi", webhook: "http://192.168.1.1/" },
    says: "Invalid webhook url",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", webhook: "https://localhost/" },
    says: "Invalid webhook url",
  },
  {
    operation,
    scene: "no number",
    fields: { ...to, msg: "Hi" },
    says: "Invalid whatsapp client id.",
  },
  {
    operation,
    scene: "two numbers",
    fields: { ...to, msg: "Hi" },
    says: "Invalid whatsapp client id.",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", whatsapp_client: 999_999_999 },
    says: "Invalid whatsapp client",
  },
  {
    operation,
    fields: { ...to, msg: "Hi", whatsapp_client: "mine" },
    says: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "another workspace's number",
    fields: { ...to, msg: "Hi" },
    says: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "no messages left",
    fields: { ...to, msg: "Hi" },
    says: "Not enough credits",
  },
]

/** Of operations on a phone or a group. */
export const phoneCases = (operation: string): ReadonlyArray<Case> => [
  {
    operation,
    fields: { msg: "Hi" },
    says: "Either phone or group_name parameter is required",
  },
  {
    operation,
    fields: { country_code: "1", phone: "", msg: "Hi" },
    says: "Either phone or group_name parameter is required",
  },
  {
    operation,
    fields: { ...aText, group_name: "Team" },
    says: "Please provide either phone OR group_name, not both",
  },
  // Without `country_code` the phone needs its own.
  ...["0049301234567", "call me", "+", "12", `1${"5".repeat(15)}`, "@a", "@1abc"].map((phone) => ({
    operation,
    fields: { phone, msg: "Hi" },
    says: "Invalid phone number",
  })),
  {
    operation,
    fields: { country_code: "0", phone: "5550001234", msg: "Hi" },
    says: "Invalid phone number",
  },
  {
    operation,
    fields: { country_code: "1", phone: "000", msg: "Hi" },
    says: "Invalid phone number",
  },
  { operation, fields: { group_name: "x".repeat(101), msg: "Hi" }, says: "Invalid group name" },
  {
    operation,
    fields: { phone: "@recipient", msg: "Hi" },
    says: "Invalid whatsapp client id.",
  },
  {
    operation,
    scene: "its WhatsApp number",
    fields: { phone: "@recipient", msg: "Hi" },
    says: "Invalid whatsapp client",
  },
  {
    operation,
    scene: "its Telegram account",
    fields: { group_name: "Team", msg: "Hi" },
    says: "Invalid whatsapp client",
  },
]
