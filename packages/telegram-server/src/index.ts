export type { CallOrder, CallOutcome } from "./orders.ts"
export { make, ScanRefused, TelegramServer } from "./TelegramServer.ts"
export type {
  AccountSessions,
  PersonOptions,
  ServerOptions,
  TelegramServerShape,
} from "./TelegramServer.ts"
export type { CodeWay, DisplayedMessage } from "./ServerState.ts"
