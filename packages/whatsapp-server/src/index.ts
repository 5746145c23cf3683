export { makeCertificate } from "./certificate.ts"
export { LinkRefused } from "./linking.ts"
export type {
  ClosedChats,
  ConnectionOutcome,
  MessageOrder,
  MessageOutcome,
  Step,
} from "./orders.ts"
export type { Media, PublicMessage } from "./Phone.ts"
export { someProxies, withCredentials } from "./proxies.ts"
export type { Notice } from "./restrictions.ts"
export type { ChatCap, ReadMark } from "./ServerState.ts"
export { make, WhatsAppServer } from "./WhatsAppServer.ts"
export type {
  DeviceSessions,
  GroupOptions,
  PersonOptions,
  ServerOptions,
  WhatsAppServerShape,
} from "./WhatsAppServer.ts"
export type { SentFile } from "./files.ts"
export type { Address, Arrival, Writing } from "./writing.ts"
