/** What both apps are made from; for them alone. */
export {
  CannotStart,
  isOperatorToken,
  isShared,
  keepSecret,
  keptSecret,
  operatorTokenRule,
  storeCannotStart,
} from "@messaging-service/service/compose"
export type { SecretKind } from "@messaging-service/service/compose"
export { listen } from "./HttpListener.ts"
export type { HttpListener } from "./HttpListener.ts"
export { announce, isTerminal, logged, openService, saysStop } from "./Logging.ts"
export { addressOf, portNumber, serviceSettings, serviceVariables } from "./ServiceSettings.ts"
export type { ServiceSettings } from "./ServiceSettings.ts"
export { oneOf, readVariables, trueOrFalse, variable } from "./Variables.ts"
export type { Environment } from "./Variables.ts"
export { databaseCommandSummaries, runDatabaseCommand } from "./runDatabaseCommand.ts"
export { runProcess } from "./runProcess.ts"
export { runProgram } from "./runProgram.ts"
export type { Program } from "./runProgram.ts"
