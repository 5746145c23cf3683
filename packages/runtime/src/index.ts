/** What both apps are made from; for them alone. */
export * from "./CannotStart.ts"
export * from "./DataDirectory.ts"
export * from "./Logging.ts"
export * from "./ServiceSettings.ts"
export * from "./Storage.ts"
export * from "./Variables.ts"
export * from "./openService.ts"
export * from "./runProcess.ts"
