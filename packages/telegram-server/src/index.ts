export type { CallOrder, CallOutcome } from "./orders.ts"
export { make, ScanRefused, TelegramServer } from "./TelegramServer.ts"
export type { Arrival } from "./boxes.ts"
export type { Attachment } from "./files.ts"
export type {
  AccountSessions,
  Content,
  PersonOptions,
  ServerOptions,
  TelegramServerShape,
} from "./TelegramServer.ts"
export type {
  CodeWay,
  DifferenceLimits,
  DisplayedMessage,
  Group,
  Message,
  ReadMark,
} from "./ServerState.ts"
